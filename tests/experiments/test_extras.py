import numpy as np
import pytest

from coterie.datasets import Dataset
from coterie.errors import InputError
from coterie.experiments.extras import EXTRAS
from coterie.methods.deccrl import DECCRL
from coterie.methods.kmeans import KMeans


@pytest.fixture(scope="module")
def data(topics):
    return Dataset("helpdesk", topics[0], np.asarray(topics[1]), ["sport", "money", "biology"])


@pytest.fixture(scope="module")
def model(data):
    return KMeans(n_clusters=3, encoder="tfidf", random_state=0).fit(data.items)


def test_a_map_has_a_place_and_a_true_label_for_each_item(model, data):
    places = EXTRAS["map"](model, data)
    assert len(places["x"]) == len(places["y"]) == len(data.items)
    assert places["labels"] == data.true_labels.tolist()


def test_pairs_are_of_their_type_with_cosines_before_and_after(model, data):
    found = EXTRAS["pairs"](model, data)
    h = model.transform(data.items)
    cosine = (h @ h.T) / np.outer(np.linalg.norm(h, axis=1), np.linalg.norm(h, axis=1))
    assert len(found) == 5
    for name, pairs in found.items():
        assert len(pairs) == 10
        for i, j, before, after in pairs:
            assert (data.true_labels[i] == data.true_labels[j]) == name.startswith("same class")
            assert before == after == pytest.approx(cosine[i, j], abs=2e-3)  # k-means trains nothing


def test_topics_come_with_the_class_of_their_cluster(data, model):
    trained = DECCRL(n_clusters=3, encoder="tfidf", epochs=1, epoch_steps=1, random_state=0).fit(data.items)
    found = EXTRAS["topics"](trained, data)
    assert sorted(cluster["class"] for cluster in found) == sorted(data.label_names)
    assert all(len(words) == 4 for cluster in found for words in cluster["topics"])
    with pytest.raises(InputError, match="kmeans has no topics"):
        EXTRAS["topics"](model, data)
