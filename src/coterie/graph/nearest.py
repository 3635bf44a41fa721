"""The nearest rows by cosine: exactly, a block at a time, or of very many rows nearly."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from coterie.contracts import Vectors
from coterie.graph.descent import can_descend, descend
from coterie.graph.sample import is_large
from coterie.progress import track

_BLOCK = 1024  # rows whose similarities to all others are held at once


class SlowWarning(UserWarning):
    """It works, but a package that is not installed would do it much faster."""


class Links(NamedTuple):
    """The k nearest of each row, nearest first, and their cosines: both (N, k)."""

    rows: NDArray[np.int64]
    cosine: NDArray[np.float32]

    def first(self, k: int) -> Links:
        """Return the ``k`` nearest only."""
        return Links(self.rows[:, :k], self.cosine[:, :k])

    def mutual(self) -> NDArray[np.int64]:
        """Return the nearest (N, k), with the row itself in place of those that do not have it among their nearest."""
        own = np.arange(len(self.rows))[:, None]
        returned = (self.rows[self.rows] == own[:, :, None]).any(axis=2)  # (N, k)
        return np.where(returned, self.rows, own)

    def weights(self, power: float) -> csr_matrix:
        """Return the graph (N, N) with weight cosine ** power; what points away counts nothing."""
        n, k = self.rows.shape
        weight = np.clip(self.cosine, 0, None).ravel() ** power
        return csr_matrix((weight, self.rows.ravel(), np.arange(n + 1) * k), shape=(n, n))


def nearest(x: Vectors, k: int) -> Links:
    """Return the ``k`` other rows nearest to each row of ``x`` (N, D), whose rows have length one.

    Of more than 50,000 rows nearly all of the nearest are found, where the extra ``scale`` is installed.
    """
    k = min(k, len(x) - 1)
    if not is_large(len(x)):
        return _compare_all(x, k)
    if can_descend():
        return Links(*descend(x, k))
    warnings.warn(
        f"All {len(x):,} texts are compared with all others, which takes long. "
        "Much faster, and nearly the same: pip install 'coterie[scale]'",
        SlowWarning,
        stacklevel=2,
    )
    return _compare_all(x, k)


def _compare_all(x: Vectors, k: int) -> Links:
    base = torch.from_numpy(x)
    index, cosine = torch.empty((len(x), k), dtype=torch.long), torch.empty((len(x), k))
    with track("Finding neighbours", len(x)) as advance:
        for start in range(0, len(x), _BLOCK):
            block = slice(start, start + _BLOCK)
            similarity = base[block] @ base.T  # (block, N)
            own = torch.arange(len(similarity))
            similarity[own, start + own] = -torch.inf
            cosine[block], index[block] = similarity.topk(k, dim=1)
            advance(len(own))
    return Links(index.numpy(), cosine.numpy())
