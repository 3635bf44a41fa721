"""Views that the user gives to ``fit``, with SCCL as the example of a method with two views."""

import numpy as np
import pandas as pd
import pytest

from coterie.errors import InputError
from coterie.methods.sccl import SCCL


def small(**options):
    defaults = {"n_clusters": 3, "encoder": "tfidf", "epochs": 3, "encoder_lr": 1e-3, "guard": "off", "n_neighbors": 0}
    return SCCL(**defaults | options)


@pytest.fixture
def with_views(topics):
    texts = topics[0][:60]
    return texts, [text.split(" ", 1)[1] for text in texts], [text.rsplit(" ", 1)[0] for text in texts]


def test_views_may_be_lists_or_columns(with_views):
    texts, first, second = with_views
    frame = pd.DataFrame({"title": texts, "text1": first, "text2": second, "one": first, "two": second})
    model = small().fit(texts, views=[first, second])
    for other in (
        small().fit(tuple(texts), views=(pd.Series(first), np.array(second))),
        small().fit(frame, column="title", views=[frame["one"], frame["two"]]),
        small(augmenter="columns").fit(frame, column="title"),
        small(augmenter="columns:one, two").fit(frame, column="title"),
    ):
        np.testing.assert_array_equal(other.cluster_centers_, model.cluster_centers_)
        np.testing.assert_array_equal(other.labels_, model.labels_)


def test_the_views_change_the_training(with_views):
    texts, first, second = with_views
    model = small().fit(texts, views=[first, second])
    for views in ([second, second], [second, first[::-1]], None):
        assert not np.array_equal(small().fit(texts, views=views).cluster_centers_, model.cluster_centers_)


def test_a_blank_view_is_replaced_by_the_text(with_views):
    texts, first, second = with_views
    blank = ["", " \u200b", *first[2:]]
    filled = [*texts[:2], *first[2:]]
    one, other = (small().fit(texts, views=[views, second]) for views in (blank, filled))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


def test_views_of_blank_texts_are_ignored(with_views):
    texts, first, second = with_views
    plain = small().fit(texts, views=[first, second])
    with pytest.warns(UserWarning, match="1 of 61 texts is blank"):
        shifted = small().fit(["", *texts], views=[["x", *first], ["y", *second]])
    np.testing.assert_array_equal(shifted.labels_, [-1, *plain.labels_])


@pytest.mark.parametrize(
    ("views", "sentence"),
    [
        (lambda first, _: [first], "needs 2 views of each text, but 1 are given"),
        (lambda first, second: [first, second, first], "needs 2 views of each text, but 3 are given"),
        (lambda first, second: [first, second[:-1]], "View 2 has 59 rows, but there are 60 texts"),
        (lambda first, second: [[*first[:-1], 3], second], "Row 60 is 3, a int"),
    ],
)
def test_views_of_a_wrong_number_or_length_are_refused(with_views, views, sentence):
    texts, first, second = with_views
    with pytest.raises(InputError, match=sentence):
        small().fit(texts, views=views(first, second))


def test_missing_columns_are_named(with_views):
    texts, first, _ = with_views
    with pytest.raises(InputError, match=r"the columns text1, text2, but there is no 'text1'"):
        small(augmenter="columns").fit(texts)
    with pytest.raises(InputError, match=r"the columns one, other, but there is no 'other'"):
        small(augmenter="columns:one,other").fit(pd.DataFrame({"title": texts, "one": first}), column="title")


def test_vectors_have_no_views():
    with pytest.raises(InputError, match="Views are texts"):
        small(encoder="precomputed").fit(np.eye(6), views=[["a"] * 6, ["b"] * 6])
