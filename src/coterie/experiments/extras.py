"""What some results have besides scores: a map, topics, or pairs of texts. True labels are shown, never used to fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.manifold import TSNE

from coterie.arrays import unit_rows
from coterie.clusterer import Clusterer
from coterie.clustering.matching import match_clusters
from coterie.datasets import Dataset
from coterie.errors import InputError
from coterie.topic_clusterer import TopicClusterer

_N_DRAWN = 1500  # items of a map
_N_COMPARED = 2000  # texts whose pairs are compared
_N_WORDS = 4  # of a topic, as in DECCRL's Table 4
_N_PAIRS = 10  # of each type, as in ClusterBERT's Table 5


def tsne_map(model: Clusterer, data: Dataset) -> dict[str, Any]:
    """Return the positions of a sample by t-SNE, and the true labels (SCCL Fig. 1)."""
    rows = _sample(len(data.items), _N_DRAWN)
    h = model.transform([data.items[row] for row in rows])
    places = TSNE(random_state=0, init="pca", perplexity=min(30, (len(rows) - 1) // 3)).fit_transform(h)
    x, y = (np.round(axis.astype(float), 1).tolist() for axis in places.T)
    return {"x": x, "y": y, "labels": data.true_labels[rows].tolist()}


def topics(model: Clusterer, data: Dataset) -> list[dict[str, Any]]:
    """Return the words of each cluster's topics, and the class that the cluster corresponds to (DECCRL Table 4)."""
    if not isinstance(model, TopicClusterer):
        raise InputError(f"{model.name} has no topics.")
    classes = match_clusters(data.true_labels, model.labels_)
    return [
        {
            "class": data.label_names[classes[cluster]] if cluster in classes else "",
            "topics": [list(topic.words) for topic in of_cluster],
        }
        for cluster, of_cluster in enumerate(model.topics(_N_WORDS))
    ]


def pairs(model: Clusterer, data: Dataset) -> dict[str, list[list[float]]]:
    """Return pairs of rows with their cosine before and after training, by type (ClusterBERT Table 5)."""
    rows = _sample(len(data.items), _N_COMPARED)
    texts = [data.items[row] for row in rows]
    before, after = (unit_rows(h) @ unit_rows(h).T for h in (model.encoder_.embed(texts), model.transform(texts)))
    first, second = np.triu_indices(len(rows), k=1)
    before, after = before[first, second], after[first, second]
    same = data.true_labels[rows][first] == data.true_labels[rows][second]
    change = after - before
    ranks = {
        "same class, stays close": np.where(same, np.minimum(before, after), -np.inf),
        "same class, largest increase": np.where(same, change, -np.inf),
        "other class, largest increase": np.where(~same, change, -np.inf),
        "other class, largest decrease": np.where(~same, -change, -np.inf),
        "same class, largest decrease": np.where(same, -change, -np.inf),
    }
    return {
        name: [
            [int(rows[first[i]]), int(rows[second[i]]), round(float(before[i]), 3), round(float(after[i]), 3)]
            for i in np.argsort(-rank, kind="stable")[:_N_PAIRS]
        ]
        for name, rank in ranks.items()
    }


EXTRAS: dict[str, Callable[[Clusterer, Dataset], Any]] = {"map": tsne_map, "topics": topics, "pairs": pairs}


def _sample(n: int, size: int) -> Any:
    return np.sort(np.random.default_rng(0).permutation(n)[:size])
