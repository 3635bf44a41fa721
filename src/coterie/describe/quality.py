"""The quality of clusters at a glance, without labels: cohesion, the nearest other cluster, and stability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.arrays import row_chunks, unit_rows
from coterie.contracts import Labels, Vectors

Floats = NDArray[np.float64]

_MAX_VOTERS = 10_000  # items whose labels are voted with; more are sampled
_MAX_ITEMS = 4_000  # items that are voted on, evenly from all clusters
_MIN_ITEMS = 30  # of each cluster that are voted on
_N_DRAWS = 20  # random halves of the voters
_N_NEIGHBORS = 10  # voters that vote on an item
_N_CANDIDATES = 32  # nearest voters, about half of which are in a draw
_POWER = 3.0  # exponent of the cosine in the weight of a vote


@dataclass(frozen=True)
class Quality:
    """How good a cluster is. All values need no labels."""

    cohesion: float  # mean cosine of an item with the mean of its cluster
    nearest: int | None  # the other cluster with the most similar mean
    stability: float  # share of items that keep their cluster when half of the items vote on them


def cluster_quality(h: Vectors, counts: NDArray[np.int64], labels: Labels, n_clusters: int) -> list[Quality | None]:
    """Return the quality of each cluster (K); None for a cluster without items.

    ``h`` (N, D) are the embeddings of distinct items, which occur ``counts`` (N,) times and have ``labels`` (N,):
    -1 for items without a cluster.
    """
    valid = labels >= 0
    if not valid.any():  # all are below `min_confidence`
        return [None] * n_clusters
    e = unit_rows(h if valid.all() else h[valid])
    labels, weights = labels[valid], counts[valid].astype(np.float64)
    means = _means(e, labels, weights, n_clusters)
    cosine = np.empty(len(e))
    for rows in row_chunks(len(e)):
        cosine[rows] = np.einsum("ij,ij->i", e[rows], means[labels[rows]])
    size = np.bincount(labels, weights, n_clusters)
    cohesion = np.bincount(labels, weights * cosine, n_clusters) / np.maximum(size, 1)
    nearest = _nearest(means, size > 0)
    stability = _stability(e, labels, n_clusters)
    return [
        Quality(float(cohesion[k]), nearest[k], float(stability[k])) if size[k] else None for k in range(n_clusters)
    ]


def _means(e: Vectors, labels: Labels, weights: Floats, n_clusters: int) -> Vectors:
    """Return the mean direction of each cluster (K, D)."""
    total = torch.zeros(n_clusters, e.shape[1], dtype=torch.float64)
    for rows in row_chunks(len(e)):
        weighted = torch.from_numpy(e[rows]).double() * torch.from_numpy(weights[rows])[:, None]
        total.index_add_(0, torch.from_numpy(labels[rows]), weighted)
    return unit_rows(total.numpy())


def _nearest(means: Vectors, is_used: NDArray[np.bool_]) -> list[int | None]:
    """Return for each cluster the other cluster with the most similar mean; None if there is no other."""
    cosine = means @ means.T
    np.fill_diagonal(cosine, -np.inf)
    cosine[:, ~is_used] = -np.inf
    return [int(row.argmax()) if np.isfinite(row).any() else None for row in cosine]


def _stability(e: Vectors, labels: Labels, n_clusters: int) -> Floats:
    """Return for each cluster how often the nearest of a random half of all items vote for an item's own cluster."""
    rng = np.random.default_rng(0)
    voters = np.sort(rng.permutation(len(e))[:_MAX_VOTERS])
    items = _items_of_all_clusters(labels, n_clusters, rng)
    indices, weights = _nearest_voters(e, items, voters)
    votes = labels[voters][indices]  # (n, candidates)
    cell = np.arange(len(items))[:, None] * n_clusters + votes  # of the share of each item and cluster
    kept = np.zeros(len(items))
    for _ in range(_N_DRAWS):
        in_draw = rng.random(len(voters)) < 0.5
        takes_part = in_draw[indices]
        takes_part &= takes_part.cumsum(axis=1) <= _N_NEIGHBORS
        share = np.bincount(cell.ravel(), (weights * takes_part).ravel(), len(items) * n_clusters)
        share = share.reshape(len(items), n_clusters)
        kept += (share.argmax(axis=1) == labels[items]) & (share.max(axis=1) > 0)
    total = np.bincount(labels[items], kept / _N_DRAWS, n_clusters)
    return np.asarray(total / np.maximum(np.bincount(labels[items], minlength=n_clusters), 1))


def _items_of_all_clusters(labels: Labels, n_clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a sample of items with about as many items of each cluster."""
    most = max(_MIN_ITEMS, _MAX_ITEMS // n_clusters)
    order = rng.permutation(len(labels))
    chosen = [order[labels[order] == k][:most] for k in range(n_clusters)]
    return np.sort(np.concatenate(chosen))


def _nearest_voters(
    e: Vectors, items: NDArray[np.int64], voters: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the nearest voters of each item (n, candidates), nearest first, and the weight of their votes."""
    n_candidates = min(_N_CANDIDATES, len(voters))
    base = torch.from_numpy(e[voters])
    similarities, indices = [], []
    for start in range(0, len(items), 1024):
        block = items[start : start + 1024]
        cosine = torch.from_numpy(e[block]) @ base.T
        cosine[torch.from_numpy(block)[:, None] == torch.from_numpy(voters)] = -torch.inf  # no vote on itself
        found = cosine.topk(n_candidates, dim=1)
        similarities.append(found.values)
        indices.append(found.indices)
    weights = torch.cat(similarities).clamp_min(0).pow(_POWER)
    return torch.cat(indices).numpy(), weights.numpy()
