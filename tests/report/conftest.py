"""A fitted model, the texts it clustered and the report on them, with texts that try to escape from the page."""

from dataclasses import replace

import numpy as np
import pytest
from in_browser import browser

import coterie
from coterie.report.build import Items, make_report
from coterie.report.data import Curve, Training, TreeNode
from coterie.report.page import render

EVIL = [
    "</script><script>document.title = 'run'</script>",
    "<img src=x onerror=\"document.title = 'run'\"> goal",
    "=HYPERLINK(\"http://example.com\", 'gene')",
    "\x1b[31mred\x1b[0m stock <!-- bank",
    "\u202egnp.cod\r\n\tvirus",
]


@pytest.fixture(scope="session")
def evil_texts():
    return EVIL


@pytest.fixture(scope="session")
def texts(topics):
    return [*topics[0], *EVIL]


@pytest.fixture(scope="session")
def columns(texts):
    rng = np.random.default_rng(0)
    return {
        "team": [("red", "blue", "<b>green</b>")[i % 3] for i in range(len(texts))],
        "minutes": [f"{value:.2f}" for value in rng.gamma(2, 10, len(texts))],
        "id": [f"T-{i}" for i in range(len(texts))],
    }


@pytest.fixture(scope="session")
def fitted(texts):
    return coterie.KMeans(n_clusters=3, encoder="tfidf", random_state=0).fit(texts)


@pytest.fixture(scope="session")
def items(fitted, texts, columns):
    return Items(fitted.assignment_, fitted.sample_, texts, columns)


@pytest.fixture(scope="session")
def report(fitted, items):
    return make_report(fitted, items, fitted.describe(), title="Tickets <2026>")


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
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
