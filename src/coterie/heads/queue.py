"""First-in, first-out queue of negatives for contrastive losses."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Queue(nn.Module):
    """The last L rows (L, d) that were pushed, and the id (L,) of the cluster or item that each represents.

    It is a ring buffer: a push overwrites the oldest rows and moves no other row. If every push holds the K clusters
    in order and L is a multiple of K, then row l represents cluster l mod K.
    """

    rows: Tensor
    ids: Tensor
    n_pushed: Tensor  # () number of rows ever pushed

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(0, dim))
        self.register_buffer("ids", torch.zeros(0, dtype=torch.long))
        self.register_buffer("n_pushed", torch.tensor(0))
        self.pending: tuple[Tensor, Tensor] | None = None

    def reset(self, size: int) -> None:
        """Empty the queue and set its capacity to ``size`` rows."""
        self.rows = self.rows.new_zeros(size, self.rows.shape[1])
        self.ids = self.ids.new_zeros(size)
        self.n_pushed.zero_()

    def __len__(self) -> int:
        """Return the number of rows in the queue, not its capacity."""
        return min(int(self.n_pushed), len(self.rows))

    @property
    def filled(self) -> tuple[Tensor, Tensor]:
        """The rows (n, d) written so far and their ids (n,), without the empty part of the buffer."""
        return self.rows[: len(self)], self.ids[: len(self)]

    def negatives(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows (L, d), and a mask (n, L) that is True where a row has the same id as one of ``ids`` (n,)."""
        rows, row_ids = self.filled
        return rows, ids.to(row_ids.device)[:, None] == row_ids

    def push_later(self, rows: Tensor, ids: Tensor) -> None:
        """Hold ``rows`` (n, d) back until :meth:`flush`: the backward pass still needs the old rows."""
        self.pending = (rows, ids)

    def exchange(self, rows: Tensor, shown: Tensor, shown_hat: Tensor) -> tuple[Tensor, Tensor]:
        """Return negatives and mask for items ``shown`` (n,); push ``rows`` (n, d) of ``shown_hat`` (n,) later.

        A row of either item is not a negative: the two views of an item may show neighbors of it.
        """
        negatives, same = self.negatives(shown)
        same = same | self.negatives(shown_hat)[1]
        self.push_later(rows, shown_hat)
        return negatives, same

    def flush(self) -> None:
        """Push the rows of :meth:`push_later`, if any."""
        if self.pending:
            self.push(*self.pending)
        self.pending = None

    def push(self, rows: Tensor, ids: Tensor) -> None:
        """Overwrite the oldest rows with ``rows`` (n, d) and their ``ids`` (n,); if n > L, with the last L of them."""
        kept = min(len(rows), len(self.rows))
        capacity = max(len(self.rows), 1)
        end = int(self.n_pushed) + len(rows)
        positions = torch.arange(end - kept, end, device=self.rows.device) % capacity
        self.rows[positions] = rows[len(rows) - kept :].detach()
        self.ids[positions] = ids[len(rows) - kept :].to(self.ids.device)
        self.n_pushed.fill_(end)


def queue_size_for(n_items: int, batch_size: int, *, max_size: int = 16_384) -> int:
    """Return the queue size for a corpus: whole batches, at most half of the items; at least one batch or all items."""
    whole_batches = min(max_size, n_items // 2) // batch_size * batch_size
    return whole_batches or min(batch_size, n_items)
