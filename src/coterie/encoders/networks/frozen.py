"""Fixed embeddings as a network: nothing is trained."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from coterie.contracts import Items, Network, Vectors


class FrozenNetwork(Network):
    """Calls ``embed``, for the training items ``embed_corpus``, and has no weights of its own."""

    def __init__(
        self, dim: int, embed: Callable[[Items], Vectors], embed_corpus: Callable[[Items], Vectors] | None = None
    ) -> None:
        super().__init__(dim)
        self._embed, self._embed_corpus = embed, embed_corpus or embed

    def prepare(self, items: Items) -> Tensor:
        """Return the embeddings h (N, D): no part of them changes in training."""
        return torch.from_numpy(self._embed_corpus(items))

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D)."""
        return self._embed(items)
