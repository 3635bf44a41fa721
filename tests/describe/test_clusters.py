import json

import numpy as np
import pytest

from coterie.describe.clusters import ClusterRow, describe
from coterie.describe.keywords import keywords

TEXTS = ["printer jam", "  ", "refund please", "refund now", "refund now", "paper jam", "refund", ""]
LABELS = np.array([2, -1, 0, 0, 0, 2, 0, -1])
CONFIDENCE = np.array([0.5, np.nan, 0.6, 0.9, 0.9, 0.7, 0.8, np.nan])


@pytest.fixture
def table():
    return describe(TEXTS, LABELS, CONFIDENCE, 3)


def test_every_cluster_has_a_row_and_the_largest_is_first(table):
    assert [(row.cluster, row.size) for row in table] == [(0, 4), (2, 2), (1, 0)]


def test_clusters_of_one_size_stay_in_order():
    rows = describe(list("abcdef"), np.array([2, 0, 1, 2, 0, 1]), np.ones(6), 4)
    assert [row.cluster for row in rows] == [0, 1, 2, 3]


def test_shares_are_of_the_texts_that_are_not_blank(table):
    assert [row.share for row in table] == [4 / 6, 2 / 6, 0]
    assert sum(row.share for row in table) == pytest.approx(1)


def test_confidence_is_the_mean_of_the_cluster(table):
    assert [row.confidence for row in table] == pytest.approx([(0.6 + 0.9 + 0.9 + 0.8) / 4, (0.5 + 0.7) / 2, 0])


def test_blank_texts_change_nothing(table):
    told = LABELS >= 0
    assert describe([t for t in TEXTS if t.strip()], LABELS[told], CONFIDENCE[told], 3) == table


def test_examples_are_distinct_and_the_surest_are_first(table):
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
def test_as_many_examples_as_asked_for(n_examples, examples):
    assert describe(TEXTS, LABELS, CONFIDENCE, 3, n_examples=n_examples)[0].examples == examples


def test_equally_sure_examples_keep_their_order():
    texts = ["third", "first", "second"]
    assert describe(texts, np.zeros(3, dtype=int), np.full(3, 0.4), 1, n_examples=3)[0].examples == texts


def test_keywords_are_those_of_the_cluster(table):
    told = [i for i, label in enumerate(LABELS) if label >= 0]
    expected = keywords([TEXTS[i] for i in told], LABELS[told], 3)
    assert expected[0][0] == "refund"
    assert [row.keywords for row in table] == [expected[row.cluster] for row in table]


def test_only_blank_texts_give_a_table_of_empty_clusters():
    rows = describe(["", " "], np.array([-1, -1]), np.full(2, np.nan), 2)
    assert rows == [ClusterRow(k, 0, 0.0, 0.0, [], []) for k in (0, 1)]


def test_a_row_goes_into_json_and_back(table):
    assert [ClusterRow(**json.loads(json.dumps(row.as_dict()))) for row in table] == table


def test_helpdesk_table_adds_up(helpdesk):
    rows = describe(helpdesk.texts, helpdesk.true_labels, np.ones(len(helpdesk.texts)), 16)
    sizes = [row.size for row in rows]
    assert sizes == sorted(np.bincount(helpdesk.true_labels).tolist(), reverse=True)
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert all(len(set(row.keywords)) == 5 and len(row.examples) == 2 for row in rows)
    assert all(helpdesk.texts.index(row.examples[0]) == list(helpdesk.true_labels).index(row.cluster) for row in rows)
