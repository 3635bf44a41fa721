"""Tiny texts and models: a fit takes a fraction of a second."""

from __future__ import annotations

import hashlib
from pathlib import Path
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


def word_vectors(path: Path) -> Path:
    """Write a file of word vectors, and return its name."""
    rng = np.random.default_rng(0)
    words = sorted({word for topic in _WORDS for word in topic.split()})
    path.write_text("\n".join(f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=8))}" for word in words))
    return path


def warm_up(folder: Path) -> None:
    """Import all that attempts need into this process: their forks start with it."""
    from command import command
    from coterie.artifact.model import load

    for name in ("neighbors", "sccl"):
        model(name).fit(texts()).save(folder / name)
        load(folder / name).predict(texts(3))
    (folder / "texts.csv").write_text("text\n" + "\n".join(texts()))
    command("cluster", folder / "texts.csv", "-k", 3, "-e", "tfidf", "-m", "kmeans", "-o", folder / "out", "-q")
    command("edit", folder / "out", "--merge", "0,1", "-o", folder / "edited", "-q")


def digest(fitted: Clusterer) -> str:
    """Return a hash of everything that a model computes: weights, labels and probabilities."""
    found = hashlib.sha256(answers_of(fitted).encode())
    for name, value in sorted(fitted.objective_.trained_state().items()):
        found.update(name.encode() + value.detach().contiguous().numpy().tobytes())
    return found.hexdigest()


def answers_of(fitted: Clusterer) -> str:
    """Return a hash of labels and probabilities, which a saved model has; weights that only training needs are not."""
    return hashlib.sha256(fitted.labels_.tobytes() + fitted.predict_proba(texts(9)).tobytes()).hexdigest()
