import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from coterie.describe.cluster_table import ClusterRow, ClusterTable, TopicSummary, cluster_table
from coterie.describe.keywords import keywords
from coterie.errors import CoterieError

TEXTS = ["printer jam", "  ", "refund please", "refund now", "refund now", "paper jam", "refund", ""]
LABELS = np.array([2, -1, 0, 0, 0, 2, 0, -1])
CONFIDENCE = np.array([0.5, np.nan, 0.6, 0.9, 0.9, 0.7, 0.8, np.nan])
TOPICS = [[SimpleNamespace(weight=0.75, words=["a<b", "c"])], [SimpleNamespace(weight=0.5, words=["d"])], []]


@pytest.fixture
def table():
    return cluster_table(TEXTS, LABELS, CONFIDENCE, 3)


def test_every_cluster_has_a_row_and_the_largest_is_first(table):
    assert [(row.cluster, row.size) for row in table] == [(0, 4), (2, 2), (1, 0)]


def test_clusters_of_equal_size_are_in_the_order_of_their_numbers():
    table = cluster_table(list("abcdef"), np.array([2, 0, 1, 2, 0, 1]), np.ones(6), 4)
    assert [row.cluster for row in table] == [0, 1, 2, 3]


def test_shares_are_of_the_texts_that_have_a_cluster(table):
    assert [row.share for row in table] == [4 / 6, 2 / 6, 0]


def test_confidence_is_the_mean_over_the_cluster(table):
    assert [row.confidence for row in table] == pytest.approx([(0.6 + 0.9 + 0.9 + 0.8) / 4, (0.5 + 0.7) / 2, 0])


def test_blank_texts_change_nothing(table):
    valid = LABELS >= 0
    assert cluster_table([text for text in TEXTS if text.strip()], LABELS[valid], CONFIDENCE[valid], 3) == table


def test_examples_are_distinct_and_the_most_confident_are_first(table):
    assert [row.examples for row in table] == [["refund now", "refund"], ["paper jam", "printer jam"], []]


@pytest.mark.parametrize(
    ("n_examples", "examples"),
    [
        (0, []),
        (1, ["refund now"]),
        (3, ["refund now", "refund", "refund please"]),
        (9, ["refund now", "refund", "refund please"]),
    ],
)
def test_n_examples_is_the_largest_number_of_examples(n_examples, examples):
    assert cluster_table(TEXTS, LABELS, CONFIDENCE, 3, n_examples=n_examples)[0].examples == examples


def test_examples_of_equal_confidence_are_sorted():
    texts = ["third", "first", "second"]
    table = cluster_table(texts, np.zeros(3, dtype=int), np.full(3, 0.4), 1, n_examples=3)
    assert table[0].examples == sorted(texts)


def test_keywords_are_computed_from_the_texts_that_have_a_cluster(table):
    valid = np.flatnonzero(LABELS >= 0)
    expected = keywords([TEXTS[i] for i in valid], LABELS[valid], 3)
    assert expected[0][0] == "refund"
    assert [row.keywords for row in table] == [expected[row.cluster] for row in table]
    one_each = cluster_table(TEXTS, LABELS, CONFIDENCE, 3, n_keywords=1)
    assert [row.keywords for row in one_each] == [words[:1] for words in (expected[0], expected[2], expected[1])]


def test_names_of_images_have_no_keywords_and_no_names_give_no_examples():
    files = cluster_table(["a.png", "b.png"], np.array([0, 1]), np.ones(2), 2, with_keywords=False)
    assert [(row.keywords, row.examples) for row in files] == [([], ["a.png"]), ([], ["b.png"])]
    arrays = cluster_table([], np.array([0, 1]), np.ones(2), 2, with_keywords=False)
    assert [(row.size, row.examples) for row in arrays] == [(1, []), (1, [])]


def test_only_blank_texts_give_a_table_of_empty_clusters():
    table = cluster_table(["", " "], np.array([-1, -1]), np.full(2, np.nan), 2)
    assert list(table) == [ClusterRow(k, f"Cluster {k}", 0, 0.0, 0.0, [], []) for k in (0, 1)]


@pytest.mark.parametrize("topics", [(), TOPICS], ids=["without topics", "with topics"])
def test_a_table_survives_json(topics):
    table = cluster_table(TEXTS, LABELS, CONFIDENCE, 3, topics=topics)
    rows = table.as_dicts()
    keys = ["cluster", "name", "size", "share", "confidence", "cohesion", "stability", "nearest"]
    keys += ["keywords", "examples"]
    assert list(rows[0]) == ([*keys, "topics"] if topics else keys)
    assert ClusterTable.from_dicts(json.loads(json.dumps(rows))) == table


def test_a_table_that_was_saved_without_names_gets_names(table):
    rows = [{key: value for key, value in row.items() if key != "name"} for row in table.as_dicts()]
    rows[1]["keywords"] = []
    assert ClusterTable.from_dicts(rows).names == {0: "Refund", 2: "Cluster 2", 1: "Cluster 1"}


def test_topics_belong_to_their_cluster():
    table = cluster_table(TEXTS, LABELS, CONFIDENCE, 3, topics=TOPICS)
    assert [row.topics for row in table] == [[TopicSummary(0.75, ["a<b", "c"])], [], [TopicSummary(0.5, ["d"])]]


def test_a_table_is_a_sequence_of_rows(table):
    assert len(table) == 3
    assert table[1].cluster == 2
    assert table[:2] == ClusterTable([table[0], table[1]])
    assert table != table[:2]


@pytest.mark.parametrize("topics", [(), TOPICS], ids=["without topics", "with topics"])
def test_a_data_frame_has_a_row_for_each_cluster(topics):
    table = cluster_table(TEXTS, LABELS, CONFIDENCE, 3, topics=topics)
    frame = table.to_frame()
    assert frame["cluster"].tolist() == [0, 2, 1]
    assert frame["examples"].tolist() == [row.examples for row in table]
    assert list(frame.columns) == table.columns
    assert ("topics" in frame.columns) == bool(topics)


def test_without_pandas_the_error_names_it(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(CoterieError, match=r"needs pandas\. Run: pip install pandas"):
        table.to_frame()


def test_html_is_escaped():
    texts = ["<script>alert(1)</script>", "a & b"]
    html = cluster_table(texts, np.array([0, 1]), np.ones(2), 3, topics=TOPICS)._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "a &amp; b" in html
    assert "a&lt;b" in html
    assert "<script>" not in html
    assert html.count("<tr>") == 4
    named = ClusterTable([ClusterRow(0, "<i>", 1, 1.0, 1.0, [], [])])._repr_html_()
    assert "<i>" not in named
    assert "&lt;i&gt;" in named


def test_the_table_of_helpdesk_is_complete(helpdesk):
    table = cluster_table(helpdesk.texts, helpdesk.true_labels, np.ones(len(helpdesk.texts)), 16)
    assert [row.size for row in table] == sorted(np.bincount(helpdesk.true_labels).tolist(), reverse=True)
    assert sum(row.share for row in table) == pytest.approx(1)
    assert all(len(set(row.keywords)) == 5 and len(row.examples) == 2 for row in table)
    assert len({row.name.casefold() for row in table}) == 16
    assert all(0 < len(row.name) <= 48 for row in table)
