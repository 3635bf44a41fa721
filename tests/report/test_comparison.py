"""Two clusterings: clusters are aligned, moves are counted, and the picture is a page without a script."""

import re

import numpy as np
import pytest

from coterie.errors import InputError
from coterie.report.comparison import Clustering, compare
from coterie.report.flow_page import render_comparison, summary


@pytest.fixture(scope="module")
def comparison():
    a = np.array([0] * 10 + [1] * 6 + [2] * 4 + [-1])
    b = np.array([2] * 9 + [0] * 7 + [1] * 4 + [0])  # one item of cluster 0 went to the partner of cluster 1
    texts = [f"<text {i}>" for i in range(21)]
    return compare(Clustering("old", a, {0: "zero & nil"}), Clustering("new", b, {}), texts)


def test_clusters_are_aligned_whatever_their_numbers(comparison):
    assert comparison.pairs == {0: 2, 1: 0, 2: 1}
    assert comparison.n == 20


def test_what_moved_is_counted_with_examples(comparison):
    (flow,) = comparison.moved
    assert (flow.source, flow.target, flow.size, list(flow.examples)) == (0, 0, 1, ["<text 9>"])
    assert comparison.share_moved == 0.05
    assert "95% of 20 items are in corresponding clusters, 5% moved" in summary(comparison)


def test_equal_clusterings_agree_fully():
    labels = np.array([0, 0, 1, 1])
    same = compare(Clustering("a", labels, {}), Clustering("b", 1 - labels, {}))
    assert same.scores == {"ari": 1, "nmi": 1, "ami": 1}
    assert not same.moved
    assert "Nothing" in render_comparison(same)


def test_a_cluster_that_was_split_has_one_partner():
    split = compare(Clustering("a", np.zeros(5, dtype=int), {}), Clustering("b", np.array([0, 0, 0, 1, 1]), {}))
    assert split.pairs == {0: 0}
    assert [flow.size for flow in split.moved] == [2]


def test_different_numbers_of_rows_are_refused():
    with pytest.raises(InputError, match="a has 2 rows and b has 3"):
        compare(Clustering("a", np.zeros(2, dtype=int), {}), Clustering("b", np.zeros(3, dtype=int), {}))


def test_the_picture_has_a_ribbon_for_every_flow_and_runs_nothing(comparison):
    page = render_comparison(comparison)
    assert page.count("<path") == len(comparison.flows) == 4
    assert page.count('class="pair"') == 3
    assert "zero &amp; nil" in page
    assert "&lt;text 9&gt;" in page
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?!data:,)', page)
