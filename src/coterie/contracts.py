"""The types that every layer shares."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from coterie.errors import InputError
from coterie.fixed_height import in_fixed_chunks
from coterie.probabilities import Calibration, Merges

Vectors = NDArray[np.float32]
"""Embeddings h, shape (N, D)."""
Pixels = NDArray[np.uint8]
"""Images, shape (N, S, S, C), or a single image (S, S, C)."""
Labels = NDArray[np.int64]
"""Cluster indices 0..K-1, shape (N,); -1 marks an item without a cluster."""
Terms = dict[str, Tensor]
"""Named, already weighted loss terms. Their sum is the loss; their names are the log keys."""
Items = Sequence[Any] | Vectors | Pixels
"""What is clustered: texts, precomputed vectors, or images."""
InputType = Literal["texts", "vectors", "images"]
"""What an encoder reads, or an augmenter changes."""
OutputVocabulary = Literal["corpus", "all"]
"""The tokens that a decoder predicts: those of the corpus, or the whole vocabulary of the encoder."""

_CHUNK = 65_536  # rows per step of a sum over all items
_TILE = 128  # rows assigned at once, always: products of other heights may round differently
_TEXTS = 8192  # items of a call of `assign_items`


class Prepared(Protocol):
    """Items as a network reads them: everything that training does not change is precomputed."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


@dataclass(frozen=True)
class Batch:
    """The input of one training step. It never holds true labels."""

    rows: Tensor  # (B,) indices into the corpus
    original: Prepared
    augmented: tuple[Prepared, ...]
    shown: tuple[Tensor, ...] = ()  # (B,) for each view: the item that it shows, which may be a neighbor


@dataclass(frozen=True)
class Corpus:
    """The training data: each distinct item once. It never holds true labels."""

    items: Items
    h: Tensor  # (N, D) embeddings without dropout, by the current weights
    counts: Tensor  # (N,) how often each item occurs
    labels: Tensor | None = None  # (N,) initial cluster labels, for methods that need them
    prepared: Prepared | None = None  # the items as the network reads them

    def sizes(self, n_clusters: int) -> Tensor:
        """Return the number of items in each initial cluster (K,), duplicates included."""
        return torch.bincount(self._known_labels(), self.counts.double(), n_clusters)

    def means(self, n_clusters: int) -> Tensor:
        """Return the mean embedding of each initial cluster (K, D)."""
        labels, weight = self._known_labels(), self.counts.double()
        total = torch.zeros(n_clusters, self.h.shape[1], dtype=torch.float64)
        for start in range(0, len(labels), _CHUNK):
            rows = slice(start, start + _CHUNK)
            total.index_add_(0, labels[rows], self.h[rows].double() * weight[rows, None])
        return (total / self.sizes(n_clusters)[:, None]).float()

    def _known_labels(self) -> Tensor:
        if self.labels is None:
            raise TypeError("This corpus has no initial labels.")
        return self.labels


class Decoder(nn.Module, ABC):
    """Reconstructs an item from its embedding. Used in training only; not part of a saved model."""

    def initialize(self, items: Items) -> None:
        """Prepare for the corpus, e.g. count its tokens."""

    @abstractmethod
    def forward(self, h: Tensor, original: Any) -> Tensor:
        """Return the reconstruction loss of ``original`` (items as the network prepared them) from h (B, D)."""


