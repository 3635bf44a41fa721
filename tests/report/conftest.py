"""A fitted model, the texts it clustered and the report on them, with texts that try to escape from the page."""

import numpy as np
import pytest

import coterie
from coterie.report.build import Items, make_report

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
