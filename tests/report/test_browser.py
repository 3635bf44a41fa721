"""The page in a real browser: it loads alone, and search, click, lasso, sort and dark mode do what they say."""

import base64
import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from coterie.report.comparison import Clustering, compare
from coterie.report.data import Curve, Training, TreeNode
from coterie.report.flow_page import render_comparison
from coterie.report.page import render

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "localhost", "::1"])  # the driver listens there
_SPEC = importlib.util.spec_from_file_location("browser", Path(__file__).parents[2] / "benchmarks" / "browser.py")
browser = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(browser)


@pytest.fixture(scope="module")
def page(report, tmp_path_factory):
    """The page of a report that has every optional part."""
    history = [
        {"stage": "train", "epoch": i, "step": i, "loss": 2.0 - i / 5, "guard": 0.5 + i / 50} for i in range(1, 6)
    ]
    leaves = [TreeNode(card.name, card.size, cluster=card.cluster) for card in report.clusters]
    full = replace(
        report,
        tree=TreeNode("all", 95, children=[TreeNode("first two", 60, children=leaves[:2]), leaves[2]]),
        training=Training(history, kept=5, baseline=0.52),
        curve=Curve([2, 3, 4], {"likelihood": [0.1, 0.3, 0.2]}, chosen=3, remarks=["3 clusters: the best."]),
    )
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(render(full), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def driver():
    if reason := browser.missing():
        pytest.skip(f"{reason}: apt-get install chromium chromium-driver")
    with browser.open_browser() as opened:
        yield opened


@pytest.fixture
def opened(driver, page):
    """The page as it is when it is opened, in a wide window and light colors."""
    browser.resize(driver, 1360, 900)
    driver.get("about:blank")  # leaves Chromium's own start page, which loads parts of itself
    driver.get_log("browser"), driver.get_log("performance")
    driver.get(page.as_uri())
    if driver.execute_script("return document.documentElement.dataset.theme") == "dark":
        driver.find_element("id", "theme").click()
    return driver


def active(driver):
    return driver.execute_script("return coterie.activePoints()")


def rows(driver, column):
    """The cells of one column of the table."""
    return driver.execute_script(
        "return [...document.querySelectorAll('#table-body tr')].map((row) => row.cells[arguments[0]].textContent)",
        column,
    )


def drag(driver, path, *, shift=False):
    """Drag along positions inside the map."""
    from selenium.webdriver import ActionChains, Keys

    stage = driver.find_element("id", "stage")
    middle = stage.size["width"] / 2, stage.size["height"] / 2
    actions = ActionChains(driver, duration=20)
    if shift:
        actions.key_down(Keys.SHIFT)
    for number, (x, y) in enumerate(path):
        actions.move_to_element_with_offset(stage, int(x - middle[0]), int(y - middle[1]))
        if number == 0:
            actions.click_and_hold()
    actions.release()
    if shift:
        actions.key_up(Keys.SHIFT)
    actions.perform()


def test_it_loads_without_errors_or_requests_and_runs_no_text(opened, page):
    events = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    requests = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert {url for url in requests if not url.startswith(("data:", "blob:"))} == {page.as_uri()}
    assert opened.get_log("browser") == []
    assert opened.title == "Tickets <2026>"
    assert opened.execute_script("return coterie.map.frames > 0")


def test_texts_are_shown_as_they_are(opened, evil_texts):
    opened.find_element("id", "next").click()
    shown = rows(opened, 1)[-len(evil_texts) :]
    assert shown[0] == evil_texts[0]
    assert shown[1] == evil_texts[1]
    assert shown[3] == "␛[31mred␛[0m stock <!-- bank"
    assert shown[4] == "\u202egnp.cod virus"  # line ends and tabs are no codes


def test_search_selects_on_the_map_and_in_the_table(opened, texts):
    opened.find_element("id", "search").send_keys("gene virus")
    expected = [i for i, text in enumerate(texts) if "gene" in text and "virus" in text]
    wait_for(lambda: active(opened) == expected)
    assert [int(cell) - 1 for cell in rows(opened, 0)] == expected
    assert f"{len(expected)} of 95 texts selected" in opened.find_element("id", "live").text
    opened.find_element("css selector", ".chip").click()
    assert len(active(opened)) == 95
    assert opened.find_element("id", "search").get_property("value") == ""


def test_a_click_on_a_point_selects_its_cluster_and_greys_out_the_rest(opened, report):
    x, y, cluster = opened.execute_script(
        "const { map, points } = coterie; return [...map.toScreen(points.x[0], points.y[0]), points.cluster[0]]"
    )
    drag(opened, [(x, y)])
    assert active(opened) == np.flatnonzero(report.points.cluster == cluster).tolist()
    opened.execute_script("coterie.map.draw()")
    painted = opened.execute_script(
        "const m = coterie.map, r = m.raster, p = coterie.points, w = r.image.width;"
        "return [...p.x.keys()].map((i) => { const [x, y] = m.toScreen(p.x[i], p.y[i]);"
        "  const v = r.pixels[Math.floor(y) * w + Math.floor(x)]; return [v & 255, (v >> 8) & 255, (v >> 16) & 255]; })"
    )
    colorful = np.ptp(np.array(painted), axis=1) > 30
    assert colorful[report.points.cluster == cluster].mean() > 0.9
    assert colorful[report.points.cluster != cluster].mean() < 0.1
    opened.find_element("css selector", "#map-section .chips .link").click()
    assert len(active(opened)) == 95


def test_the_lasso_selects_what_it_encloses(opened):
    width, height = opened.execute_script("return [coterie.map.width, coterie.map.height]")
    middle = width / 2
    drag(opened, [(4, 4), (middle, 4), (middle, height - 4), (4, height - 4)], shift=True)
    left = opened.execute_script(
        "const { map, points } = coterie; "
        "return [...points.x.keys()].filter((i) => map.toScreen(points.x[i], 0)[0] < arguments[0])",
        middle,
    )
    assert active(opened) == left
    assert 0 < len(left) < 95


def test_the_table_sorts_by_a_column_both_ways(opened, report):
    header = "#table-head th:nth-child(4)"
    opened.find_element("css selector", f"{header} button").click()
    assert opened.find_element("css selector", header).get_attribute("aria-sort") == "descending"
    expected = np.sort(report.points.confidence)
    assert np.allclose(np.array(rows(opened, 3), dtype=float), expected[::-1][:50], atol=0.0051)
    opened.find_element("css selector", f"{header} button").click()
    assert float(rows(opened, 3)[0]) == pytest.approx(expected[0], abs=0.0051)


def test_dark_mode_changes_the_page_and_the_map(opened):
    background = "return getComputedStyle(document.body).backgroundColor"
    pixel = "coterie.map.draw(); return coterie.map.raster.pixels[0] & 255"
    light = opened.execute_script(background), opened.execute_script(pixel)
    opened.find_element("id", "theme").click()
    dark = opened.execute_script(background), opened.execute_script(pixel)
    assert light[0] != dark[0]
    assert light[1] > 200
    assert dark[1] < 60
    assert opened.find_element("id", "theme").get_attribute("aria-pressed") == "true"


def test_colors_by_a_column_have_a_legend_that_selects(opened, columns):
    opened.find_element("css selector", "#color-by option:nth-child(3)").click()
    legend = opened.find_elements("css selector", "#legend button")
    assert {button.find_element("class name", "name").text for button in legend} == set(columns["team"])
    legend[0].click()
    assert legend[0].get_attribute("aria-pressed") == "true"
    assert len(active(opened)) == columns["team"].count(legend[0].find_element("class name", "name").text)


def test_the_export_has_what_is_selected_and_no_formula(opened):
    opened.find_element("id", "search").send_keys("hyperlink")
    wait_for(lambda: len(active(opened)) == 1)
    csv = opened.execute_script("return coterie.exportCsv()")
    header, line = csv.strip().split("\r\n")
    assert header == "row,text,cluster,cluster_name,confidence,second_cluster,margin,team,minutes"
    assert line.startswith('93,"\'=HYPERLINK(""http')


def test_the_slider_ranks_keywords_anew(opened):
    def words():
        return [word.text for word in opened.find_elements("css selector", "#cards article:first-child .word")]

    before = words()
    opened.execute_script(
        "const s = document.getElementById('distinctive'); s.value = 0; s.dispatchEvent(new Event('input'))"
    )
    assert words() != before
    opened.execute_script(
        "const s = document.getElementById('distinctive'); s.value = 2; s.dispatchEvent(new Event('input'))"
    )
    assert words() == before


def test_the_map_obeys_the_keyboard(opened):
    from selenium.webdriver import Keys

    stage = opened.find_element("id", "stage")
    zoom = "return [coterie.map.zoom, coterie.map.view.x]"
    stage.send_keys("++")
    zoomed, x = opened.execute_script(zoom)
    assert zoomed == pytest.approx(1.96)
    stage.send_keys(Keys.ARROW_LEFT)
    assert opened.execute_script(zoom)[1] == pytest.approx(x + 60)
    stage.send_keys("0")
    wait_for(lambda: opened.execute_script(zoom)[0] == pytest.approx(1))


def test_tree_training_and_curve_are_drawn(opened):
    assert len(opened.find_elements("css selector", "#tree-root .leaf")) == 3
    opened.find_element("id", "fold").click()
    assert not opened.find_element("css selector", "#tree-root details .leaf").is_displayed()
    assert len(opened.find_elements("css selector", "#training-charts svg")) == 2
    assert len(opened.find_elements("css selector", "#training-charts .mark")) == 1
    assert "Ring: the epoch that was kept." in opened.find_element("id", "training-charts").text
    assert opened.find_element("id", "curve-remarks").text == "3 clusters: the best."


def test_without_a_kept_epoch_no_ring_is_explained(driver, report, tmp_path):
    history = [{"stage": "train", "epoch": i, "step": i, "loss": 1.0, "guard": 0.5} for i in (1, 2)]
    file = tmp_path / "report.html"
    file.write_text(render(replace(report, training=Training(history, kept=0, baseline=0.52))), encoding="utf-8")
    driver.get(file.as_uri())
    charts = driver.find_element("id", "training-charts").text
    assert "Dashes: without training" in charts
    assert "Ring" not in charts


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


def test_other_colors_leave_the_levels_unfolded(opened):
    opened.find_element("id", "fold").click()
    opened.find_element("id", "theme").click()
    assert not opened.find_elements("css selector", "#tree-root details[open]")


def test_every_control_has_a_name_of_its_own_for_a_screen_reader(opened):
    opened.execute_cdp_cmd("Accessibility.enable", {})
    nodes = opened.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "link", "combobox", "searchbox", "slider", "checkbox", "image"}
    named = [(node["role"]["value"], node["name"]["value"]) for node in nodes if node["role"].get("value") in roles]
    assert all(name for _, name in named)
    shown = [name for role, name in named if role == "button" and name.startswith("Show ") and name.endswith(" on map")]
    assert len(set(shown)) >= 4  # three cards, and the groups of the tree


def test_a_comparison_loads_without_errors(driver, tmp_path):
    first, second = Clustering("A", np.array([0, 0, 1]), {}), Clustering("B", np.array([1, 0, 0]), {0: "<b>x</b>"})
    file = tmp_path / "compare.html"
    file.write_text(render_comparison(compare(first, second, ["<script>1</script>", "b", "c"])), encoding="utf-8")
    driver.get_log("browser")
    driver.get(file.as_uri())
    assert driver.get_log("browser") == []
    assert driver.find_elements("css selector", "svg path")


def wait_for(condition, seconds=10):
    """Wait until ``condition()`` is true."""
    import time

    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
