"""What was seen last: negatives for a contrast, more of them than a batch has."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Queue(nn.Module):
    """The last rows (L, d) that were pushed, and whom each stands for (L,): a cluster, or an item of the corpus.

    A ring: a push writes its own rows over the oldest and moves no other. So where every push is the K clusters in
    order and L is a multiple of K, row l is of cluster l mod K.
    """

    rows: Tensor
    owner: Tensor
    pushed: Tensor  # () how many rows there have been

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(0, dim))
        self.register_buffer("owner", torch.zeros(0, dtype=torch.long))
        self.register_buffer("pushed", torch.tensor(0))
        self.waiting: tuple[Tensor, Tensor] | None = None

    def begin(self, size: int) -> None:
        """Make room for ``size`` rows; there are none yet."""
        self.rows = self.rows.new_zeros(size, self.rows.shape[1])
        self.owner = self.owner.new_zeros(size)
        self.pushed.zero_()

    def __len__(self) -> int:
        """Return how many rows there are, not how many there could be."""
        return min(int(self.pushed), len(self.rows))

    @property
    def filled(self) -> tuple[Tensor, Tensor]:
        """The rows that have been written, and their owners; what is not filled yet is nobody's negative."""
        return self.rows[: len(self)], self.owner[: len(self)]

    def against(self, owner: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows (L, d), and where (n, L) they stand for the same thing as one of ``owner`` (n,).

        What is ``new`` (n, d) of these owners comes in later, by :meth:`take_in`: a loss still needs the old rows.
        """
        rows, owners = self.filled
        owner = owner.to(owners.device)
        self.waiting = new, owner
        return rows, owner[:, None] == owners

    def take_in(self) -> None:
        """Write what has been waiting since :meth:`against`."""
        if self.waiting:
            self.push(*self.waiting)
        self.waiting = None

    def push(self, rows: Tensor, owner: Tensor) -> None:
        """Write ``rows`` (n, d) and their owners (n,) over the oldest; of more than there is room for, the last."""
        kept, size = min(len(rows), len(self.rows)), max(len(self.rows), 1)
        end = int(self.pushed) + len(rows)
        place = torch.arange(end - kept, end, device=self.rows.device) % size
        self.rows[place] = rows[len(rows) - kept :].detach()
        self.owner[place] = owner[len(rows) - kept :].to(self.owner.device)
        self.pushed.fill_(end)


def whole_batches(n_items: int, batch_size: int, *, most: int = 16_384) -> int:
    """Return how many items a queue keeps: whole batches, of at most half of them; at least one batch, or all."""
    return min(most, n_items // 2) // batch_size * batch_size or min(batch_size, n_items)
