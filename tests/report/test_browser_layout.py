"""The page in a real browser: what it looks like in narrow windows and in print, and that nothing hides anything."""

import base64
import re

import pytest
from in_browser import browser, wait_for

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "localhost", "::1"])  # the driver listens there


def test_it_fits_a_phone(opened):
    browser.resize(opened, 390, 800, 2, mobile=True)
    wait_for(lambda: opened.execute_script("return innerWidth") == 390)
    assert opened.execute_script("return document.documentElement.scrollWidth") <= 390
    assert opened.get_log("browser") == []


def test_a_dark_page_prints_its_points_and_all_levels_and_stays_as_it_was(opened):
    opened.find_element("id", "theme").click()
    opened.find_element("id", "fold").click()
    opened.execute_script(
        "addEventListener('beforeprint', () => { window.during = {"
        "  theme: document.documentElement.dataset.theme,"
        "  folded: document.querySelectorAll('#tree-root details:not([open])').length }; })"
    )
    width, height = opened.execute_script("return [coterie.map.width, coterie.map.height]")
    printed = base64.b64decode(opened.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    sizes = re.findall(rb"/Subtype /Image\s*/Width (\d+)\s*/Height (\d+)", printed)
    assert (b"%d" % (2 * width), b"%d" % (2 * height)) in sizes  # the points, as an image
    assert opened.execute_script("return window.during") == {"theme": "light", "folded": 0}
    assert opened.execute_script("return document.documentElement.dataset.theme") == "dark"
    assert opened.find_elements("css selector", "#tree-root details:not([open])")
    assert opened.get_log("browser") == []


def test_names_of_clusters_at_one_place_are_all_shown(opened):
    boxes = opened.execute_script(
        "const { map } = coterie; const at = [...map.centers.values()][0];"
        "for (const key of map.centers.keys()) map.centers.set(key, at);"
        "map.draw(); return map.nameBoxes"
    )
    assert {box["cluster"] for box in boxes} == {0, 1, 2}
    assert len({box["top"] for box in boxes}) == 3


def test_the_name_of_a_small_cluster_does_not_hide_its_points(opened):
    boxes, centers = opened.execute_script(
        "const { map } = coterie; for (const key of map.heights.keys()) map.heights.set(key, 0);"
        "map.draw(); return [map.nameBoxes, [...map.centers].map(([k, at]) => [k, ...map.toScreen(at.x, at.y)])]"
    )
    places = {cluster: (x, y) for cluster, x, y in centers}
    assert boxes
    for box in boxes:
        x, y = places[box["cluster"]]
        assert not (box["left"] <= x <= box["right"] and box["top"] <= y <= box["bottom"])


def test_words_in_the_table_are_not_broken(opened):
    browser.resize(opened, 700, 900)
    lines = opened.execute_script(
        "const cell = document.querySelector('#table-body td:nth-last-child(2)');"
        "cell.textContent = 'slow_performance';"
        "const range = document.createRange(); range.selectNodeContents(cell); return range.getClientRects().length"
    )
    assert lines == 1


def test_a_long_text_is_folded_until_it_is_clicked(opened):
    opened.execute_script("coterie.points.texts[0] = 'long '.repeat(300); document.querySelector('#search').focus()")
    opened.find_element("css selector", "#table-head th:nth-child(2) button").click()
    opened.find_element("css selector", "#table-head th:nth-child(1) button").click()
    text = opened.find_element("css selector", "#table-body .folded")
    folded = text.size["height"]
    opened.execute_script("arguments[0].click()", text)
    assert 60 < folded < 140 < text.size["height"]
    assert text.get_attribute("aria-expanded") == "true"


def test_a_short_value_is_on_one_line_and_a_name_stays_beside_its_dot(opened):
    browser.resize(opened, 700, 900)
    date, name = opened.execute_script(
        "const lines = (node) => { const range = document.createRange(); range.selectNodeContents(node);"
        " return new Set([...range.getClientRects()].map((box) => Math.round(box.bottom / 12))).size; };"
        "const short = document.querySelector('#table-body td.short'); short.textContent = '2026-11-18';"
        "const named = document.querySelector('#table-body td.cluster'); named.lastChild.textContent = 'Verification';"
        "return [lines(short), lines(named)]"
    )
    assert (date, name) == (1, 1)
