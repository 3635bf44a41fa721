"""What one call of ``fit`` works on, and the step from embeddings to the clusters of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.clustering.n_clusters import NClustersCurve, choose_n_clusters, n_clusters_range, sample_rows
from coterie.contracts import Corpus, Items, Labels, Network, Objective, Vectors
from coterie.data.rows import Rows
from coterie.data.texts import check_texts
from coterie.encoders.encoder import Encoder
from coterie.errors import InputError

_SAMPLE = 8  # vectors of the user that are compared with the encoder's
_TOLERANCE = 0.05  # of the largest number: the user's may be in another precision
_CHUNK = 65_536  # rows assigned at once: q of a million rows and hundreds of clusters would take gigabytes


@dataclass(frozen=True)
class FitOptions:
    """Optional inputs of a training."""

    views: Sequence[Any] | None = None  # the user's own views, one column per view
    callbacks: Sequence[Any] = ()  # called with an Evaluation after every epoch
    vectors: Any = None  # the user's own embeddings of the rows, by the same encoder
    deadline: float | None = None  # by time.perf_counter(): when the fit should be done


@dataclass(frozen=True)
class Fit:
    """What one call of ``fit`` works on."""

    rows: Rows[Any]
    encoder: Encoder
    seed: int
    options: FitOptions


def embed_corpus(network: Network, rows: Rows[Any], vectors: Any = None) -> Corpus:
    """Return the distinct items as the network prepares them, with their embeddings, or those in ``vectors``."""
    if vectors is not None:
        return Corpus(rows.unique, _given(network, rows, vectors), torch.from_numpy(rows.counts))
    prepared = network.prepare(rows.unique)
    h = network.encode(prepared)
    return Corpus(rows.unique, h, torch.from_numpy(rows.counts), prepared=prepared)


def row_texts(texts: Any, column: str | None, vectors: Any) -> list[str]:
    """Return the text of each row of ``vectors``; empty for a blank one."""
    rows = check_texts(texts, column)
    _check_length(vectors, rows.n_rows)
    return [rows.unique[i] if i >= 0 else "" for i in rows.inverse.tolist()]


def _given(network: Network, rows: Rows[Any], vectors: Any) -> torch.Tensor:
    """Return the user's embeddings of the distinct items (N, D), after a look whether they are the network's."""
    _check_length(vectors, rows.n_rows)
    first = np.unique(rows.inverse, return_index=True)[1][-rows.n_distinct :]  # the first row of each distinct item
    try:
        h = np.ascontiguousarray(np.asarray(vectors)[first], dtype=np.float32)
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"`vectors` must be an array of numbers, one row for each text ({error}).") from None
    sample = np.linspace(0, len(h) - 1, _SAMPLE).astype(int)
    own = network.embed([rows.unique[i] for i in sample])
    if h.ndim != 2 or not np.isfinite(h).all():
        raise InputError(f"`vectors` must be finite numbers, one row for each text; got an array of shape {h.shape}.")
    if h.shape[1] != own.shape[1] or not np.allclose(h[sample], own, atol=_TOLERANCE * np.abs(own).max()):
        raise InputError(
            "`vectors` are not the embeddings of these texts by this encoder, so new texts could not be assigned. For "
            "vectors from elsewhere use encoder='precomputed'."
        )
    return torch.from_numpy(h)


def _check_length(vectors: Any, n_rows: int) -> None:
    if (n_vectors := len(vectors)) != n_rows:
        raise InputError(f"There are {n_vectors:,} `vectors` for {n_rows:,} texts; one row is needed for each text.")


def with_embeddings(corpus: Corpus, h: Vectors) -> Corpus:
    """Return the corpus with other embeddings (N, D)."""
    return replace(corpus, h=torch.from_numpy(h))


@dataclass(frozen=True)
class Assignment:
    """The two most probable clusters of each item."""

    labels: Labels  # (N,) -1 for an item without a cluster
    confidence: NDArray[np.float64]  # (N,) probability of the most probable cluster
    second: Labels  # (N,) the next probable cluster; -1 if there is none
    margin: NDArray[np.float64]  # (N,) the difference of the two probabilities

    def above(self, min_confidence: float) -> Assignment:
        """Return the assignment with items of a smaller confidence set aside: their cluster is only the next one."""
        aside = self.confidence < min_confidence
        return replace(self, labels=np.where(aside, -1, self.labels), second=np.where(aside, self.labels, self.second))

    def expand(self, rows: Rows[Any]) -> Assignment:
        """Return the assignment of all rows from that of the distinct items."""
        return Assignment(
            labels=rows.expand(self.labels, -1),
            confidence=rows.expand(self.confidence, np.nan),
            second=rows.expand(self.second, -1),
            margin=rows.expand(self.margin, np.nan),
        )


def most_probable(objective: Objective, h: Vectors, items: Items) -> Assignment:
    """Return the most probable clusters of each of N items with embeddings h (N, D)."""
    labels, confidence = np.empty(len(h), dtype=np.int64), np.empty(len(h))
    second, margin = np.full(len(h), -1), np.ones(len(h))
    chunk = _CHUNK if objective.assign_batch_size is None else max(len(h), 1)
    for start in range(0, len(h), chunk):
        part = slice(start, start + chunk)
        q = objective.assign_all(h[part], items[part])
        labels[part], confidence[part] = q.argmax(axis=1), q.max(axis=1)
        q[np.arange(len(q)), labels[part]] = q[:, objective.merges.removed] = -np.inf
        if np.isfinite(q).any():  # there is another cluster
            second[part], margin[part] = q.argmax(axis=1), confidence[part] - q.max(axis=1)
    return Assignment(labels, confidence, second, margin)


def find_n_clusters(
    setting: int | str, encoder: Encoder, rows: Rows[Any], seed: int
) -> tuple[int, NClustersCurve | None]:
    """Return the number of clusters as it is set, or chosen on a sample of the items with the curve that decided."""
    lower, upper = n_clusters_range(setting)
    if lower == upper:
        return lower, None
    chosen = sample_rows(rows.n_distinct, seed)
    items = rows.unique if len(chosen) == rows.n_distinct else rows.take(chosen)
    h = encoder.embed_corpus(items)  # another try finds them in the cache
    curve = choose_n_clusters(h, lower=lower, upper=upper, seed=seed)
    return curve.n_clusters, curve
