"""Give new groups the numbers of the old ones."""

from __future__ import annotations

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor


def renumbered(groups: Tensor, old: Tensor, counts: Tensor, n_clusters: int) -> Tensor:
    """Return ``groups`` (N,) with the numbers under which they agree most with ``old`` (N,): Hungarian matching.

    A clustering numbers its groups anew each time, but a head has learnt the numbers of the last. ``counts`` (N,) says
    how often each row counts.
    """
    table = torch.zeros(n_clusters, n_clusters, dtype=torch.float64)
    table.index_put_((groups, old), counts.double(), accumulate=True)
    _, number = linear_sum_assignment(table.numpy(), maximize=True)
    return torch.from_numpy(number)[groups]
