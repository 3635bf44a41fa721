"""The base class of every method: scikit-learn's interface, and ``fit`` as a sequence of named steps."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone
from sklearn.utils import check_random_state

from coterie.calibration import calibrate, untrained_embeddings
from coterie.clustering.n_clusters import NClusters, n_clusters_range
from coterie.contracts import Corpus, Labels, Network, Objective, Vectors
from coterie.data.rows import OnEmpty, Rows, with_columns
from coterie.data.sample import draw_sample
from coterie.describe.cluster_table import ClusterTable
from coterie.describe.quality import cluster_quality
from coterie.editing import Editable
from coterie.encoders.encoder import Encoder, EncoderLike, input_type_of, make_encoder
from coterie.encoders.networks.frozen import FrozenNetwork
from coterie.errors import ArtifactError, InputError, NotFittedError, UnreadableTextWarning, user_level
from coterie.estimator import Estimator
from coterie.fitting import Assignment, Fit, FitOptions, embed_corpus, find_n_clusters, most_probable, row_texts
from coterie.hyper import check_settings, document_settings, hyper
from coterie.knn.mutual_information import neighbor_agreement
from coterie.notebook import NotebookMixin
from coterie.progress import has_listener, part, whole
from coterie.progress_display import show_progress
from coterie.registry import Registry
from coterie.remembered import remembering
from coterie.seeding import CONSTRUCTION, seeded


@dataclass_transform(kw_only_default=True, eq_default=False)
@dataclass(kw_only=True, eq=False, repr=False)
class Clusterer(
    Editable, NotebookMixin, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, Estimator, ABC
):
    """Clusters short texts or images, and assigns new ones to the same clusters.

    After ``fit``: ``labels_`` (N,) with -1 for blank texts and unreadable images, ``confidence_`` (N,), the second most
    probable cluster ``second_labels_`` (N,) and how much less probable it is, ``margin_`` (N,), ``cluster_centers_``
    (K, D), ``clusters_`` (the table that :meth:`describe` returns), ``encoder_`` and ``objective_``.
    """

    name: ClassVar[str]
    progress_parts: ClassVar[dict[str, float]] = {"embedding": 8, "clustering": 2}
    """The parts of a fit, and roughly their shares of its time."""
    finds_n_clusters: ClassVar[bool] = False
    """Whether the method finds the number of clusters itself: then ``n_clusters`` is not honored."""
    trains_on_sample: ClassVar[bool] = False  # whether the method is fitted to a sample of very many items

    n_clusters: NClusters = hyper(
        8, "number of clusters, exactly honored; auto or a range like 5-60: chosen from the items", symbol="K", ge=1
    )
    encoder: EncoderLike = hyper(
        "bundled", "encoder of the items: a name, name:value, name(setting=value), or object; name+name joins several"
    )
    min_confidence: float = hyper(
        0.0, "items with a smaller confidence get no cluster; 0: every item has one", ge=0, lt=1
    )
    on_empty: OnEmpty = hyper("keep", "blank texts: keep them without a cluster, or raise an error")
    random_state: int | np.random.RandomState | None = hyper(0, "seed of every random choice", ge=0, lt=2**32)
    verbose: bool = hyper(False, "show progress on stderr: a bar on a terminal or in a notebook, else lines")

    def __init_subclass__(cls, *, name: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        document_settings(cls)
        if name:  # a base class of several methods has no name
            cls.name = name
            METHODS.register(name, cls)

    # -- what a method defines -----------------------------------------------------------------------------

    @abstractmethod
    def build_objective(self, network: Network) -> Objective:
        """Return a new objective on ``network``, whose embeddings have the width ``network.dim``."""

    def build_network(self, encoder: Encoder) -> Network:
        """Return the network of the objective: here the encoder with frozen weights."""
        return encoder.frozen_network()

    # -- scikit-learn's interface --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, column: str | None = None, vectors: Any = None) -> Self:  # noqa: N803
        """Find the clusters of ``X``: texts, vectors (``encoder="precomputed"``) or images (``encoder="image"``).

        ``y`` is ignored: labels never reach training. ``column`` names the texts, or files, of a data frame.
        ``vectors`` (N, D) are embeddings of the texts by the encoder, which then does not encode them again. With
        ``encoder="precomputed"`` they may come from anywhere; the texts describe the clusters.
        """
        return self._fit(X, column, FitOptions(vectors=vectors))

    def fit_predict(self, X: Any, y: Any = None, *, column: str | None = None) -> Labels:  # noqa: N803
        """Fit and return ``labels_``."""
        return self.fit(X, y, column=column).labels_

    def predict(self, X: Any, *, column: str | None = None) -> Labels:  # noqa: N803
        """Return the most probable cluster of each item; -1 for blank texts."""
        return self.assignment(X, column=column).labels

    def predict_proba(self, X: Any, *, column: str | None = None) -> NDArray[np.float64]:  # noqa: N803
        """Return soft assignments (N, K): rows sum to one; blank texts are NaN."""
        rows, h = self._embed(X, column)
        return rows.expand(self.objective_.assign_all(h, rows.unique), np.nan)

    def assign(self, X: Any, *, column: str | None = None) -> Any:  # noqa: N803
        """Return the cluster of each item and its probability; -1 and NaN for blank texts.

        Both are arrays (N,). For a pandas or polars data frame the result is the frame with more columns: ``cluster``,
        ``confidence``, and ``second_cluster`` with ``margin``, how much less probable it is.
        """
        found = self.assignment(X, column=column)
        if not hasattr(X, "columns"):
            return found.labels, found.confidence
        return with_columns(
            X, cluster=found.labels, confidence=found.confidence, second_cluster=found.second, margin=found.margin
        )

    def assignment(self, X: Any, *, column: str | None = None) -> Assignment:  # noqa: N803
        """Return the two most probable clusters of each item, the confidence, and the margin between the two."""
        rows, h = self._embed(X, column)
        return most_probable(self.objective_, h, rows.unique).above(self.min_confidence).expand(rows)

    def score(self, X: Any, y: Any = None, *, column: str | None = None) -> float:  # noqa: N803
        """Return how well the clusters of ``X`` agree with its nearest neighbors, 0 to 1. ``y`` is ignored.

        This is the mutual information between the clusters of neighboring items, divided by their entropy. Neighbors
        are found by the encoder as it was before training, so that models that trained it differently can be compared.
        It favors few clusters: compare models with equal ``n_clusters``.
        """
        rows, h = self._embed(X, column)
        labels = most_probable(self.objective_, h, rows.unique).labels
        untrained = h if isinstance(self.objective_.network, FrozenNetwork) else self.encoder_.embed(rows.unique)
        return neighbor_agreement(untrained, labels)

    def transform(self, X: Any, *, column: str | None = None) -> Vectors:  # noqa: N803
        """Return the embeddings h (N, D); blank texts are NaN."""
        rows, h = self._embed(X, column)
        return rows.expand(h, np.nan).astype(np.float32, copy=False)

    @property
    def cluster_centers_(self) -> Vectors:
        """Centers (K, D)."""
        objective = self.fitted_objective()
        return objective.merges.centers(objective.final.centers.detach().cpu().numpy())

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the model to ``folder`` atomically; see :func:`coterie.load`.

        A folder that exists is replaced only with ``overwrite``, and only if coterie wrote it.
        """
        from coterie.artifact.model import save

        save(self, Path(folder), overwrite=overwrite)
        self.remove_checkpoint()

    def remove_checkpoint(self) -> None:
        """Delete what an interrupted training would resume from; here there is nothing."""

    # -- what a saved model stores -------------------------------------------------------------------------

    def fitted_objective(self) -> Objective:
        """Return ``objective_``, or raise :class:`NotFittedError`."""
        if not hasattr(self, "objective_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet. Call 'fit' with texts before using it."
            )
        return self.objective_

    def saved_params(self) -> dict[str, Any]:
        """Return the settings that a saved model stores, as plain values; the encoder is stored separately."""
        params: dict[str, Any] = self.get_params(deep=False)
        del params["encoder"]
        params["n_clusters"] = self.n_clusters_
        if isinstance(params["random_state"], np.random.RandomState):  # a generator cannot be stored
            params["random_state"] = None
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}

    def saved_notes(self) -> dict[str, Any]:
        """Return what else a saved model stores, as plain values."""
        return {}

    def restore_notes(self, notes: dict[str, Any]) -> None:
        """Load what :meth:`saved_notes` returned."""

    def new_objective(self, encoder: Encoder, seed: int) -> Objective:
        """Return an untrained objective on its network, initialized from ``seed``.

        It has a copy of the settings, so that a later ``set_params`` does not change it.
        """
        settings: Self = clone(self).set_params(n_clusters=self.n_clusters_)
        with CONSTRUCTION, seeded(seed):
            network = settings.build_network(encoder)
            return settings.build_objective(network).to(network.device)

    # -- fit, step by step ---------------------------------------------------------------------------------

    def _fit(self, X: Any, column: str | None, options: FitOptions) -> Self:  # noqa: N803
        """Check, embed, train, assign, describe. Subclasses that train override :meth:`_train` only."""
        check_settings(self)
        if options.vectors is not None and input_type_of(self.encoder) == "vectors":
            texts = row_texts(X, column, options.vectors)
            Clusterer._fit(self, options.vectors, None, replace(options, vectors=None))
            self.describe_by(texts)
            return self
        options = self._complete_options(X, options)
        with self._progress(), whole(self._parts(), deadline=options.deadline), remembering():
            encoder = make_encoder(self.encoder)
            rows = self._check(X, column, encoder, reset=True)
            seed = self._draw_seed()
            encoder.fit(rows.unique)
            self.__dict__.pop("objective_", None)  # a fit that fails from here on leaves no model of other settings
            with part("number of clusters"):
                wanted = 1 if self.finds_n_clusters else self.n_clusters
                self.n_clusters_, self.n_clusters_curve_ = find_n_clusters(wanted, encoder, rows, seed)
            with part("embedding"):
                objective = self.new_objective(encoder, seed)
                trained = rows.training_sample() if self.trains_on_sample and options.views is None else rows
                before = embed_corpus(objective.network, trained, options.vectors)
            corpus = self._train(objective, before, Fit(trained, encoder, seed, options))
            untrained = untrained_embeddings(objective.network, encoder, before, corpus)
            calibrate(objective, corpus, untrained, seed=seed)
            self.encoder_, self.objective_ = encoder, objective.eval()
            self.n_texts_, self.texts_sha256_ = rows.n_rows, rows.sha256()
            self.clusters_ = ClusterTable(())  # names given to the clusters of an earlier fit are forgotten
            h = corpus.h.numpy() if trained is rows else objective.network.embed(rows.unique)
            self._assign_and_describe(rows, h)
        return self

    def _parts(self) -> dict[str, float]:
        is_chosen = isinstance(self.n_clusters, str) and not self.finds_n_clusters
        return ({"number of clusters": 6.0} if is_chosen else {}) | self.progress_parts

    def _complete_options(self, X: Any, options: FitOptions) -> FitOptions:  # noqa: N803
        """Return the options with what ``X`` itself provides, e.g. columns of views."""
        return options

    def _train(self, objective: Objective, corpus: Corpus, fit: Fit) -> Corpus:
        """Fit ``objective`` to the corpus, and return the corpus with the final embeddings."""
        with part("clustering"):
            objective.initialize(corpus, fit.seed)
        return corpus

    def _assign_and_describe(self, rows: Rows[Any], h: Vectors) -> None:
        """Store the clusters of the training items, whose distinct ones have embeddings h (N, D), and describe them."""
        found = most_probable(self.objective_, h, rows.unique).above(self.min_confidence)
        self._store_assignment(found.expand(rows))
        quality = cluster_quality(h, rows.counts, found.labels, self.n_clusters_)
        self.clusters_ = self._describe_rows(rows, quality)
        self.sample_ = draw_sample(rows, h, self.labels_, self.confidence_)

    def _embed(self, X: Any, column: str | None) -> tuple[Rows[Any], Vectors]:  # noqa: N803
        """Check new items and return them with the embeddings of the distinct ones."""
        network = self.fitted_objective().network
        with self._progress():
            rows = self._check(X, column, self.encoder_, reset=False)
            h = network.embed(rows.unique)
        if not np.isfinite(h).all():
            problem = "The embeddings contain NaN or infinity: the weights of the model or of its encoder are damaged."
            raise ArtifactError(f"{problem} Fit it again, or load a good copy.")
        return rows, h

    def _check(self, X: Any, column: str | None, encoder: Encoder, *, reset: bool) -> Rows[Any]:  # noqa: N803
        """Validate ``X`` and warn of what cannot be read; when fitting (``reset``), refuse too few items."""
        if encoder.input_type == "vectors":
            X = self._check_vectors(X, reset=reset)  # noqa: N806
        rows = encoder.check(X, column, on_empty=self.on_empty)
        if rows.n_blank:
            warnings.warn(rows.blank_message, rows.blank_warning, stacklevel=user_level())
        for problem in encoder.reading_problems(rows.unique):
            warnings.warn(problem, UnreadableTextWarning, stacklevel=user_level())
        least = max(n_clusters_range(self.n_clusters)[0], 2 if self.finds_n_clusters else 1)
        if reset and least > rows.n_distinct:
            raise InputError(rows.too_few_message(least))
        return rows

    def _draw_seed(self) -> int:
        """Return one integer that determines every random choice."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _progress(self) -> AbstractContextManager[None]:
        return show_progress(off_terminal="plain") if self.verbose and not has_listener() else nullcontext()

    @property
    def _n_features_out(self) -> int:
        return int(self.fitted_objective().centers.shape[1])


METHODS: Registry[Clusterer] = Registry("method", "coterie.methods")
