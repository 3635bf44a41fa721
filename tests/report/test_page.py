"""The page holds everything, loads nothing, and runs nothing that a text contains."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from coterie.report.data import ClusterCard, Curve, Points, Report, Training, TreeNode
from coterie.report.page import render


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the content of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.found, self.contents, self.inside = [], {}, None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside = (tag, dict(attrs).get("type"))
            self.contents[self.inside] = ""

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.contents[self.inside] += data


@pytest.fixture(scope="module")
def page(report):
    return render(report)


def test_the_page_refers_to_nothing_outside(page):
    for tag, attributes in Elements(page).found:
        for name in ("src", "href", "action", "data", "srcset"):
            assert attributes.get(name, "#").startswith(("#", "data:,")), (tag, attributes)
    assert "@import" not in page
    assert "fetch(" not in page


def test_the_policy_allows_this_script_and_this_style_only(page):
    elements = Elements(page)
    policy = next(a["content"] for tag, a in elements.found if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag, kind in (("script", "module"), ("style", None)):
        digest = hashlib.sha256(elements.contents[tag, kind].encode()).digest()
        assert f"{tag}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy


def test_texts_stay_inside_the_data(page, report, evil_texts):
    elements = Elements(page)
    assert [tag for tag, _ in elements.found].count("script") == 2
    assert "img" not in [tag for tag, _ in elements.found]
    data = json.loads(elements.contents["script", "application/json"])
    assert data["points"]["texts"][-len(evil_texts) :] == [
        "</script><script>document.title = 'run'</script>", *report.points.texts[-4:],
    ]  # fmt: skip
    assert "<title>Tickets &lt;2026&gt;</title>" in page


def test_the_script_is_one_module_without_imports(page):
    script = Elements(page).contents["script", "module"]
    assert not re.search(r"^(import|export) ", script, flags=re.M)
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", script, flags=re.M)
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)


def test_positions_keep_their_proportions(report):
    xy = np.array([[0, 0], [10, 5], [10, 0]], dtype=np.float32)
    points = replace(
        report.points, **{name: getattr(report.points, name)[:3] for name in ("rows", "cluster", "confidence")}
    )
    points = replace(points, xy=xy, texts=["a", "b", "c"], columns=())
    data = json.loads(Elements(render(replace(report, points=points))).contents["script", "application/json"])
    x, y = (np.frombuffer(base64.b64decode(data["points"][axis]["data"]), dtype="<u2") for axis in "xy")
    assert x.tolist() == [0, 65535, 65535]
    assert y.tolist() == [32768, 0, 32768]  # y grows downwards


def test_twenty_thousand_texts_make_less_than_12_megabytes():
    n, rng = 20_000, np.random.default_rng(0)
    letters = rng.integers(97, 123, size=(n, 300)).astype(np.uint8)
    points = Points(
        rows=np.arange(1, n + 1),
        xy=rng.normal(size=(n, 2)).astype(np.float32),
        cluster=np.arange(n) % 20,
        confidence=rng.random(n),
        texts=[bytes(row).decode() for row in letters],
    )
    cards = [ClusterCard(k, f"cluster {k}", 1000, 0.05, 0.8, ["word"]) for k in range(20)]
    page = render(Report("large", "texts", n, 0, cards, points, "kmeans", "PCA"))
    assert len(page.encode()) < 12_000_000


def test_optional_parts_are_in_the_data_when_they_are_there(report):
    tree = TreeNode("all", 95, children=[TreeNode("one", 40, cluster=0)])
    training = Training([{"stage": "init", "epoch": 0, "guard": float("nan")}], kept=0, baseline=0.5)
    curve = Curve([2, 3], {"likelihood": [0.1, 0.2]}, chosen=3, remarks=["3 clusters: coarse."])
    page = render(replace(report, tree=tree, training=training, curve=curve))
    data = json.loads(Elements(page).contents["script", "application/json"])
    assert data["tree"]["children"][0]["cluster"] == 0
    assert data["training"]["history"][0]["guard"] is None
    assert data["curve"]["chosen"] == 3


def test_the_map_alone_is_the_same_page_in_another_view(report):
    assert 'data-view="map"' in render(report, view="map")
    assert 'data-view="report"' in render(report)
