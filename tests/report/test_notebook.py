"""What a notebook shows: the model as a table, its map in a frame, and a figure."""

import io
from itertools import combinations

import numpy as np
import pytest

import coterie
from coterie.report.figure import COLORS


def test_a_fitted_model_shows_its_table(fitted):
    shown = fitted._repr_mimebundle_()["text/html"]
    assert "KMeans: 95 texts in 3 clusters" in shown
    assert "<table>" in shown
    assert "<script>document" not in shown


def test_an_unfitted_model_shows_the_diagram_of_scikit_learn():
    assert "sk-container" in coterie.KMeans()._repr_html_()


def test_the_map_is_a_page_in_a_frame_that_cannot_reach_the_notebook(fitted, tmp_path):
    picture = fitted.map()
    frame = picture._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts allow-downloads"')
    assert "allow-same-origin" not in frame
    assert "<script" not in frame
    picture.save(tmp_path / "map.html")
    assert 'data-view="map"' in (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "MB" in repr(picture)


def test_a_loaded_model_asks_for_the_texts(fitted, texts, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    with pytest.raises(coterie.errors.InputError, match="does not hold its items"):
        loaded.map()
    assert loaded.map(texts).page == fitted.map().page


def test_the_map_of_other_texts_keeps_names_and_counts_these(fitted):
    page = fitted.map(["goal match team", "gene cell protein", "gene virus dna"]).page
    name = fitted.describe()[0].name
    assert name in page
    assert '"n_rows":3' in page


def test_the_figure_has_every_cluster_in_its_own_color_and_can_be_saved(fitted):
    figure = fitted.plot()
    (axes,) = figure.axes
    colors = {tuple(np.round(scatter.get_facecolor()[0, :3], 3)) for scatter in axes.collections}
    assert len(colors) == 3 <= len(COLORS)
    assert sorted(text.get_text() for text in axes.texts) == sorted(fitted.describe().names.values())
    for kind in ("png", "svg"):
        stream = io.BytesIO()
        figure.savefig(stream, format=kind)
        assert stream.tell() > 1000
    assert figure._repr_png_().startswith(b"\x89PNG")  # a notebook shows it


def test_clusters_of_one_color_have_different_markers(topics):
    model = coterie.KMeans(n_clusters=12, encoder="tfidf").fit(topics[0])
    (axes,) = model.plot().axes
    looks = [
        (tuple(scatter.get_facecolor()[0]), scatter.get_paths()[0].vertices.tobytes())
        for scatter in axes.collections
        if len(scatter.get_offsets())
    ]
    assert len(set(looks)) == len(looks)


def test_names_do_not_cover_each_other(topics):
    figure = coterie.KMeans(n_clusters=12, encoder="tfidf").fit(topics[0]).plot()
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) > 8
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_the_figure_goes_where_the_user_wants_it(fitted):
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.add_subplot()
    assert fitted.plot(ax=axes) is figure
