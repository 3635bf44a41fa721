"""Choose the number of clusters K: not more than the items support, stable under resampling, and well separated.

For every candidate K, k-means runs on two random halves of the items. Three scores come from this:

- The likelihood of each half in a mixture of Gaussians whose centers, sizes and common variance come from the other
  half. What a mixture gains by more clusters on the items that it was fitted to is no gain on others: this is the
  penalty for many clusters, without an assumption on the number of free parameters. Candidates end at twice the K of
  the highest likelihood, because the other half doubles the items of a cluster.
- The stability: both results are applied to all items, and compared by the adjusted Rand index, averaged over several
  halvings. It is 1 if the clusters do not depend on which half was seen. A K that cuts through a cluster, or joins
  clusters at random, is unstable.
- Several K can be about equally stable, from few broad clusters to many fine ones; the separation (silhouette) decides
  among them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, silhouette_score

from coterie.arrays import unit_rows
from coterie.contracts import Labels, Vectors
from coterie.errors import CATCHING_WARNINGS, InputError
from coterie.knn.graph import knn_graph
from coterie.knn.smoothing import compress, smooth
from coterie.progress import track

if TYPE_CHECKING:
    NClusters: TypeAlias = Any
else:
    NClusters = int | str
"""A number, ``auto`` or a range like ``5-60``. Objectives always get the number."""

_SAMPLE = 3000  # items that are compared; more hardly change the curve
_MIN_CLUSTER_SIZE = 8  # items of the sample in a cluster of mean size; smaller ones are clusters of noise
_MAX_CLUSTERS = 300
_N_NEIGHBORS = 10
_ROUNDS = 2  # of smoothing
_STEP = 1.2  # ratio of neighboring candidates
_HALVINGS = 4
_TOLERANCE = 0.06  # stability within which two candidates count as equal
_APART = 1.6  # ratio of K between two suggestions
_BEYOND = 2.0  # candidates end at this multiple of the K with the highest likelihood
_SMALLEST = 1e-12  # variance


_MEANINGS = {"coarse": "broad topics", "middle": "the best separated of the stable numbers", "fine": "narrow topics"}


@dataclass(frozen=True)
class Candidate:
    """A number of clusters, and how good it is."""

    n_clusters: int
    stability: float  # adjusted Rand index between clusterings of random halves
    separation: float  # mean silhouette
    likelihood: float = 0.0  # mean log density of the items of one half in the mixture of the other; 0: not stored


@dataclass(frozen=True)
class NClustersCurve:
    """All candidates, in increasing order of K, and the one that is used."""

    candidates: tuple[Candidate, ...]
    best: int  # index into the candidates

    @classmethod
    def of(cls, candidates: Iterable[Candidate]) -> Self:
        """Return the curve; used is the best separated candidate among the most stable ones."""
        candidates = tuple(candidates)
        highest = max(candidate.stability for candidate in candidates)
        stable = [i for i, candidate in enumerate(candidates) if candidate.stability >= highest - _TOLERANCE]
        return cls(candidates, max(stable, key=lambda i: candidates[i].separation))

    @property
    def n_clusters(self) -> int:
        """The number of clusters that is used."""
        return self.candidates[self.best].n_clusters

    @property
    def shortlist(self) -> list[Candidate]:
        """At most three suggestions in increasing order of K: one coarser, the best, and one finer."""
        best = self.candidates[self.best]
        coarser = [c for c in self.candidates if c.n_clusters * _APART <= best.n_clusters]
        finer = [c for c in self.candidates if c.n_clusters >= best.n_clusters * _APART]
        sides = [max(side, key=lambda c: c.stability) for side in (coarser, finer) if side]
        return sorted([best, *sides], key=lambda c: c.n_clusters)

    @property
    def sentences(self) -> list[str]:
        """One sentence for each suggestion, best first."""
        ranked = sorted(self.shortlist, key=lambda c: (c.n_clusters != self.n_clusters, -c.stability))
        return [self._sentence(candidate) for candidate in ranked]

    def _sentence(self, candidate: Candidate) -> str:
        k = candidate.n_clusters
        level = "coarse" if k < self.n_clusters else "fine" if k > self.n_clusters else "middle"
        used = "; used" if k == self.n_clusters else ""
        return (
            f"{k} clusters ({level}{used}), {_MEANINGS[level]}: stability {candidate.stability:.2f}, "
            f"separation {candidate.separation:.2f}."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"candidates": [asdict(candidate) for candidate in self.candidates], "best": self.best}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the curve that :meth:`as_dict` was called on."""
        return cls(tuple(Candidate(**candidate) for candidate in values["candidates"]), values["best"])


def n_clusters_range(n_clusters: int | str) -> tuple[int, int | None]:
    """Return the least and the largest number of clusters of a setting: 16, ``auto`` (no limit: None) or ``5-60``."""
    if not isinstance(n_clusters, str):
        return int(n_clusters), int(n_clusters)
    if n_clusters == "auto":
        return 2, None
    match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", n_clusters)
    lower, upper = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= lower <= upper:
        raise InputError(f"`n_clusters` (-k) is {n_clusters!r}; it must be a number (16), a range (5-60), or auto.")
    return lower, upper


