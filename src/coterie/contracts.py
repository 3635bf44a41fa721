"""The nouns every layer shares. This module imports nothing from the package."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Vectors = NDArray[np.float32]
"""Embeddings h, shape (N, D)."""
Pixels = NDArray[np.uint8]
"""Images, shape (N, S, S, C), or one of them."""
Labels = NDArray[np.int64]
"""Cluster numbers 0..K-1, shape (N,); -1 is an item without a cluster."""
Terms = dict[str, Tensor]
"""Named, already weighted loss terms. Their sum is the loss; their names are the log keys."""
Items = Sequence[Any] | Vectors | Pixels
"""What the user wants clustered: texts, ready vectors, or images."""
Kind = Literal["texts", "vectors", "images"]
"""Which of them an encoder reads, or an augmenter changes."""
Words = Literal["corpus", "all"]
"""Which words a decoder tells apart: those of the corpus, or all that the encoder knows."""


class Prepared(Protocol):
    """Items as a network reads them: what training does not change is already done."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


@dataclass(frozen=True)
class Batch:
    """What one step sees. True labels are never here."""

    rows: Tensor  # (B,) positions in the corpus
    original: Prepared
    augmented: tuple[Prepared, ...]


@dataclass(frozen=True)
class Corpus:
    """Everything a method may learn from: each distinct item once. True labels are never here."""

    items: Items
    h: Tensor  # (N, D) clean embeddings, as the encoder sees them now
    counts: Tensor  # (N,) how often each item occurs
    labels: Tensor | None = None  # (N,) a first grouping, for methods that start from one

    def sizes(self, n_clusters: int) -> Tensor:
        """Return how many texts each group of the first grouping has (K,)."""
        return self._members(n_clusters).sum(dim=0)

    def means(self, n_clusters: int) -> Tensor:
        """Return the mean vector of each group of the first grouping (K, D)."""
        member = self._members(n_clusters)
        return ((member.T @ self.h.double()) / member.sum(dim=0)[:, None]).float()

    def _members(self, n_clusters: int) -> Tensor:
        if self.labels is None:
            raise TypeError("This corpus has no first grouping.")
        return nn.functional.one_hot(self.labels, n_clusters) * self.counts[:, None].double()  # (N, K)


class Decoder(nn.Module, ABC):
    """The way back, from a vector to what it stands for. Training needs it, a saved model does not."""

    def begin(self, items: Items) -> None:
        """See the items once, e.g. to know which words there are."""

    @abstractmethod
    def forward(self, h: Tensor, original: Any) -> Tensor:
        """Return the cost of ``original``, items as the network prepared them, told from h (B, D) alone."""


class Network(nn.Module):
    """The part of an encoder that learns. On its own it learns nothing: vectors pass as they are."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.from_scratch = False  # whether its vectors say nothing before it is trained; then the encoder's do
        self.takes = dim  # width of what an encoder gives; another one where the network ends in a layer of its own

    @property
    def where(self) -> torch.device:
        """The device that it computes on."""
        return next((weight.device for weight in self.parameters()), torch.device("cpu"))

    def prepare(self, items: Items) -> Prepared:
        """Do once what training does not change: tokenise, run the frozen layers."""
        return torch.from_numpy(np.asarray(items, dtype=np.float32))

    def forward(self, *views: Any) -> tuple[Tensor, ...]:
        """Return h (B, D) of each view; all views are encoded together."""
        return views

    def look(self, prepared: Any) -> Tensor:
        """Return clean h (N, D) of everything, without gradient or dropout."""
        return torch.as_tensor(prepared)

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D) with what was learnt, each row from its own item alone."""
        return np.asarray(items, dtype=np.float32)

    def decoder(self, n_layers: int | None = None, *, tied: bool = True, words: Words = "corpus") -> Decoder:
        """Return a fresh decoder: of so many layers, which may be the encoder's own, and telling which words apart."""
        raise TypeError(f"A {type(self).__name__} has no decoder.")


@dataclass(frozen=True)
class Stage:
    """A stretch of epochs that minimises one loss."""

    name: str
    epochs: int
    loss: Callable[[Batch], Terms]
    before: Callable[[Corpus], None] | None = None
    """Called once when the stage begins, with everything as it is embedded then."""
    before_epoch: Callable[[Corpus], None] | None = None


class Objective(nn.Module, ABC):
    """What a method adds to an encoder: what it learns, and how it assigns."""

    n_augmented: ClassVar[int] = 0
    """How many augmented views of each text a step wants."""
    scratch: ClassVar[frozenset[str]] = frozenset()
    """What only training needs, parameters, buffers or whole parts: checkpoints keep it, saved models do not."""
    together: int | None = None
    """How many rows are assigned together, taken from a fixed shuffle; None: each by itself, as promised."""

    def __init__(self, encoder: Network) -> None:
        super().__init__()
        self.encoder = encoder

    @abstractmethod
    def start(self, corpus: Corpus, seed: int | None) -> None:
        """See the corpus once, e.g. to place the centers."""

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return the training plan; empty when nothing is trained."""
        return ()

    def after_step(self) -> None:
        """Follow an optimiser step, e.g. move a momentum copy."""

    @property
    def settled(self) -> bool:
        """Whether there is nothing left to learn; asked before every epoch."""
        return False

    def finish(self, corpus: Corpus, seed: int | None) -> None:
        """See the corpus as it is embedded now, e.g. to place the centers that assign."""

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
        return np.asarray(self.in_parts(self.assign, torch.from_numpy(h), chunk).double().numpy())

    def in_parts(self, ask: Callable[[Tensor], Tensor], h: Tensor, chunk: int) -> Tensor:
        """Return what ``ask`` says of h (N, D), ``chunk`` rows at a time, or as many as are assigned ``together``."""
        rows, where = torch.arange(len(h)), self.centers.device
        if self.together:
            rows, chunk = torch.randperm(len(h), generator=torch.Generator().manual_seed(0)), self.together
        parts = [ask(h[part].to(where)).cpu() for part in torch.split(rows, chunk)]
        return torch.cat(parts)[rows.argsort()]

    def inside(self, h: Tensor) -> dict[str, Tensor]:
        """Return what there is to look at in a batch h (B, D): ``z``, what is contrasted, and what else there is."""
        return {"z": h}

    def learnt(self) -> dict[str, Tensor]:
        """Return what a copy must be given to behave the same: everything but frozen weights, which come from disk."""
        frozen = {name for name, weight in self.named_parameters() if not weight.requires_grad}
        return {name: value for name, value in self.state_dict().items() if name not in frozen}
