"""The base class of methods that train an encoder."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch

from coterie.augmenters.augmenter import AUGMENTERS, Augmenter, make_augmenter
from coterie.augmenters.columns import ColumnsAugmenter, column_views
from coterie.closing import (
    close_by_mixture,
    closing_notes,
    evidence_of,
    fit_final_assigner,
    labels_of,
    restore_closing,
    untrained_model,
)
from coterie.clusterer import METHODS, Clusterer
from coterie.clustering.kmeans import quick_kmeans_labels
from coterie.clustering.mixture import Evidence
from coterie.contracts import Corpus, Labels, Network, Objective
from coterie.data.atomic import check_writable
from coterie.data.lock import exclusive
from coterie.encoders.encoder import Encoder
from coterie.errors import InputError
from coterie.fitting import Fit, FitOptions, with_embeddings
from coterie.hyper import check_settings, hyper
from coterie.knn.graph import KNNGraph
from coterie.knn.neighborhood import neighbor_graph
from coterie.progress import part
from coterie.seeding import seeded
from coterie.training import distributed
from coterie.training.checkpoint import Checkpoint
from coterie.training.guard import Guard, Mode, Verdict
from coterie.training.logs import Format, check_log, write_log
from coterie.training.optimizer import Schedule
from coterie.training.stopping import Stopping
from coterie.training.trainer import Callback, Record, Trainer, Views
from coterie.training.views import augmented_views, identical_views, user_views

AssignBy = Literal["method", "mixture", "auto", "head", "kmeans", "q"]
"""Who assigns; a method that has several ways of its own names them in place of ``method``."""
_NOT_TRAINING = {
    "verbose", "checkpoint", "checkpoint_every", "log_dir", "log_format", "on_empty", "random_state", "time_budget",
}  # fmt: skip
_ORDER = "sorted"  # of the items: checkpoints of versions that kept the order of appearance do not fit


class DeepClusterer(Clusterer):
    """Clusters short texts or images by training an encoder on them.

    After ``fit`` there are also ``history_`` (a record for every epoch) and ``guard_`` (the guard's verdict).
    """

    trains_on_sample = True
    progress_parts = {"embedding": 10, "views": 3, "neighbors": 4, "start": 5, "training": 72, "score": 6}  # noqa: RUF012

    epochs: int = hyper(5, "passes over the texts, or multiples of `epoch_steps`", ge=0)
    epoch_steps: int | None = hyper(None, "steps of an epoch; none: one pass over the texts", ge=1)
    max_steps: int | None = hyper(150, "stop after this many steps even if epochs are left; none: no limit", ge=0)
    batch_size: int = hyper(200, "texts of a batch", symbol="B", ge=2)
    trainable_layers: int | None = hyper(2, "last layers of a pretrained encoder that are trained; none: all", ge=0)
    encoder_lr: float = hyper(1e-4, "learning rate of the encoder", ge=0)
    head_lr: float = hyper(1e-3, "learning rate of everything else", ge=0)
    schedule: Schedule = hyper("linear", "of the learning rates: constant, or linear decay to zero")
    max_grad_norm: float | None = hyper(None, "gradient clipping; none: no clipping", gt=0)
    augmenter: str | Augmenter = hyper(
        "dropout", "makes the views: a name, name:value, or an augmenter; images use crop unless another is named"
    )
    resample_views: bool = hyper(False, "make new views for every epoch instead of once; images always do")
    init: str = hyper("neighbors", "method whose labels training starts from: kmeans, neighbors, ...")
    n_neighbors: int = hyper(
        10, "a view is of one of so many nearest neighbors; 0: of the text itself", symbol="k", ge=0
    )
    assign_by: AssignBy = hyper("method", "labels by the method itself, or by a mixture over the trained vectors")
    patience: int | None = hyper(2, "stop after so many epochs of the last stage without a higher guard score", ge=1)
    time_budget: float | None = hyper(None, "seconds that a fit may take: training ends earlier to keep them", gt=0)
    guard: Mode = hyper("on", "keep the best epoch or the untrained clusters by a label-free score; off: keep the last")
    checkpoint: str | Path | None = hyper(None, "file from which a training can resume; `save` deletes it")
    checkpoint_every: int = hyper(50, "steps between two checkpoints", ge=1)
    log_dir: str | Path | None = hyper(None, "folder for a log of every epoch")
    log_format: Format = hyper("csv", "of the log; tensorboard needs the extra of that name")

    def wrap_network(self, network: Network) -> Network:
        """Return ``network``, perhaps with layers of the method on top."""
        return network

    def build_network(self, encoder: Encoder) -> Network:
        """Return the encoder's network, whose last layers are trained."""
        return self.wrap_network(encoder.network(self.trainable_layers))

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any = None,
        *,
        column: str | None = None,
        views: Sequence[Any] | None = None,
        callback: Callback | None = None,
        vectors: Any = None,
    ) -> Self:
        """Train on ``X`` and find its clusters; ``y`` is ignored.

        ``views`` are the user's own views, a list for each view, aligned with the texts. ``callback`` is called with an
        :class:`Evaluation` before training and after every epoch; it cannot change the training. ``vectors`` need
        ``encoder="precomputed"``; the texts then describe the clusters.
        """
        return self._fit(X, column, FitOptions(views, [callback] if callback else [], vectors))

    def _fit(self, X: Any, column: str | None, options: FitOptions) -> Self:  # noqa: N803
        """Fit while no other process uses the checkpoint."""
        check_settings(self)
        self._check_paths()
        self._deadline = None if self.time_budget is None else time.perf_counter() + self.time_budget
        distributed.start()
        writes = self.checkpoint is not None and not distributed.rank()  # the first process does
        with exclusive(Path(str(self.checkpoint))) if writes else nullcontext():
            return super()._fit(X, column, replace(options, deadline=self._deadline))

    def _complete_options(self, X: Any, options: FitOptions) -> FitOptions:  # noqa: N803
        """Take the views from the columns of ``X`` when the augmenter names columns."""
        if options.vectors is not None:
            raise InputError(
                f"{type(self).__name__} trains the encoder on the texts, so `vectors` of them cannot be used. Leave "
                "them out, or use encoder='precomputed' to train a layer above the vectors."
            )
        if options.views is None and isinstance(augmenter := make_augmenter(self.augmenter), ColumnsAugmenter):
            return replace(options, views=column_views(X, augmenter))
        return options

    def _train(self, objective: Objective, corpus: Corpus, fit: Fit) -> Corpus:
        """Find neighbors and initial labels, train, and return the corpus with the final embeddings."""
        with part("views"):
            views = self._views(objective, corpus, fit)
            pretrained = self._pretrained_corpus(objective, corpus, fit)
        baseline, graph, untrained = distributed.once(lambda: self._start(pretrained, fit.seed))
        from_scratch = objective.network.from_scratch
        corpus = replace(corpus, labels=torch.from_numpy(labels_of(untrained.objective_, pretrained)))
        checkpoint = self._checkpoint(fit)
        with part("training"):
            guard = Guard(self.guard, self._evidence(pretrained, fit, from_scratch), baseline, self.n_clusters_)
            self.history_ = self._trainer(fit.seed).run(
                objective, corpus, views,
                guard=guard,
                neighbors=torch.from_numpy(graph.first(self.n_neighbors).mutual()),
                untrained=None if from_scratch else untrained.objective_,
                close=self._close if self.assign_by == "mixture" else None,
                checkpoint=checkpoint,
                callbacks=fit.options.callbacks,
                on_epoch=self._write_log,
            )  # fmt: skip
        self.guard_, self._unsaved = guard.verdict, checkpoint
        with part("score"):
            assert corpus.prepared is not None
            h = objective.network.embed_corpus(corpus.items, corpus.prepared, guard.best_h)
            final = replace(with_embeddings(corpus, h), labels=None)
            if guard.active and not guard.verdict.kept and not from_scratch:
                same = torch.equal(final.h, pretrained.h)
                self._fall_back(objective, final, untrained if same else None, fit.seed)
            else:
                fit_final_assigner(objective, final, fit.seed)
                if self.assign_by == "mixture":
                    self._close(objective, final)
        return final

    def _start(self, pretrained: Corpus, seed: int) -> tuple[Labels, KNNGraph, Clusterer]:
        """Return the labels of k-means, the nearest neighbors, and the model whose labels training starts from."""
        with part("neighbors"):
            baseline = quick_kmeans_labels(pretrained.h.numpy(), pretrained.counts, self.n_clusters_, seed=seed)
            graph = self._neighbor_graph(pretrained, baseline, seed)
        with part("start"):
            return baseline, graph, self._untrained(self.init, pretrained, seed)

    def _fall_back(self, objective: Objective, corpus: Corpus, fitted: Clusterer | None, seed: int) -> None:
        """Let the method that trains nothing assign; the clusters of the objective become the same."""
        self.closing_ = fitted or self._untrained(self.init, corpus, seed)
        labels = torch.from_numpy(labels_of(self.closing_.objective_, corpus))
        with seeded(seed):
            objective.initialize(replace(corpus, labels=labels), seed)
        objective.closing = self.closing_.objective_
        objective.fit_assigner(corpus, seed)

    def _close(self, objective: Objective, corpus: Corpus) -> None:
        """Let a mixture over the trained embeddings assign."""
        self.closing_ = close_by_mixture(objective, corpus, self.n_clusters_)

    def remove_checkpoint(self) -> None:
        """Delete the checkpoint of the last ``fit``; :meth:`save` does so when the model is written."""
        checkpoint: Checkpoint | None = getattr(self, "_unsaved", None)
        if checkpoint is not None:
            checkpoint.remove()

    def _check_paths(self) -> None:
        """Refuse before training what would fail after it."""
        if self.checkpoint is not None and not Path(self.checkpoint).absolute().parent.is_dir():
            raise InputError(f"Cannot write the checkpoint {self.checkpoint}: its folder does not exist.")
        if self.checkpoint is not None:
            check_writable(Path(self.checkpoint))
        if self.log_dir is not None:
            check_log(self.log_format)

    def _views(self, objective: Objective, corpus: Corpus, fit: Fit) -> Views:
        """Return the augmented views of each epoch, prepared for the network."""
        network, n_views = objective.network, objective.n_augmented
        assert corpus.prepared is not None
        if fit.options.views is not None:
            return user_views(fit.options.views, network, fit.rows, n_views)
        if fit.encoder.input_type == "vectors":
            return identical_views(corpus.prepared, n_views)
        return augmented_views(
            self._augmenter_for(fit.encoder), network, fit.rows, corpus.prepared, n_views,
            seed=fit.seed, fresh=self.resample_views,
        )  # fmt: skip

    def _augmenter_for(self, encoder: Encoder) -> Augmenter:
        """Return the augmenter. A method's default is for texts; encoders of images have a default of their own."""
        augmenter = make_augmenter(self.augmenter)
        if augmenter.input_type == encoder.input_type:
            return augmenter
        if encoder.default_augmenter and self.augmenter == type(self).augmenter:
            return make_augmenter(encoder.default_augmenter)
        fitting = ", ".join(name for name, cls in AUGMENTERS.items() if cls.input_type == encoder.input_type)
        raise InputError(
            f"The augmenter {augmenter.name!r} changes {augmenter.input_type}, but the encoder {encoder.name!r} reads "
            f"{encoder.input_type}. Use one of: {fitting}."
        )

    def _pretrained_corpus(self, objective: Objective, corpus: Corpus, fit: Fit) -> Corpus:
        """Return the corpus with meaningful embeddings: of the encoder, where the network starts from scratch."""
        if objective.network.from_scratch:
            return with_embeddings(corpus, fit.encoder.embed_corpus(fit.rows.unique))
        return corpus

    def _neighbor_graph(self, corpus: Corpus, baseline: Labels, seed: int) -> KNNGraph:
        """Return the nearest neighbors before training whose views are taken."""
        if not self.n_neighbors:
            empty = np.empty((len(baseline), 0))
            return KNNGraph(empty.astype(np.int64), empty.astype(np.float32))
        return neighbor_graph(corpus.h.numpy(), corpus.items, baseline, self.n_clusters_, k=self.n_neighbors, seed=seed)

    def _evidence(self, corpus: Corpus, fit: Fit, from_scratch: bool) -> Evidence | None:
        """Return what the guard judges by; None where images are near in pixels only, which says little."""
        if self.guard == "off" or (from_scratch and fit.encoder.input_type == "images"):
            return None
        return evidence_of(corpus, self.n_clusters_, fit.seed)

    def _untrained(self, method: str, corpus: Corpus, seed: int) -> Clusterer:
        """Return a model of a method that trains nothing, fitted to the embeddings of the corpus."""
        if issubclass(METHODS[method], DeepClusterer):
            raise InputError(f"`init` is {method!r}, which trains an encoder itself. Use kmeans or neighbors.")
        return untrained_model(method, replace(corpus, labels=None), self.n_clusters_, seed)

    def _trainer(self, seed: int) -> Trainer:
        return Trainer(
            batch_size=self.batch_size, epochs=self.epochs, epoch_steps=self.epoch_steps, max_steps=self.max_steps,
            encoder_lr=self.encoder_lr, head_lr=self.head_lr, schedule=self.schedule,
            max_grad_norm=self.max_grad_norm, checkpoint_every=self.checkpoint_every, seed=seed,
            stopping=Stopping(self.patience, self._deadline),
        )  # fmt: skip

    def _checkpoint(self, fit: Fit) -> Checkpoint | None:
        if self.checkpoint is None or distributed.rank():
            return None
        params = {name: repr(value) for name, value in self.get_params().items() if name not in _NOT_TRAINING}
        views = [[str(text) for text in view] for view in fit.options.views or ()]
        items = fit.rows.n_rows, fit.rows.sha256()
        identity = [self.name, params, fit.encoder.fingerprint(), items, views, fit.seed, _ORDER]
        return Checkpoint(Path(self.checkpoint), hashlib.sha256(json.dumps(identity).encode()).hexdigest())

    def _write_log(self, history: list[Record]) -> None:
        if self.log_dir is not None:
            write_log(history, Path(self.log_dir), self.log_format)

    def saved_params(self) -> dict[str, Any]:
        """Return the settings that a saved model stores; the augmenter as a string."""
        augmenter = self.augmenter if isinstance(self.augmenter, str) else self.augmenter.spec
        if self.encoder_.default_augmenter and augmenter == type(self).augmenter:
            augmenter = self.encoder_.default_augmenter  # the one that made the views
        return super().saved_params() | {"augmenter": augmenter, "checkpoint": None, "log_dir": None}

    def saved_notes(self) -> dict[str, Any]:
        """Return the history, the guard's verdict, and what the model that assigns needs."""
        closing = closing_notes(self.closing_ if self.objective_.closing is not None else None)
        return {"history": self.history_, "guard": asdict(self.guard_), **closing}

    def restore_notes(self, notes: dict[str, Any]) -> None:
        """Load them."""
        self.history_, self.guard_ = notes["history"], Verdict(**notes["guard"])
        if "closing" in notes:
            self.closing_ = restore_closing(notes["closing"], self.objective_, self.n_clusters_)