class Network(nn.Module):
    """The trainable part of an encoder. This base class trains nothing: vectors pass through unchanged."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.from_scratch = False  # True: embeddings are meaningless before training, so initial labels use the encoder

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next((weight.device for weight in self.parameters()), torch.device("cpu"))

    def encoder_parameters(self) -> Iterator[nn.Parameter]:
        """Return what learns at the rate of the encoder; layers that a method adds learn at that of the heads."""
        return self.parameters()

    def prepare(self, items: Items) -> Prepared:
        """Precompute what training does not change: tokens, the output of frozen layers."""
        return torch.from_numpy(np.asarray(items, dtype=np.float32))

    def forward(self, *views: Any) -> tuple[Tensor, ...]:
        """Return h (B, D) of each view; all views are encoded in one pass."""
        return views

    def encode(self, prepared: Any) -> Tensor:
        """Return h (N, D) of prepared items, without gradient or dropout."""
        return torch.as_tensor(prepared)

    def embed(self, items: Items) -> Vectors:
        """Return h (N, D) for inference. Each row depends on its own item only."""
        return np.asarray(items, dtype=np.float32)

    def embed_corpus(self, items: Items, prepared: Prepared, encoded: Vectors | None = None) -> Vectors:
        """Return what :meth:`embed` returns, for training items that are prepared, and perhaps ``encoded`` (N, D)."""
        return self.embed(items)

    def decoder(
        self, n_layers: int | None = None, *, tied: bool = True, vocabulary: OutputVocabulary = "corpus"
    ) -> Decoder:
        """Return a new decoder with ``n_layers`` layers, which may share the weights of the encoder (``tied``)."""
        raise InputError(
            "This method learns to reconstruct items from their embeddings, which the network of this encoder cannot. "
            "Use another encoder, such as bundled, or another method, such as refine."
        )


Hook = Callable[[Corpus, int], None]
"""Called with the corpus as it is embedded now, and the seed of the training."""


@dataclass(frozen=True)
class Stage:
    """A number of epochs that minimize one loss."""

    name: str
    epochs: int
    loss: Callable[[Batch], Terms]
    before: Hook | None = None
    """Called once, when the stage begins."""
    before_epoch: Hook | None = None
    labeled: bool = True
    """False: the labels of its epochs mean nothing yet, so the guard does not judge them."""


class Objective(nn.Module, ABC):
    """What a method adds to a network: parameters, losses, and cluster assignment."""

    n_augmented: int = 0
    """Number of augmented views of each item in a batch."""
    transient: ClassVar[frozenset[str]] = frozenset()
    """Parameters, buffers or submodules that only training needs: in checkpoints, not in saved models."""
    max_loss: float = 0.0
    """Loss of the guard's score that training may cost, times log K: the information that a label can hold."""
    assign_batch_size: int | None = None
    """Number of rows assigned as one batch, in a fixed random order; None: each row independently."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.closing: Objective | None = None
        """Assigns in place of this objective: the groups without training, or a mixture over the trained embeddings."""
        self.calibration = Calibration()  # of all that :meth:`assign_all` returns
        self.merges = Merges()  # clusters that the user merged after the fit

    @abstractmethod
    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Initialize from the corpus before training, e.g. place the cluster centers."""

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return the training plan; empty when nothing is trained."""
        return ()

    def after_step(self) -> None:
        """Run after each optimizer step, e.g. update a momentum encoder."""

    @property
    def converged(self) -> bool:
        """Whether training can stop; checked before every epoch."""
        return False

    def fit_assigner(self, corpus: Corpus, seed: int) -> None:
        """Fit what :meth:`assign` uses, e.g. the final k-means, to the corpus as it is embedded now."""

    @property
    def assigned_by(self) -> str:
        """What :meth:`assign` uses now: ``q`` of the method, its ``head``, or ``kmeans``."""
        return "q"

    @property
    @abstractmethod
    def centers(self) -> Tensor:
        """Cluster centers (K, D)."""

    @abstractmethod
    def assign(self, h: Tensor) -> Tensor:
        """Return soft assignments q (B, K). Rows sum to one, and each depends on its own h only."""

    def assign_items(self, h: Tensor, items: Items | None) -> Tensor:
        """Return q (B, K) of items with embeddings h (B, D). Methods that read the items, too, override it.

        A row depends on no other row of h, not even in its last bit.
        """
        return in_fixed_chunks(self.assign, h, _TILE)

    @torch.inference_mode()
    def assign_all(self, h: Vectors, items: Items | None = None) -> NDArray[np.float64]:
        """Return calibrated q (N, K) of h (N, D), and of the ``items`` where they are known; clusters may be merged."""
        return self.merges.apply(self.calibration.apply(self._uncalibrated(h, items)))

    def _uncalibrated(self, h: Vectors, items: Items | None) -> NDArray[np.float64]:
        if self.closing is not None:
            return self.closing.assign_all(h, items)
        if self.assign_batch_size:
            q = self.in_chunks(self.assign, torch.from_numpy(h), len(h))
            return np.asarray(q.double().numpy())
        device = self.centers.device
        parts = []
        for start in range(0, len(h), _TEXTS):
            rows = slice(start, start + _TEXTS)
            part = None if items is None else items[rows]
            parts.append(self.assign_items(torch.from_numpy(h[rows]).to(device), part).cpu())
        return np.asarray(torch.cat(parts).double().numpy())

    def in_chunks(self, function: Callable[[Tensor], Tensor], h: Tensor, chunk: int) -> Tensor:
        """Return ``function(h)`` for h (N, D), computed ``chunk`` or :attr:`assign_batch_size` rows at a time."""
        rows, device = torch.arange(len(h)), self.centers.device
        if self.assign_batch_size:
            rows = torch.randperm(len(h), generator=torch.Generator().manual_seed(0))
            chunk = self.assign_batch_size
        parts = [function(h[part].to(device)).cpu() for part in torch.split(rows, chunk)]
        return torch.cat(parts)[rows.argsort()]

    def diagnostics(self, h: Tensor) -> dict[str, Tensor]:
        """Return tensors to inspect for a batch h (B, D): ``z``, the input of the contrastive loss, and others."""
        return {"z": h}

    @property
    def final(self) -> Objective:
        """The objective that :meth:`assign_all` assigns by: :attr:`closing`, or this one."""
        return self if self.closing is None else self.closing

    def trained_state(self) -> dict[str, Tensor]:
        """Return the state dict without frozen weights, which are loaded from the pretrained encoder."""
        frozen = {name for name, weight in self.named_parameters() if not weight.requires_grad}
        return {name: value for name, value in self.state_dict().items() if name not in frozen}

    def evaluation_copy(self) -> Self:
        """Return a copy that shares all but the buffers (network, weights, settings): fitting it changes nothing here.

        The settings name the encoder, which may be a large object of the user's, or one that cannot be copied.
        """
        settings = [value for value in vars(self).values() if hasattr(value, "get_params")]
        shared = {id(part): part for part in (*self.network.modules(), *self.parameters(), *settings)}
        return copy.deepcopy(self, shared)
