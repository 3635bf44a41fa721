"""k-nearest-neighbor classifier that stores its training embeddings in 8 bits."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.arrays import is_large
from coterie.fixed_height import AlignedProducts, aligned

_STORED_BLOCK = 16_384  # stored embeddings compared with the queries at once
QUERY_BLOCK = 32  # queries compared at once; always padded to this size, so that rounding does not depend on the batch
_CHUNK = 1024  # rows processed at once elsewhere
_ENTRY_POINTS = 2048  # stored embeddings from which the graph search begins
_EXTRA_CANDIDATES = 100  # candidates that the graph search keeps in addition to k, to get out of local optima
_MIN_WEIGHT = 1e-12  # of a neighbor, so that weights sum to more than zero
_SEARCH_GRAPH_FACTOR = 4  # more than 4 x 50,000 stored embeddings are searched along the graph


class KNNClassifier(nn.Module):
    """Stores N embeddings with labels and neighbors, and classifies embeddings by their k nearest stored ones.

    A stored embedding of unit length is ``mean + scale[i] * codes[i]``, with 8-bit codes. Subtracting the mean first
    leaves more of the 8 bits for the differences between embeddings. It takes about 1.2 D bytes per embedding.

    Stored embeddings are recognized by a hash, their key. The rows are sorted by key.
    """

    mean: Tensor  # (D,) mean of the unit embeddings
    codes: Tensor  # (N, D) int8
    scale: Tensor  # (N,)
    labels: Tensor  # (N,)
    neighbors: Tensor  # (N, k) rows of the nearest neighbors
    keys: Tensor  # (N,) sorted hashes

    def __init__(self, dim: int, k: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("codes", torch.zeros(0, dim, dtype=torch.int8))
        self.register_buffer("scale", torch.zeros(0))
        self.register_buffer("labels", torch.zeros(0, dtype=torch.int32))
        self.register_buffer("neighbors", torch.zeros(0, k, dtype=torch.int32))
        self.register_buffer("keys", torch.zeros(0, dtype=torch.int64))

    def __len__(self) -> int:
        return len(self.keys)

    def store(self, h: Tensor, labels: Tensor, neighbors: Tensor) -> Tensor:
        """Store embeddings h (N, D), their labels (N,) and the row indices of their nearest neighbors (N, at most k).

        If there are fewer than k neighbors, the row itself fills the gap. It has no vote on itself. Returns the order
        (N,) in which the rows are stored.
        """
        n, k = len(h), self.neighbors.shape[1]
        self.keys, order = _keys(h).sort()
        self.labels = labels.int()[order]

        new_row = torch.empty_like(order)
        new_row[order] = torch.arange(n)
        self.neighbors = torch.arange(n, dtype=torch.int32)[:, None].repeat(1, k)
        self.neighbors[:, : neighbors.shape[1]] = new_row[neighbors[order]].int()

        sums = [F.normalize(rows, dim=1).double().sum(dim=0) for rows in torch.split(h, _CHUNK)]
        self.mean = (torch.stack(sums).sum(dim=0) / n).float()
        chunks = [_quantize(F.normalize(h[rows], dim=1) - self.mean) for rows in torch.split(order, _CHUNK)]
        self.codes = torch.cat([codes for codes, _ in chunks])
        self.scale = torch.cat([scale for _, scale in chunks])
        return order

    def check(self, n_clusters: int) -> None:
        """Raise :class:`ValueError` if stored tensors do not belong together, e.g. in an altered file."""
        n = len(self)
        if not n or {len(rows) for rows in (self.codes, self.scale, self.labels, self.neighbors)} != {n}:
            raise ValueError("the stored embeddings, labels and neighbors differ in number")
        for values, end in ((self.labels, n_clusters), (self.neighbors, n)):
            if ((values < 0) | (values >= end)).any():
                raise ValueError("a stored label or neighbor is out of range")

    def predict_proba(self, h: Tensor, n_clusters: int, *, power: float = 3.0) -> Tensor:
        r"""Return q (B, K) of embeddings h (B, D): the weighted share of the k nearest stored ones in each cluster.

        .. math:: q_{ik} \propto \sum_{j \in NN(i)} \max(\cos(h_i, h_j), 0)^{power} [y_j = k]

        An embedding that is stored has no vote on itself, but its stored label always gets the largest share.
        """
        row, is_stored = self.find(h)
        neighbors, weight = self.weighted_neighbors(h, row, is_stored, power=power)
        q = torch.zeros(len(h), n_clusters, dtype=torch.float64)
        q.scatter_add_(1, self.labels[neighbors].long(), weight)
        self._keep_stored_labels(q, row, is_stored)
        return q / q.sum(dim=1, keepdim=True)

    def weighted_neighbors(self, h: Tensor, row: Tensor, is_stored: Tensor, *, power: float) -> tuple[Tensor, Tensor]:
        """Return the rows (B, k) of the nearest stored embeddings, and their weights max(cosine, 0) ** power (B, k)."""
        neighbors = self._neighbors(h, row, is_stored)
        weight = self._cosine(h, neighbors).clamp_min(0) ** power + _MIN_WEIGHT
        own_row = torch.where(is_stored, row, -1)
        weight[neighbors == own_row[:, None]] = _MIN_WEIGHT
        return neighbors, weight

    def find(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return the row (B,) in which each embedding is stored, and whether it is stored (B,)."""
        keys = _keys(h)
        row = torch.searchsorted(self.keys, keys).clamp_max(len(self) - 1)
        return row, self.keys[row] == keys

    def _neighbors(self, h: Tensor, row: Tensor, is_stored: Tensor) -> Tensor:
        """Return the rows (B, k) of the nearest stored embeddings: looked up for stored ones, searched for others."""
        k = min(self.neighbors.shape[1], len(self))
        neighbors = torch.empty(len(h), k, dtype=torch.long)
        neighbors[is_stored] = self.neighbors[row[is_stored], :k].long()
        neighbors[~is_stored] = self._search(h[~is_stored], k)
        return neighbors

    def _keep_stored_labels(self, q: Tensor, row: Tensor, is_stored: Tensor) -> None:
        """Raise q of each stored label, in place, to slightly more than the largest of its row."""
        stored = is_stored.nonzero().squeeze(1)
        label = self.labels[row[stored]].long()
        q[stored, label] = torch.maximum(q[stored, label], q[stored].amax(dim=1) * (1 + 1e-6))

    def _search(self, h: Tensor, k: int) -> Tensor:
        """Return the rows (B, k) of the nearest stored embeddings; approximate if there are very many."""
        if len(h) and is_large(len(self), factor=_SEARCH_GRAPH_FACTOR):
            return torch.stack([self._graph_search(query, k) for query in h.float()])
        return self._exact_search(h, k)

    def _graph_search(self, h: Tensor, k: int) -> Tensor:
        """Return the rows (k,) of stored embeddings near to h (D,), by a best-first search along the neighbor graph.

        It begins at evenly spaced entry points. In each step it visits the neighbors of the candidates that were added
        in the last step, and ends when none was added.
        """
        step = max(len(self) // _ENTRY_POINTS, 1)
        to_visit = torch.arange(0, len(self), step)  # rows are sorted by hash: a random sample of the embeddings
        visited = torch.zeros(len(self), dtype=torch.bool)
        best = torch.empty(0)
        candidates = torch.empty(0, dtype=torch.long)
        while len(to_visit):
            visited[to_visit] = True
            similarity = (self.codes[to_visit].float() @ h) * self.scale[to_visit]
            n_kept = min(_EXTRA_CANDIDATES + k, len(best) + len(to_visit))
            best, kept = torch.cat([best, similarity]).topk(n_kept)
            is_new = kept >= len(candidates)
            candidates = torch.cat([candidates, to_visit])[kept]
            reached = torch.from_numpy(np.unique(self.neighbors[candidates[is_new]].numpy())).long()
            to_visit = reached[~visited[reached]]
        return candidates[:k]

    def _exact_search(self, h: Tensor, k: int) -> Tensor:
        """Return the rows (B, k) of the nearest of all stored embeddings."""
        queries = aligned(F.pad(h.float(), (0, 0, 0, -len(h) % QUERY_BLOCK)))
        queries = queries.view(-1, QUERY_BLOCK, queries.shape[1])
        best = torch.full((*queries.shape[:2], k), -torch.inf)
        nearest = torch.zeros(best.shape, dtype=torch.long)
        for start in range(0, len(self), _STORED_BLOCK):
            block = slice(start, start + _STORED_BLOCK)
            stored = aligned(self.codes[block].float() * self.scale[block, None])
            for i, query in enumerate(queries):
                # Cosine up to the length of the query and its product with the mean, which do not change the order.
                similarity = query @ stored.T  # (32, block)
                found, index = similarity.topk(min(k, len(stored)), dim=1)
                best[i], kept = torch.cat([best[i], found], dim=1).topk(k, dim=1)
                nearest[i] = torch.cat([nearest[i], start + index], dim=1).gather(1, kept)
        return nearest.view(-1, k)[: len(h)]

    def _cosine(self, h: Tensor, neighbors: Tensor) -> Tensor:
        """Return the cosines (B, k) of h (B, D) with the stored rows ``neighbors`` (B, k).

        They are summed in float64 and rounded to float32, so that they do not depend on the rest of the batch.
        """
        k = neighbors.shape[1]
        centered = []
        for rows, stored in zip(torch.split(h, QUERY_BLOCK), torch.split(neighbors, QUERY_BLOCK), strict=True):
            padding = QUERY_BLOCK - len(rows)
            query = F.pad(F.normalize(rows.double(), dim=1), (0, 0, 0, padding))  # (32, D)
            codes = F.pad(self.codes[stored].double(), (0, 0, 0, 0, 0, padding))  # (32, k, D)
            with AlignedProducts():
                product = (codes @ query[:, :, None]).squeeze(2)[: len(rows)] * self.scale[stored]
                centered.append(product + (query @ self.mean.double())[: len(rows), None])
        return torch.cat([torch.empty(0, k, dtype=torch.float64), *centered]).float().double()


def _quantize(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return 8-bit codes (B, D) and scales (B,) with x (B, D) close to scale * codes."""
    scale = (x.abs().amax(dim=1) / 127).clamp_min(torch.finfo(torch.float32).tiny)
    codes = (x / scale[:, None]).round().to(torch.int8)
    return codes, scale


def _keys(h: Tensor) -> Tensor:
    """Return a 64-bit hash (B,) of each row of h (B, D): equal rows have equal hashes."""
    factors = torch.arange(1, 2 * h.shape[1], 2) * 6364136223846793005  # odd; int64 overflow wraps around everywhere
    keys = []
    for rows in torch.split(h, _CHUNK):
        bits = rows.float().contiguous().view(torch.int32).long()  # (chunk, D)
        mixed = (bits ^ (bits << 21)) * factors
        keys.append((mixed ^ (mixed >> 29)).sum(dim=1))
    return torch.cat(keys)
