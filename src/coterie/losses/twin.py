"""The two contrasts of TCC (Shen et al., NeurIPS 2021): of clusters and of items, each against a queue of the past."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.losses.balance import imbalance, row_entropy


def set_representation(log_q: Tensor, f: Tensor) -> Tensor:
    r"""Return r_k = \sum_i q_{ik} f_i / \|\sum_i q_{ik} f_i\| (K, d), clusters as a batch f (B, d) shows them. Eq. 4.

    The weights of a cluster are made to sum to one first. That changes no direction, and a cluster that nobody in the
    batch belongs to does not underflow: it is represented by whoever is nearest.
    """
    return F.normalize(log_q.softmax(dim=0).T @ f, dim=1)


def queue_contrast(z: Tensor, positive: Tensor, queue: Tensor, same: Tensor, *, tau: float) -> Tensor:
    r"""Cross entropy of finding each row's positive (B, d) among it and the rows p_l of a queue (L, d).

    .. math::
        \ell_i = -\log \frac{\exp(\hat z_i z_i / \tau)}
                            {\exp(\hat z_i z_i / \tau) + \sum_l \exp(p_l z_i / \tau) 1(same_{il} = 0)}

    averaged over the B rows, all of length one. ``same`` (B, L) says where a row of the queue stands for the same thing
    as the row itself, and is no negative. Rows are clusters in TCC Eq. 5, whose indicator is 1(l mod K != k), and items
    in Eq. 7. log(1 + n) when all are alike and there are n negatives; 0 when there are none.
    """
    found = (z * positive).sum(dim=1, keepdim=True)  # (B, 1)
    logits = torch.cat([found, (z @ queue.T).masked_fill(same, -torch.inf)], dim=1) / tau  # (B, 1 + L)
    return F.cross_entropy(logits, torch.zeros(len(z), dtype=torch.long, device=z.device))


def kl_uniform(log_q: Tensor, *, per_item: bool) -> Tensor:
    r"""Return KL(q \| 1/K) = \log K - H(q): of each row and averaged (TCC Eq. 8), or of the mean row of the batch.

    The first is 0 where every row is undecided, the second where all clusters are equally large, however sure rows are.
    """
    return log_q.new_tensor(log_q.shape[1]).log() - row_entropy(log_q) if per_item else imbalance(log_q)
