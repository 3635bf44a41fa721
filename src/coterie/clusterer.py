"""The scikit-learn face that every method shares."""

from __future__ import annotations

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data
from torch import Tensor

from coterie.contracts import Corpus, Items, Labels, Network, Objective, Vectors
from coterie.data.rows import OnEmpty, Rows
from coterie.data.texts import BlankTextWarning as BlankTextWarning
from coterie.encoders.encoder import Encoder, kind_of, make_encoder
from coterie.encoders.precomputed import PrecomputedEncoder
from coterie.errors import InputError, NotFittedError
from coterie.hyper import check_settings, hyper
from coterie.progress import bars
from coterie.registry import Registry


@dataclass_transform(kw_only_default=True, eq_default=False)
@dataclass(kw_only=True, eq=False, repr=False)
class Clusterer(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, BaseEstimator, ABC):
    """Groups short texts or images, and files new ones in the same groups.

    After ``fit``: ``labels_`` (N,) with -1 for blank texts and unreadable images, ``confidence_`` (N,),
    ``cluster_centers_`` (K, D), ``encoder_`` and ``objective_``.
    """

    name: ClassVar[str]

    n_clusters: int = hyper(8, "number of clusters, exactly honoured", symbol="K", ge=1)
    encoder: str | Encoder = hyper("bundled", "what turns items into vectors: a name, name:value, or an encoder")
    on_empty: OnEmpty = hyper("keep", "blank texts: keep them without a cluster, or refuse")
    random_state: int | np.random.RandomState | None = hyper(0, "seed of every random choice", ge=0, lt=2**32)
    verbose: bool = hyper(False, "show progress on stderr when it is a terminal")

    def __init_subclass__(cls, *, name: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        if name:  # without a name it is a stem that several methods share
            cls.name = name
            METHODS.register(name, cls)

    @abstractmethod
    def build_objective(self, encoder: Network) -> Objective:
        """Return a fresh objective above ``encoder``, whose vectors have the width ``encoder.dim``."""

    def fit(self, X: Any, y: Any = None, *, column: str | None = None) -> Self:  # noqa: N803
        """Find the clusters of ``X``: texts, vectors (``encoder="precomputed"``) or images (``encoder="image"``).

        ``y`` is ignored: labels never reach training. ``column`` names the texts, or files, of a data frame.
        """
        return self._fit(X, column)

    def fit_predict(self, X: Any, y: Any = None, *, column: str | None = None) -> Labels:  # noqa: N803
        """Fit and return ``labels_``."""
        return self.fit(X, y, column=column).labels_

    def predict_proba(self, X: Any, *, column: str | None = None) -> NDArray[np.float64]:  # noqa: N803
        """Return soft assignments (N, K): rows sum to one, blank texts are NaN."""
        items, h = self._embed(X, column)
        q = self.objective_.assign_all(h)
        return items.spread(q, np.nan) if isinstance(items, Rows) else q

    def predict(self, X: Any, *, column: str | None = None) -> Labels:  # noqa: N803
        """Return the most probable cluster of each text; -1 for blank ones."""
        return self.assign(X, column=column)[0]

    def assign(self, X: Any, *, column: str | None = None) -> tuple[Labels, NDArray[np.float64]]:  # noqa: N803
        """Return the cluster of each text and how sure that is; -1 and NaN for blank ones."""
        items, h = self._embed(X, column)
        return _decide(items, self.objective_, h)

    def transform(self, X: Any, *, column: str | None = None) -> Vectors:  # noqa: N803
        """Return the vectors h (N, D) in which the clusters live; blank texts are NaN."""
        items, h = self._embed(X, column)
        return items.spread(h, np.nan).astype(np.float32) if isinstance(items, Rows) else h

    @property
    def cluster_centers_(self) -> Vectors:
        """Centers (K, D)."""
        return np.asarray(self._fitted().centers.detach().cpu().numpy())

    def save(self, folder: str | Path) -> None:
        """Write the model to ``folder``, whole or not at all; see :func:`coterie.load`."""
        from coterie.artifact import save

        save(self, Path(folder))

    # -- inside ------------------------------------------------------------------------------------------

    def _fit(self, X: Any, column: str | None, **options: Any) -> Self:  # noqa: N803
        check_settings(self)
        with self._progress():
            encoder = make_encoder(self.encoder)
            items = self._check(X, column, encoder, reset=True)
            distinct = items.unique if isinstance(items, Rows) else items
            if self.n_clusters > len(distinct):
                raise InputError(_too_few(self.n_clusters, len(distinct), items))
            objective, h = self._learn(encoder, items, **options)
        self.encoder_, self.objective_ = encoder, objective.eval()
        self.n_texts_, self.texts_sha256_ = summary(items)
        self.labels_, self.confidence_ = _decide(items, objective, h)
        return self

    def _learn(self, encoder: Encoder, items: Rows[Any] | Vectors) -> tuple[Objective, Vectors]:
        """Return a fitted objective and the vectors (N, D) of the distinct items as it sees them."""
        distinct, counts = distinct_items(items)
        h = self._vectors(items, encoder.fit(items.unique) if isinstance(items, Rows) else encoder)
        objective = self._objective(Network(h.shape[1]))
        objective.start(Corpus(distinct, torch.from_numpy(h), counts), self._seed())
        return objective, h

    def _objective(self, encoder: Network) -> Objective:
        """Return a fresh objective with settings of its own, so that a later ``set_params`` does not reach it."""
        settings: Self = clone(self)
        return settings.build_objective(encoder)

    def _network(self, encoder: Encoder, dim: int) -> Network:
        """Return the network that an objective is built above when a saved model is loaded."""
        return Network(dim)

    def _saved_params(self) -> dict[str, Any]:
        """Return the settings that a saved model keeps, as plain values; the encoder is kept apart."""
        params: dict[str, Any] = self.get_params(deep=False)
        del params["encoder"]
        if isinstance(params["random_state"], np.random.RandomState):  # a generator has no name
            params["random_state"] = None
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}

    def _notes(self) -> dict[str, Any]:
        """Return what else a saved model remembers, as plain values."""
        return {}

    def _recall(self, notes: dict[str, Any]) -> None:
        """Take back what :meth:`_notes` returned."""

    def _fitted(self) -> Objective:
        if not hasattr(self, "objective_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet. Call 'fit' with texts before using it."
            )
        return self.objective_

    def _embed(self, X: Any, column: str | None) -> tuple[Rows[Any] | Vectors, Vectors]:  # noqa: N803
        self._fitted()
        with self._progress():
            items = self._check(X, column, self.encoder_, reset=False)
            return items, self._vectors(items, self.encoder_)

    def _check(self, X: Any, column: str | None, encoder: Encoder, *, reset: bool) -> Rows[Any] | Vectors:  # noqa: N803
        if isinstance(encoder, PrecomputedEncoder):
            return self._check_vectors(X, reset=reset)
        items = encoder.check(X, column, on_empty=self.on_empty)
        if items.n_blank:
            warnings.warn(items.complaint, items.warning, stacklevel=4)
        return items

    def _check_vectors(self, X: Any, *, reset: bool) -> Vectors:  # noqa: N803
        try:
            h = validate_data(self, X, reset=reset, dtype=np.float32)
            return np.require(h, requirements=["C", "W"])  # torch takes neither reversed nor read-only arrays
        except ValueError as error:
            hint = "encoder='precomputed' takes vectors, rows of numbers; on the command line --vectors names them"
            raise InputError(f"{error} ({hint}.)") from None

    def _vectors(self, items: Rows[Any] | Vectors, encoder: Encoder) -> Vectors:
        return encoder.embed(items.unique) if isinstance(items, Rows) else items

    def _seed(self) -> int | None:
        """Return one whole number that decides everything."""
        if self.random_state is None or isinstance(self.random_state, Integral):
            return None if self.random_state is None else int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    @contextmanager
    def _progress(self) -> Iterator[None]:
        if self.verbose:
            with bars():
                yield
        else:
            yield

    @property
    def _n_features_out(self) -> int:
        return int(self._fitted().centers.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kind = kind_of(self.encoder)
        tags.input_tags.string = tags.input_tags.one_d_array = kind != "vectors"  # texts, or names of files
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = kind == "vectors", kind == "images"
        return tags


_PART = 65_536  # rows that are decided at once
METHODS: Registry[Clusterer] = Registry("method", "coterie.methods")


def _decide(items: Rows[Any] | Vectors, objective: Objective, h: Vectors) -> tuple[Labels, NDArray[np.float64]]:
    labels, confidence = np.empty(len(h), dtype=np.int64), np.empty(len(h))
    part = _PART if objective.together is None else max(len(h), 1)
    for start in range(0, len(h), part):  # q of a million rows and hundreds of clusters would take gigabytes
        rows = slice(start, start + part)
        q = objective.assign_all(h[rows])
        labels[rows], confidence[rows] = q.argmax(axis=1), q.max(axis=1)
    if not isinstance(items, Rows):
        return labels, confidence
    return items.spread(labels, -1), items.spread(confidence, np.nan)


def summary(items: Rows[Any] | Vectors) -> tuple[int, str]:
    """Return how many rows there were, and a hash that tells whether two trainings saw the same ones."""
    if not isinstance(items, Rows):
        return len(items), hashlib.sha256(np.ascontiguousarray(items).reshape(-1).data).hexdigest()
    return items.n_rows, items.sha256()


def distinct_items(items: Rows[Any] | Vectors) -> tuple[Items, Tensor]:
    """Return each item once, and how often it occurs (N,)."""
    if isinstance(items, Rows):
        return items.unique, torch.from_numpy(items.counts)
    return items, torch.ones(len(items), dtype=torch.long)


def _too_few(n_clusters: int, n_items: int, items: Rows[Any] | Vectors) -> str:
    if not isinstance(items, Rows):
        return f"n_clusters={n_clusters} is more than n_samples={n_items}. Ask for fewer clusters."
    rows = f" (of {items.n_rows} rows, {items.n_blank} of them blank)" if items.n_rows != n_items else ""
    return (
        f"{n_clusters} clusters need at least {n_clusters} distinct {items.noun}, but there are {n_items}{rows}. "
        f"Ask for fewer clusters or give more {items.noun}."
    )
