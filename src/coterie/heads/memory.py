"""Remembered texts that answer for new ones by the vote of the nearest."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.graph.sample import is_large

_STORED = 16_384  # remembered texts that are compared at once
_ASKED = 32  # texts that ask at once; always so many, so that rounding does not depend on the company
_PART = 1024  # texts whose nearest are held at once
_DOORS = 2048  # remembered texts from which a walk among very many begins
_HELD = 100  # texts that it holds on to beside those it looks for: it may have to go away to come nearer


class Memory(nn.Module):
    """Unit vectors (N, D), their labels (N,), and who is nearest to each (N, k): about 1.2 D bytes a text.

    A vector is the mean of all (D,) and a difference in eight bits, each row with its own scale (N,): what all texts
    have in common takes no bits. A text is known again by its key (N,); the rows are in the order of the keys.
    """

    mean: Tensor
    difference: Tensor
    scale: Tensor
    labels: Tensor
    near: Tensor
    keys: Tensor

    def __init__(self, dim: int, k: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("difference", torch.zeros(0, dim, dtype=torch.int8))
        self.register_buffer("scale", torch.zeros(0))
        self.register_buffer("labels", torch.zeros(0, dtype=torch.int32))
        self.register_buffer("near", torch.zeros(0, k, dtype=torch.int32))
        self.register_buffer("keys", torch.zeros(0, dtype=torch.int64))

    def __len__(self) -> int:
        return len(self.keys)

    def remember(self, h: Tensor, labels: Tensor, near: Tensor) -> None:
        """Keep h (N, D), labels (N,) and the rows of the nearest of each (N, up to k)."""
        self.keys, order = _keys(h).sort()
        self.labels = labels.int()[order]
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        self.near = torch.arange(len(h), dtype=torch.int32)[:, None].repeat(1, self.near.shape[1])
        self.near[:, : near.shape[1]] = place[near[order]].int()  # where there are fewer, the text itself: silent
        sums = [F.normalize(rows, dim=1).double().sum(dim=0) for rows in torch.split(h, _PART)]
        self.mean = (torch.stack(sums).sum(dim=0) / len(h)).float()
        parts = [_in_bytes(F.normalize(h[rows], dim=1) - self.mean) for rows in torch.split(order, _PART)]
        self.difference, self.scale = (torch.cat(part) for part in zip(*parts, strict=True))

    def vote(self, h: Tensor, n_clusters: int, *, power: float = 3.0) -> Tensor:
        r"""Return q_{ik} \propto \sum_{j \in NN(i)} \cos(h_i, h_j)^{power} [y_j = k], shape (B, K).

        A text that is remembered itself keeps its own label, and is as sure of it as its neighbours are.
        """
        place, known = self._find(h)
        near = torch.empty(len(h), min(self.near.shape[1], len(self)), dtype=torch.long)
        near[known] = self.near[place[known], : near.shape[1]].long()
        near[~known] = self._search(h[~known], near.shape[1])
        weight = self._cosine(h, near).clamp_min(0) ** power + 1e-12  # (B, k); all alike when nothing is near
        weight[near == torch.where(known, place, -1)[:, None]] = 1e-12  # a text has no vote on itself
        q = torch.zeros(len(h), n_clusters, dtype=torch.float64)
        q.scatter_add_(1, self.labels[near].long(), weight)
        rows = known.nonzero().squeeze(1)
        own = self.labels[place[rows]].long()
        q[rows, own] = torch.maximum(q[rows, own], q[rows].amax(dim=1) * (1 + 1e-6))
        return q / q.sum(dim=1, keepdim=True)

    def _find(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return where each row (B,) is remembered, and whether it is."""
        keys = _keys(h)
        place = torch.searchsorted(self.keys, keys).clamp_max(len(self) - 1)
        return place, self.keys[place] == keys

    def _search(self, h: Tensor, k: int) -> Tensor:
        """Return the places (B, k) of the nearest remembered texts; of very many, of nearly the nearest."""
        if len(h) and is_large(len(self), times=4):
            return torch.stack([self._walk(row, k) for row in h.float()])
        return self._compare(h, k)

    def _walk(self, h: Tensor, k: int) -> Tensor:
        """Return k places near to h (D,): from the best of some texts along the links, as long as that leads nearer."""
        step = max(len(self) // _DOORS, 1)
        new = torch.arange(0, len(self), step)  # in the order of their keys, so anywhere in the space
        seen = torch.zeros(len(self), dtype=torch.bool)
        best, places = torch.empty(0), torch.empty(0, dtype=torch.long)
        while len(new):
            seen[new] = True
            similarity = (self.difference[new].float() @ h) * self.scale[new]
            best, first = torch.cat([best, similarity]).topk(min(_HELD + k, len(best) + len(new)))
            places, added = torch.cat([places, new])[first], first >= len(places)
            linked = torch.from_numpy(np.unique(self.near[places[added]].numpy())).long()
            new = linked[~seen[linked]]
        return places[:k]

    def _compare(self, h: Tensor, k: int) -> Tensor:
        """Return the places (B, k) of the nearest of all."""
        asked = F.pad(h.float(), (0, 0, 0, -len(h) % _ASKED)).view(-1, _ASKED, h.shape[1])
        best = torch.full((*asked.shape[:2], k), -torch.inf)
        near = torch.zeros(best.shape, dtype=torch.long)
        for start in range(0, len(self), _STORED):
            block = slice(start, start + _STORED)
            stored = self.difference[block].float() * self.scale[block, None]
            for i, rows in enumerate(asked):
                similarity = rows @ stored.T  # (32, block): but for the length of h and the mean, which change no order
                found, index = similarity.topk(min(k, len(stored)), dim=1)
                best[i], first = torch.cat([best[i], found], dim=1).topk(k, dim=1)
                near[i] = torch.cat([near[i], start + index], dim=1).gather(1, first)
        return near.view(-1, k)[: len(h)]

    def _cosine(self, h: Tensor, near: Tensor) -> Tensor:
        """Return the cosines (B, k) of rows and their nearest, summed in float64 and rounded: equal in any company."""
        h = F.normalize(h.double(), dim=1)
        parts = [
            (self.difference[places].double() @ rows[:, :, None]).squeeze(2) * self.scale[places]
            for rows, places in zip(torch.split(h, _PART), torch.split(near, _PART), strict=True)
        ]
        return (torch.cat(parts) + (h @ self.mean.double())[:, None]).float().double()


def _in_bytes(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return whole numbers up to 127 (B, D), and what one of them is worth in each row (B,)."""
    scale = (x.abs().amax(dim=1) / 127).clamp_min(torch.finfo(torch.float32).tiny)
    return (x / scale[:, None]).round().to(torch.int8), scale


def _keys(h: Tensor) -> Tensor:
    """Return a whole number for each row (B,): equal for equal rows, different for others but for chance (2^-64)."""
    factors = torch.arange(1, 2 * h.shape[1], 2) * 6364136223846793005  # odd, and wrapping around the same way always
    keys = []
    for rows in torch.split(h, _PART):
        bits = rows.float().contiguous().view(torch.int32).long()  # (part, D)
        mixed = (bits ^ (bits << 21)) * factors
        keys.append((mixed ^ (mixed >> 29)).sum(dim=1))
    return torch.cat(keys)
