"""Tiny texts and models: a fit takes a fraction of a second."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from coterie.clusterer import METHODS, Clusterer
from coterie.deep import DeepClusterer

_WORDS = ("goal match team league score", "stock bank market profit trade", "gene cell protein virus dna")
TRAINED = sorted(name for name, cls in METHODS.items() if issubclass(cls, DeepClusterer))


def texts(n: int = 45) -> list[str]:
    """Return texts on three topics."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(_WORDS[i % 3].split(), 4)) + f" {i}" for i in range(n)]


def model(name: str, **settings: Any) -> Clusterer:
    """Return an unfitted model of a method."""
    values: dict[str, Any] = {"n_clusters": 3, "encoder": "tfidf"}
    if name in TRAINED:
        values |= {"epochs": 4, "epoch_steps": 4, "max_steps": 12, "init": "kmeans"}
    return METHODS[name](**values | settings)


def digest(fitted: Clusterer) -> str:
    """Return a hash of everything that a model computes: weights, labels and probabilities."""
    found = hashlib.sha256(answers_of(fitted).encode())
    for name, value in sorted(fitted.objective_.trained_state().items()):
        found.update(name.encode() + value.detach().contiguous().numpy().tobytes())
    return found.hexdigest()


def answers_of(fitted: Clusterer) -> str:
    """Return a hash of labels and probabilities, which a saved model has; weights that only training needs are not."""
    return hashlib.sha256(fitted.labels_.tobytes() + fitted.predict_proba(texts(9)).tobytes()).hexdigest()
