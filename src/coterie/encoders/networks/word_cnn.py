"""A dynamic convolutional network above fixed word vectors (Kalchbrenner et al., ACL 2014), trained from scratch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Items, Network, Vectors
from coterie.fixed_height import in_fixed_chunks

_HEIGHT = 128  # texts per chunk at inference
_WINDOW = 3  # words of a convolution
_MAPS = (12, 8)  # feature maps of the two layers
_TOP = 5  # values that are kept of each feature in the end


class WordCNNNetwork(Network):
    """Two layers of wide convolution over the words, folding and k-max pooling; h are the values that are left.

    Each coordinate of the word vectors has filters of its own. Folding adds neighboring coordinates, and k-max pooling
    keeps the k largest values in their order: half of the words after the first layer, five after the second.
    """

    def __init__(
        self, word_ids: Callable[[Items], Tensor], vectors: Tensor, *, max_length: int, dropout: float
    ) -> None:
        rows = -(-vectors.shape[1] // 4)  # what two foldings leave of the coordinates
        super().__init__(rows * _MAPS[1] * _TOP)
        self.from_scratch = True
        self.max_length = max(max_length, _TOP)
        self._word_ids, self._vectors = word_ids, vectors  # not a buffer: the encoder has them
        self.dropout = nn.Dropout(dropout)
        self.first = _Layer(4 * rows, 1, _MAPS[0])
        self.second = _Layer(2 * rows, _MAPS[0], _MAPS[1])

    def prepare(self, items: Items) -> Tensor:
        """Return the ids of the known words (N, T) of each text; -1 after its end."""
        return self._word_ids(items)

    def forward(self, *views: Tensor) -> tuple[Tensor, ...]:
        """Return h (B, D) of each view."""
        return torch.split(self._features(torch.cat(views)), [len(view) for view in views])

    def _features(self, ids: Tensor) -> Tensor:
        """Return h (B, D) of word ids (B, T)."""
        n_words = (ids >= 0).sum(dim=1)  # (B,)
        x = self._vectors[ids.clamp_min(0).long()] * (ids >= 0)[..., None]  # (B, T, d)
        x = F.pad(self.dropout(x), (0, -x.shape[2] % 4)).mT  # (B, d, T)
        x = F.pad(x, (0, self.max_length - x.shape[2])).to(self.device)
        n_words = n_words.clamp_min(_TOP).to(self.device)
        half = ((n_words + 1) // 2).clamp_min(_TOP)
        x = self.first(x, n_words, half, max((self.max_length + 1) // 2, _TOP))
        x = self.second(x, half, torch.full_like(half, _TOP), _TOP)
        h: Tensor = x.flatten(1)
        return h

    @torch.no_grad()
    def encode(self, prepared: Tensor) -> Tensor:
        """Return h (N, D) without dropout."""
        was_training = self.training
        self.eval()
        h = in_fixed_chunks(self._features, prepared, _HEIGHT)
        self.train(was_training)
        return h

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D)."""
        return np.asarray(self.encode(self.prepare(items)).numpy())


class _Layer(nn.Module):
    """A wide convolution of each row by itself, folding, k-max pooling and tanh."""

    def __init__(self, n_rows: int, n_maps: int, n_maps_after: int) -> None:
        super().__init__()
        self.n_rows = n_rows
        self.conv = nn.Conv1d(
            n_rows * n_maps, n_rows * n_maps_after, _WINDOW, padding=_WINDOW - 1, groups=n_rows, bias=False
        )
        self.bias = nn.Parameter(torch.zeros(n_rows // 2 * n_maps_after, 1))

    def forward(self, x: Tensor, n_words: Tensor, k: Tensor, width: int) -> Tensor:
        """Return (B, C', width) of x (B, C, T), of which the first ``n_words`` (B,) count and ``k`` (B,) are kept."""
        x = self.conv(x)  # (B, C, T + 2)
        x = x.view(len(x), self.n_rows // 2, 2, -1, x.shape[2]).sum(dim=2).flatten(1, 2)  # folding
        places = torch.arange(x.shape[2], device=x.device)
        x = x.masked_fill(places >= (n_words + _WINDOW - 1)[:, None, None], -torch.inf)
        kept = (torch.arange(width, device=x.device) < k[:, None])[:, None]  # (B, 1, width)
        return torch.where(kept, (k_max(x, kept, width) + self.bias).tanh(), 0.0)


def k_max(x: Tensor, kept: Tensor, width: int) -> Tensor:
    """Return the largest values (B, C, width) of x (B, C, T) in their order, zero where ``kept`` (B, 1, width) ends."""
    values, places = x.topk(width, dim=2)
    order = torch.where(kept, places, x.shape[2]).argsort(dim=2)
    return torch.where(kept, values, 0.0).gather(2, order)
