"""UMAP above another encoder: a few dimensions that keep the nearest neighbors (McInnes et al., arXiv:1802.03426)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import torch

from coterie.arrays import unit_rows
from coterie.contracts import Items, Vectors
from coterie.encoders.encoder import Encoder, EncoderState, make_encoder
from coterie.errors import CATCHING_WARNINGS, InputError, MissingExtraError, NotFittedError
from coterie.hyper import hyper
from coterie.knn.classifier import KNNClassifier
from coterie.knn.graph import KNNGraph, knn_graph

_POWER = 10.0  # exponent of the cosine in the weight of a training text for the place of a new one
_CHUNK = 4096  # new texts that are placed at once


class UmapEncoder(Encoder, name="umap"):
    """UMAP coordinates of the embeddings of another encoder, lifted to the unit sphere; for any method.

    A new text is placed at the weighted mean of its nearest training texts, where UMAP itself would begin to move it.
    So its place depends on nothing else, and a saved model needs no UMAP. The lift adds one dimension: the coordinates
    and a constant as large as their root mean square, scaled to length one. Cosines then follow the distances.
    """

    main_setting = "inner"

    inner: str = hyper("bundled", "the encoder whose embeddings are reduced: a name, name:value or name(setting=value)")
    n_components: int = hyper(5, "dimensions of the coordinates", symbol="d", ge=1)
    n_neighbors: int = hyper(
        15, "nearest neighbors that are kept together, and that place a new text", symbol="k", ge=2
    )
    min_dist: float = hyper(
        0.0, "least distance of neighbors; 0 for clusters that are as dense as possible", ge=0, le=1
    )
    seed: int = hyper(0, "seed of UMAP", ge=0, lt=2**32)

    def __post_init__(self) -> None:
        self._encoder = make_encoder(self.inner)
        if self._encoder.input_type != "texts":
            raise InputError(f"The encoder {self._encoder.name!r} reads {self._encoder.input_type}; umap needs texts.")

    def reading_problems(self, items: Items) -> list[str]:
        """Return those of the encoder."""
        return self._encoder.reading_problems(items)

    def fit(self, items: Items) -> Self:
        """Embed the training texts, and compute their coordinates."""
        h = torch.from_numpy(self._encoder.fit(items).embed_corpus(items))
        k = min(self.n_neighbors, len(h) - 1)
        if k < 2:
            raise InputError(f"The encoder 'umap' needs at least 3 different texts, but there are {len(h)}.")
        graph = knn_graph(unit_rows(h.numpy()), k)
        places = lift(reduce_dimensions(h.numpy(), self.n_components, graph.first(k - 1), self.min_dist, self.seed))
        self._memory = KNNClassifier(h.shape[1], self.n_neighbors)
        order = self._memory.store(h, torch.zeros(len(h), dtype=torch.long), torch.from_numpy(graph.indices))
        self._places = torch.from_numpy(places)[order]  # (N, d + 1)
        self._training = items, places  # the next call of `embed` is usually with the same items
        return self

    @property
    def dim(self) -> int:
        """The number of coordinates, and one."""
        return self.n_components + 1

    @property
    def below(self) -> Encoder:
        """The encoder whose embeddings are reduced."""
        return self._encoder.below

    @property
    def is_slow(self) -> bool:
        """Whether the encoder below is; its embeddings are cached, the coordinates are not."""
        return False

    def embed(self, items: Items) -> Vectors:
        """Return h (N, d + 1) in rows of length one; training texts have the place that UMAP gave them."""
        if not hasattr(self, "_memory"):
            raise NotFittedError("The encoder 'umap' has no coordinates yet. Call fit first.")
        if getattr(self, "_training", (None,))[0] is items:
            return np.asarray(self.__dict__.pop("_training")[1])
        h = torch.from_numpy(self._encoder.embed(items))
        return np.concatenate([self._place(part) for part in torch.split(h, _CHUNK)])

    def _place(self, h: torch.Tensor) -> Vectors:
        """Return the places (B, d + 1) of embeddings h (B, D)."""
        row, is_stored = self._memory.find(h)
        neighbors, weight = self._memory.weighted_neighbors(h, row, is_stored, power=_POWER)
        mean = (self._places[neighbors].double() * weight[:, :, None]).sum(dim=1)
        place = torch.nn.functional.normalize(mean, dim=1).float()
        place[is_stored] = self._places[row[is_stored]]
        return np.asarray(place.numpy())

    def state(self) -> EncoderState:
        """Return the places, the stored embeddings, and the state of the encoder below."""
        if not hasattr(self, "_memory"):
            return EncoderState()
        inner = self._encoder.state()
        own = {name: value.numpy() for name, value in self._memory.named_buffers()}
        tensors = {"places": self._places.numpy()} | {f"memory.{name}": value for name, value in own.items()}
        return EncoderState(
            tensors | {f"inner.{name}": value for name, value in inner.tensors.items()},
            {f"inner.{name}": value for name, value in inner.words.items()},
        )

    def restore(self, state: EncoderState) -> None:
        """Load all three."""
        self._encoder.restore(EncoderState(_below(state.tensors, "inner."), _below(state.words, "inner.")))
        self._places = torch.from_numpy(state.tensors["places"])
        tensors = _below(state.tensors, "memory.")
        self._memory = KNNClassifier(len(tensors["mean"]), tensors["neighbors"].shape[1])
        if tensors.keys() != dict(self._memory.named_buffers()).keys():
            raise InputError("The state of the encoder 'umap' has other tensors than it stores.")
        for name, value in tensors.items():
            setattr(self._memory, name, torch.from_numpy(value))
        self._memory.check(1)
        if self._places.shape != (len(tensors["neighbors"]), self.dim):
            raise InputError(f"The places of the encoder 'umap' have the shape {tuple(self._places.shape)}.")

    def fingerprint(self) -> str:
        """Return the hash of the weights of the encoder below."""
        return self._encoder.fingerprint()

    def outside_sources(self) -> list[str]:
        """Return those of the encoder below."""
        return self._encoder.outside_sources()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the coordinates of the training texts, which are stored anyway, out of a pickle."""
        return {name: value for name, value in self.__dict__.items() if name != "_training"}


