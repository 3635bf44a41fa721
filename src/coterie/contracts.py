"""The nouns every layer shares. This module imports nothing from the package."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Vectors = NDArray[np.float32]
"""Embeddings h, shape (N, D)."""
Labels = NDArray[np.int64]
"""Cluster numbers 0..K-1, shape (N,); -1 is a text without a cluster."""


@dataclass(frozen=True)
class Corpus:
    """Everything a method may learn from: each distinct item once. True labels are never here."""

    items: Sequence[Any] | Vectors
    h: Tensor  # (N, D) clean embeddings
    counts: Tensor  # (N,) how often each item occurs


class Objective(nn.Module, ABC):
    """What a method adds to an encoder: what it learns, and how it assigns."""

    @abstractmethod
    def start(self, corpus: Corpus, seed: int | None) -> None:
        """See the corpus once, e.g. to place the centers."""

    @property
    @abstractmethod
    def centers(self) -> Tensor:
        """Cluster centers (K, D)."""

    @abstractmethod
    def assign(self, h: Tensor) -> Tensor:
        """Return soft assignments q (B, K) whose rows sum to one, each row from its own h alone."""

    @torch.inference_mode()
    def assign_all(self, h: Vectors, *, chunk: int = 8192) -> NDArray[np.float64]:
        """Return q for many rows without holding more than ``chunk`` at a time in flight."""
        parts = [self.assign(part).numpy() for part in torch.split(torch.from_numpy(h), chunk)]
        return np.concatenate(parts).astype(np.float64)
