"""One-to-one matching of two labelings of the same rows (Hungarian algorithm)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from coterie.contracts import Labels


def contingency(
    first: Labels,
    second: Labels,
    *,
    weights: NDArray[np.float64] | None = None,
    shape: tuple[int, int] | None = None,
) -> NDArray[Any]:
    """Return the table (A, B) that counts the rows with label a in ``first`` (N,) and label b in ``second`` (N,).

    ``weights`` (N,) counts row i ``weights[i]`` times. ``shape`` defaults to the largest labels plus one.
    """
    if shape is None:
        shape = (int(first.max()) + 1, int(second.max()) + 1)
    if weights is None:
        table = np.zeros(shape, dtype=np.int64)
        np.add.at(table, (first, second), 1)
        return table
    weighted = np.zeros(shape, dtype=np.float64)
    np.add.at(weighted, (first, second), weights)
    return weighted


def match(table: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and columns of the one-to-one matching with the largest sum in ``table`` (A, B).

    Both arrays have length min(A, B). Rows are in ascending order.
    """
    rows, columns = linear_sum_assignment(table, maximize=True)
    return rows, columns


def match_clusters(classes: Labels, clusters: Labels) -> dict[int, int]:
    """Return the class that each cluster is matched to. Clusters without a class are left out."""
    matched_classes, matched_clusters = match(contingency(classes, clusters))
    return dict(zip(matched_clusters.tolist(), matched_classes.tolist(), strict=True))


def match_labels(labels: Tensor, reference: Tensor, counts: Tensor, n_clusters: int) -> Tensor:
    """Return ``labels`` (N,), renumbered to agree with ``reference`` (N,) on as many rows as possible.

    ``counts`` (N,) are the weights of the rows. A clustering algorithm numbers its clusters arbitrarily. A head that
    was trained on the previous pseudo-labels needs the numbers to stay the same.
    """
    table = contingency(
        labels.numpy(), reference.numpy(), weights=counts.double().numpy(), shape=(n_clusters, n_clusters)
    )
    _, new_number = match(table)  # (K,)
    return torch.from_numpy(new_number)[labels]
