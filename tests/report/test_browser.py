"""The page in a real browser: it loads alone, and search, click, lasso, sort and dark mode do what they say."""

import json
from dataclasses import replace

import numpy as np
import pytest
from in_browser import active, drag, rows, wait_for

from coterie.report.comparison import Clustering, compare
from coterie.report.data import Training
from coterie.report.flow_page import render_comparison
from coterie.report.page import render

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "localhost", "::1"])  # the driver listens there


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
