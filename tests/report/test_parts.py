"""Positions, colors, columns, words and thumbnails of a report."""

import io

import numpy as np
import pytest
from PIL import Image

from coterie.report import layout as layout_module
from coterie.report.colors import PALETTE, assign_colors
from coterie.report.columns import color_columns
from coterie.report.contact_sheet import contact_sheets
from coterie.report.data import ClusterCard
from coterie.report.layout import layout, principal_components
from coterie.report.sentences import overview
from coterie.report.word_counts import word_counts


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(3, 10))
    return (centers[np.arange(60) % 3] + 0.1 * rng.normal(size=(60, 10))).astype(np.float32)


def test_tsne_keeps_clusters_apart_and_is_repeatable(blobs):
    xy, name = layout(blobs)
    assert name == "t-SNE"
    assert xy.shape == (60, 2)
    means = np.stack([xy[k::3].mean(axis=0) for k in range(3)])
    spread = max(np.linalg.norm(xy[k::3] - means[k], axis=1).max() for k in range(3))
    assert spread < min(np.linalg.norm(means[a] - means[b]) for a, b in ((0, 1), (0, 2), (1, 2))) / 2
    assert np.array_equal(xy, layout(blobs)[0])


def test_without_the_extra_the_map_is_pca(blobs, monkeypatch):
    monkeypatch.setattr(layout_module, "has_tsne", lambda: False)
    xy, name = layout(blobs)
    assert name == "PCA"
    assert xy.std(axis=0)[0] >= xy.std(axis=0)[1] > 0


def test_equal_embeddings_get_equal_positions(blobs):
    xy, _ = layout(np.concatenate([blobs, blobs[:7]]))
    assert np.array_equal(xy[:7], xy[60:])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_items_have_positions_too(blobs, n):
    xy, name = layout(blobs[:n])
    assert name == "PCA"
    assert np.isfinite(xy).all()


def test_principal_components_of_a_line_are_a_line():
    xy = principal_components(np.outer(np.arange(5), [1.0, 2.0, 0.0]).astype(np.float32))
    assert np.allclose(np.diff(xy[:, 0]), np.sqrt(5), atol=1e-5)
    assert np.allclose(xy[:, 1], 0)


def test_neighboring_clusters_get_different_colors():
    grid = np.stack(np.meshgrid(np.arange(8), np.arange(8)), axis=-1).reshape(-1, 2).astype(float)
    colors = np.array(assign_colors(grid))
    assert set(colors) == set(range(len(PALETTE)))
    for k, position in enumerate(grid):
        beside = (np.abs(grid - position).sum(axis=1) == 1).nonzero()[0]
        assert (colors[beside] != colors[k]).all()


def test_columns_of_groups_and_numbers_are_kept_and_ids_are_not():
    n = 200
    table = {
        "team": ["a", "b", "", None] * 50,
        "grade": [str(i % 5) for i in range(n)],
        "amount": [str(i * 1.5) if i else "" for i in range(n)],
        "id": [f"T-{i}" for i in range(n)],
        "constant": ["x"] * n,
    }
    columns = {column.name: column for column in color_columns(table, np.arange(n))}
    assert set(columns) == {"team", "grade", "amount"}
    assert columns["team"].values == ["a", "b"]
    assert columns["team"].codes[:4].tolist() == [0, 1, -1, -1]
    assert columns["grade"].codes is not None
    assert np.isnan(columns["amount"].numbers[0])
    assert columns["amount"].numbers[2] == 3


def test_candidates_are_the_frequent_and_the_distinctive_words(topics):
    texts, labels = topics
    texts = [f"{text} report report" for text in texts]
    words, sizes = word_counts(texts, labels, 3, n_words=2)
    assert sizes == [7 * 30] * 3
    for of_cluster in words:
        counts = {entry.word: entry for entry in of_cluster}
        assert (counts["report"].count, counts["report"].total) == (60, 180)
        assert sum(entry.count == entry.total for entry in of_cluster) >= 2


def test_no_texts_have_no_words():
    assert word_counts([], np.empty(0, dtype=np.int64), 2) == ([[], []], [0, 0])


def test_thumbnails_lie_in_rows_on_the_sheets():
    images = np.zeros((1030, 24, 24, 1), dtype=np.uint8)
    images[33] = 255  # second row, second column
    sheets = contact_sheets(images)
    assert len(sheets.files) == 2
    first = np.asarray(Image.open(io.BytesIO(sheets.files[0])))
    assert first.shape == (32 * sheets.side, 32 * sheets.side)
    cell = first[sheets.side : 2 * sheets.side, sheets.side : 2 * sheets.side]
    assert cell.mean() > 240
    assert first.mean() < 3


def test_small_images_are_enlarged():
    assert contact_sheets(np.zeros((2, 8, 8, 3), dtype=np.uint8)).side == 24


@pytest.mark.parametrize(
    ("confidence", "words"),
    [([0.9, 0.9], "none is doubtful"), ([0.9, 0.4], "50% are doubtful"), ([0.1, 0.4], "100% are doubtful")],
)
def test_the_overview_says_how_many_are_doubtful(confidence, words):
    cards = [ClusterCard(cluster=0, name="Mail", size=2, share=1.0, confidence=0.9, keywords=())]
    assert words in overview("texts", cards, np.array(confidence))


def test_the_overview_never_puts_two_numbers_side_by_side():
    cards = [ClusterCard(cluster=0, name="Mail", size=20, share=1.0, confidence=0.9, keywords=())]
    assert "20. 5" not in overview("texts", cards, np.array([0.4, 0.9]))
    assert "has 20. Of all texts, 50% are" in overview("texts", cards, np.array([0.4, 0.9]))
