"""A trainable layer above fixed embeddings: TF-IDF, word vectors, the user's own vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from coterie.contracts import Decoder, Items, Network, OutputVocabulary, Prepared, Vectors
from coterie.fixed_height import in_fixed_chunks
from coterie.losses.reconstruction import squared_error

_WIDTH = 256  # of the bottleneck
_HEIGHT = 512  # rows of every matrix product at inference


class LinearNetwork(Network):
    r"""h = x + W_2 W_1 dropout(x), initialized to h = x because W_2 is zero."""

    def __init__(self, dim: int, embed: Callable[[Items], Vectors], *, dropout: float = 0.1) -> None:
        super().__init__(dim)
        width = min(dim, _WIDTH)
        self.inward, self.outward = nn.Linear(dim, width, bias=False), nn.Linear(width, dim, bias=False)
        nn.init.orthogonal_(self.inward.weight)
        nn.init.zeros_(self.outward.weight)
        self.dropout = nn.Dropout(dropout)
        self._embed = embed

    def prepare(self, items: Items) -> Tensor:
        """Return the fixed embeddings x (N, D)."""
        return torch.from_numpy(self._embed(items))

    def forward(self, *views: Tensor) -> tuple[Tensor, ...]:
        """Return h (B, D) of each view."""
        x = torch.cat(views)
        return torch.split(self._residual(x), [len(view) for view in views])

    def _residual(self, x: Tensor) -> Tensor:
        change: Tensor = self.outward(self.inward(self.dropout(x)))
        return x + change

    @torch.no_grad()
    def encode(self, prepared: Tensor) -> Tensor:
        """Return h (N, D) without dropout."""
        was_training = self.training
        self.eval()
        h = in_fixed_chunks(self._residual, prepared, _HEIGHT)
        self.train(was_training)
        return h

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D)."""
        return np.asarray(self.encode(self.prepare(items)).numpy())

    def embed_corpus(self, items: Items, prepared: Prepared, encoded: Vectors | None = None) -> Vectors:
        """Return h (N, D) of the training items; their fixed embeddings are not computed again."""
        return np.asarray(self.encode(torch.as_tensor(prepared)).numpy())

    def decoder(
        self, n_layers: int | None = None, *, tied: bool = True, vocabulary: OutputVocabulary = "corpus"
    ) -> Decoder:
        """Return a linear decoder of x from h; it has no layers or vocabulary to choose."""
        return VectorDecoder(self.dim)


class VectorDecoder(Decoder):
    """Reconstructs the fixed embedding: x = W h, initialized to the identity."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.back = nn.Linear(dim, dim)
        nn.init.eye_(self.back.weight)
        nn.init.zeros_(self.back.bias)

    def forward(self, h: Tensor, original: Prepared) -> Tensor:
        """Return the squared error of the reconstruction of x (B, D) from h (B, D)."""
        return squared_error(self.back(h), torch.as_tensor(original))
