"""A training of very many items uses a sample of them, and assigns all."""

import numpy as np
import pytest

import coterie
from coterie import arrays
from coterie.data.texts import check_texts


def test_the_rows_of_some_items_keep_their_order_and_counts():
    rows = check_texts(["b", "a", "", "c", "b", "d"])
    part = rows.sample(np.array([1, 3]))  # b and d
    assert part.unique == ["b", "d"]
    assert part.inverse.tolist() == [0, 0, 1]
    assert part.counts.tolist() == [2, 1]
    assert type(part) is type(rows)
    assert rows.n_distinct == 4


@pytest.mark.filterwarnings("ignore::coterie.errors.BlankTextWarning")
@pytest.mark.parametrize("guard", ["on", "off"])
def test_a_training_of_very_many_texts_uses_a_sample_and_assigns_all(topics, monkeypatch, guard, tmp_path):
    seen = []
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 60)
    texts = [*topics[0], topics[0][0], ""]
    model = coterie.SCCL(n_clusters=3, encoder="tfidf", epochs=1, batch_size=16, guard=guard)
    model.fit(texts, callback=lambda evaluation: seen.append(len(evaluation.h)))
    assert set(seen) == {60}
    assert len(model.labels_) == len(texts)
    assert model.labels_[-1] == -1
    assert set(model.labels_[:-1]) == {0, 1, 2}
    assert model.n_texts_ == len(texts)
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model").predict(texts), model.labels_)


def test_views_of_the_user_belong_to_all_texts_so_that_all_are_trained_on(topics, monkeypatch):
    seen = []
    monkeypatch.setattr(arrays, "EXACT_LIMIT", 60)
    model = coterie.SCCL(n_clusters=3, encoder="tfidf", epochs=1, batch_size=16)
    model.fit(topics[0], views=[topics[0]] * 2, callback=lambda evaluation: seen.append(len(evaluation.h)))
    assert set(seen) == {len(set(topics[0]))}
