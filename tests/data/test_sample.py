"""What a map shows of an input: everything, or a sample with rows of every cluster."""

import numpy as np

from coterie.data.images import check_images
from coterie.data.sample import EXTREMES, draw_sample
from coterie.data.texts import check_texts


def many_texts(n=3000):
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(n) < 60, 1, 0)  # the second cluster is small
    return (
        check_texts([f"text {i:04}" for i in range(n)]),
        rng.normal(size=(n, 4)).astype(np.float32),
        labels,
        rng.random(n),
    )


def test_all_rows_with_a_cluster_are_taken_in_order():
    rows = check_texts(["a", "", "b", "a"])
    sample = draw_sample(rows, np.eye(2, dtype=np.float32), np.array([0, -1, 1, 0]), np.array([0.9, np.nan, 0.8, 0.9]))
    assert sample.rows.tolist() == [0, 2, 3]
    assert sample.texts == ["a", "b", "a"]
    assert sample.h.tolist() == [[1, 0], [0, 1], [1, 0]]


def test_a_sample_has_the_extremes_and_many_rows_of_every_cluster():
    rows, h, labels, confidence = many_texts()
    sample = draw_sample(rows, h, labels, confidence, max_rows=200)
    assert len(sample.rows) == 200
    assert np.array_equal(sample.rows, np.unique(sample.rows))
    assert np.array_equal(sample.h, h[sample.rows])
    for cluster in (0, 1):
        members = np.flatnonzero(labels == cluster)
        order = members[np.argsort(confidence[members])]
        assert np.isin(order[:EXTREMES], sample.rows).all()
        assert np.isin(order[-EXTREMES:], sample.rows).all()
        assert np.isin(members, sample.rows).sum() >= 40


def test_the_sample_is_always_the_same():
    rows, h, labels, confidence = many_texts()
    first, second = (draw_sample(rows, h, labels, confidence, max_rows=200) for _ in range(2))
    assert np.array_equal(first.rows, second.rows)


def test_images_are_made_small():
    images = np.zeros((3, 100, 100, 3), dtype=np.uint8)
    images[1] = 255
    images[2, :50] = 255
    rows = check_images(images, side=100)
    sample = draw_sample(rows, np.zeros((3, 2), dtype=np.float32), np.array([0, 0, 0]), np.ones(3))
    assert sample.images.shape == (3, 33, 33, 3)
    assert (sample.images[1] == 255).all()
    assert sample.images[2, 0, 0, 0] == 255
    assert sample.images[2, -1, 0, 0] == 0