def sample_rows(n: int, seed: int) -> NDArray[np.int64]:
    """Return sorted row indices of ``n`` items: all, or a random sample on which the number of clusters is chosen."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:_SAMPLE])


def choose_n_clusters(h: Vectors, *, lower: int = 2, upper: int | None = None, seed: int) -> NClustersCurve:
    """Return the curve of all scores over K for the embeddings ``h`` (N, D) of distinct items.

    K is between ``lower`` and ``upper``. Without ``upper``, clusters of mean size have at least a few items, and there
    are at most twice as many clusters as the likelihood supports.
    """
    rng = np.random.default_rng(seed)
    e = unit_rows(h)
    numbers = _numbers(lower, upper, len(e))
    if len(numbers) == 1:
        return NClustersCurve((Candidate(numbers[0], 1.0, 0.0, 0.0),), 0)
    x = compress(smooth(e, knn_graph(e, min(_N_NEIGHBORS, len(e) - 1)), rounds=_ROUNDS))
    halvings = [np.array_split(rng.permutation(len(x)), 2) for _ in range(_HALVINGS)]
    candidates: list[Candidate] = []
    with track("number of clusters", len(numbers)) as advance:
        for k in numbers:
            candidates.append(_candidate(e, x, k, halvings, seed))
            likeliest = max(candidates, key=lambda c: c.likelihood)
            if upper is None and k >= _BEYOND * likeliest.n_clusters:
                break
            advance(1)
    return NClustersCurve.of(candidates)


def _numbers(lower: int, upper: int | None, n_items: int) -> list[int]:
    """Return the candidate numbers, each about ``_STEP`` times the one before."""
    largest = n_items // 2 - 1  # halves must have more items than clusters
    wanted = min(n_items // _MIN_CLUSTER_SIZE, _MAX_CLUSTERS) if upper is None else upper
    last = max(min(wanted, largest), 1)
    if upper is not None and lower > last:
        raise InputError(
            f"Among {lower} to {upper} clusters none can be chosen: halves of at most {_SAMPLE:,} distinct items are "
            f"compared, and there are {n_items:,}. Give the number itself, or a range that begins at {last} or below."
        )
    first = min(lower, last)
    n_steps = int(np.ceil(np.log(last / first) / np.log(_STEP))) + 1
    return sorted({round(k) for k in np.geomspace(first, last, n_steps)})


def _candidate(e: Vectors, x: Vectors, k: int, halvings: list[list[NDArray[np.int64]]], seed: int) -> Candidate:
    """Return K with its scores: clusters are found in the smoothed ``x``, and the likelihood is that of ``e``."""
    stability, likelihood = [], []
    for first, second in halvings:
        by_first, by_second = (_kmeans(x[half], x, k, seed) for half in (first, second))
        stability.append(adjusted_rand_score(by_first, by_second))
        likelihood.append(held_out_likelihood(e[first], by_first[first], e[second]))
        likelihood.append(held_out_likelihood(e[second], by_second[second], e[first]))
    separation = _separation(x, _kmeans(x, x, k, seed))
    return Candidate(k, *(round(float(score), 4) for score in (np.mean(stability), separation, np.mean(likelihood))))


def held_out_likelihood(fitted: Vectors, labels: Labels, others: Vectors) -> float:
    """Return the mean log density of ``others`` (M, D) in the mixture of Gaussians of ``fitted`` (N, D)."""
    clusters, labels = np.unique(labels, return_inverse=True)
    sizes = np.bincount(labels)
    centers = np.zeros((len(clusters), fitted.shape[1]))
    np.add.at(centers, labels, fitted)
    centers /= sizes[:, None]
    dim = fitted.shape[1]
    variance = max(float(np.square(fitted - centers[labels]).sum()) / fitted.size, _SMALLEST)
    distances = (others**2).sum(axis=1)[:, None] - 2 * others @ centers.T + (centers**2).sum(axis=1)  # (M, K)
    log_joint = np.log(sizes / len(fitted)) - distances / (2 * variance)
    return float(logsumexp(log_joint, axis=1).mean() - dim / 2 * np.log(2 * np.pi * variance))


def _kmeans(x: Vectors, rows: Vectors, k: int, seed: int) -> Labels:
    """Return the labels of ``rows`` by k-means centers of ``x``."""
    with CATCHING_WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer distinct items than clusters
        fitted = KMeans(k, n_init=1, random_state=seed).fit(x)
    return np.asarray(fitted.predict(rows), dtype=np.int64)


def _separation(x: Vectors, labels: Labels) -> float:
    if not 2 <= len(np.unique(labels)) < len(labels):
        return 0.0
    return float(silhouette_score(x, labels))
