"""A report has what the model and the items say, and nothing that the user wants to keep private."""

from dataclasses import replace

import numpy as np
import pytest

import coterie
from coterie.report.build import Items, make_report
from coterie.report.page import render
from coterie.report.sentences import explain
from coterie.training.guard import Verdict


def test_clusters_are_numbered_as_in_the_model(fitted, report):
    assert [card.cluster for card in report.clusters] == [row.cluster for row in fitted.describe()]
    for card in report.clusters:
        assert card.size == (fitted.labels_ == card.cluster).sum()
    assert np.array_equal(report.points.cluster, fitted.labels_)
    assert report.points.rows.tolist() == list(range(1, len(fitted.labels_) + 1))


def test_typical_texts_are_the_most_confident_and_doubtful_the_least(report):
    points = report.points
    for card in report.clusters:
        members = np.flatnonzero(points.cluster == card.cluster)
        confidence = points.confidence[members]
        assert points.confidence[card.typical[0]] == confidence.max()
        assert points.confidence[card.doubtful[0]] == confidence.min()
        assert len({points.texts[i] for i in card.typical}) == len(card.typical)
        assert not set(card.typical) & set(card.doubtful)


def test_the_nearest_clusters_are_others(report):
    for card in report.clusters:
        assert sorted(neighbor.cluster for neighbor in card.nearest) == sorted({0, 1, 2} - {card.cluster})
        assert card.nearest[0].similarity >= card.nearest[1].similarity


def test_neighbors_on_the_map_differ_in_color(report):
    assert len({card.color for card in report.clusters}) == 3


def test_without_texts_no_text_and_no_value_is_in_the_page(fitted, items, texts, columns):
    private = make_report(fitted, items, fitted.describe(), title="private", with_texts=False)
    page = render(private)
    assert "left out" in private.notes[-1]
    assert not any(text in page for text in texts)
    assert not any(value in page for value in (*columns["id"], *columns["minutes"]))


def test_a_sample_is_announced(fitted, items):
    part = replace(items.sample, rows=items.sample.rows[:50], h=items.sample.h[:50])
    report = make_report(fitted, replace(items, sample=part), fitted.describe(), title="sampled")
    assert "50 of 95 texts" in report.notes[0]
    assert sum(card.size for card in report.clusters) == 95


def test_long_texts_are_cut_where_all_of_them_are_too_long(fitted, items, monkeypatch):
    monkeypatch.setattr("coterie.report.build._TEXT_BYTES", 20_000)
    long = replace(items, texts=[f"{text} {'word ' * 1000}" for text in items.texts])
    report = make_report(fitted, long, fitted.describe(), title="long")
    assert max(map(len, report.points.texts)) == 150
    assert report.notes == ["95 long texts are cut to 150 characters."]


def test_blank_texts_are_counted_and_not_shown(topics):
    texts = ["", *topics[0]]
    with pytest.warns(coterie.errors.BlankTextWarning):
        model = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(texts)
    items = Items(model.assignment_, model.sample_, texts)
    report = make_report(model, items, model.describe(), title="blank")
    assert report.n_blank == 1
    assert report.points.rows[0] == 2
    assert "1 text is blank, without a cluster." in report.notes


def test_images_get_contact_sheets():
    images = np.zeros((40, 8, 8), dtype=np.uint8)
    images[20:, 2:] = 200
    images[:, 0, 0] = np.arange(40)
    model = coterie.KMeans(n_clusters=2, encoder="image").fit(images)
    items = Items(model.assignment_, model.sample_)
    report = make_report(model, items, model.describe(), title="images")
    assert report.noun == "images"
    assert report.points.images.files[0][:2] == b"\xff\xd8"
    assert report.clusters[0].name.startswith("Cluster ")
    assert "data:image" not in render(report)


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (Verdict(0.5, 0.6, kept=2, epochs=5), "Of 5 epochs of training, the state after epoch 2 was the best"),
        (Verdict(0.5, 0.6, kept=0, epochs=5), "the clusters without training were kept"),
        (Verdict(0.5, 0.5, kept=1, epochs=1, stopped="2 of 3 clusters are empty"), "stopped early: 2 of 3 clusters"),
        (Verdict(1, 3, kept=1, epochs=1, untrained=2), "3.00; without training 2.00, plain k-means 1.00. It says how"),
        (Verdict(0.5, 0.5, kept=0, epochs=1, mode="off"), "the last epoch was kept"),
    ],
)
def test_the_verdict_in_plain_words(verdict, sentence):
    assert sentence in explain(verdict, "texts")