def reduce_dimensions(h: Vectors, n_components: int, graph: KNNGraph, min_dist: float, seed: int) -> Vectors:
    """Return the UMAP coordinates (N, d) of h (N, D) with the neighbors of ``graph``.

    UMAP's own search of neighbors, which needs not be repeated, would compile for twenty seconds more.
    """
    own = np.arange(len(h))[:, None]  # UMAP counts a text as its own first neighbor
    indices = np.hstack([own, graph.indices])
    distances = np.hstack([np.zeros(own.shape, np.float32), np.clip(1 - graph.similarities, 0, None)])
    with CATCHING_WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of umap: no TensorFlow, a graph in several pieces, no `transform`
        try:
            from umap import UMAP
        except ImportError:
            raise MissingExtraError("The encoder 'umap'", "umap") from None
        model = UMAP(
            n_components=n_components,
            n_neighbors=indices.shape[1],
            precomputed_knn=(indices, distances),
            min_dist=min_dist,
            metric="cosine",
            init="spectral" if len(h) > n_components + 1 else "random",
            random_state=seed,
            n_jobs=1,  # what a seed needs
        )
        return np.asarray(model.fit_transform(h), dtype=np.float32)


def lift(x: Vectors) -> Vectors:
    """Return centered x (N, d) with a constant beside it, in rows of length one (N, d + 1)."""
    x = x - x.mean(axis=0)
    constant = np.sqrt(np.square(x).sum(axis=1).mean()) or 1.0
    lifted = np.hstack([x, np.full((len(x), 1), constant, dtype=np.float32)])
    return np.asarray(lifted / np.linalg.norm(lifted, axis=1, keepdims=True), dtype=np.float32)


def _below(values: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
