"""What every method that trains its encoder shares."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from coterie.augmenters.augmenter import AUGMENTERS, Augmenter, epoch_seed, make_augmenter
from coterie.augmenters.given import GivenAugmenter, from_rows
from coterie.clusterer import METHODS, Clusterer, distinct_items, summary
from coterie.contracts import Corpus, Labels, Network, Objective, Prepared, Vectors
from coterie.data.rows import Rows
from coterie.data.texts import Texts
from coterie.encoders.encoder import Encoder
from coterie.errors import InputError, TrainingError
from coterie.graph.evidence import neighbourhood
from coterie.graph.nearest import Links
from coterie.hyper import check_settings, hyper
from coterie.training.checkpoint import Checkpoint
from coterie.training.guard import JUDGES, Guard, Mode, Verdict
from coterie.training.logs import Format, check_log, write_log
from coterie.training.optimizer import Schedule
from coterie.training.seeding import seeded
from coterie.training.trainer import Record, Trainer, Views, Watcher

_NOT_TRAINING = {"verbose", "checkpoint", "checkpoint_every", "log_dir", "log_format", "on_empty", "random_state"}


class DeepClusterer(Clusterer):
    """Groups short texts or images by training an encoder on them.

    After ``fit`` there are also ``history_`` (a record for every epoch) and ``guard_`` (the guard's verdict).
    """

    epochs: int = hyper(5, "passes over the texts, or stretches of `epoch_steps`", ge=0)
    epoch_steps: int | None = hyper(None, "steps of an epoch; none: as many as see every text once", ge=1)
    max_steps: int | None = hyper(150, "end after so many steps even if epochs are left; none: no limit", ge=0)
    batch_size: int = hyper(200, "texts of a step", symbol="B", ge=2)
    trainable_layers: int | None = hyper(2, "last layers of a pretrained encoder that learn; none: all of them", ge=0)
    encoder_lr: float = hyper(1e-4, "learning rate of the encoder", ge=0)
    head_lr: float = hyper(1e-3, "learning rate of everything else", ge=0)
    schedule: Schedule = hyper("linear", "of the learning rates: constant, or falling to zero in a line")
    clip_norm: float | None = hyper(None, "longest gradient; none: any", gt=0)
    augmenter: str | Augmenter = hyper(
        "dropout", "what makes the views: a name, name:value, or an augmenter; of images crop, unless another is named"
    )
    fresh_views: bool = hyper(False, "make new views for every epoch instead of once; of images always")
    init: str = hyper("neighbours", "method whose groups training starts from: kmeans, neighbours, ...")
    n_neighbours: int = hyper(10, "views are of one of so many nearest texts; 0: of the text itself", symbol="k", ge=0)
    guard: Mode = hyper("on", "keep the best state by a score that needs no labels; off: keep the last")
    checkpoint: str | Path | None = hyper(None, "file that keeps a running training, so that it can go on")
    checkpoint_every: int = hyper(50, "steps between two checkpoints", ge=1)
    log_dir: str | Path | None = hyper(None, "folder for a log of every epoch")
    log_format: Format = hyper("csv", "of the log; tensorboard needs the extra of that name")

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any = None,
        *,
        column: str | None = None,
        views: Sequence[Any] | None = None,
        watch: Watcher | None = None,
    ) -> Self:
        """Train on ``X`` and find its clusters; ``y`` is ignored.

        ``views`` are the user's own views, a list for each, row by row beside the texts. ``watch`` is called with an
        :class:`Evaluation` before training and after every epoch; nothing it does reaches the training.
        """
        check_settings(self)
        if views is None and isinstance(augmenter := make_augmenter(self.augmenter), GivenAugmenter):
            views = _columns(X, augmenter)
        return self._fit(X, column, given=views, watchers=[watch] if watch else [])

    # -- inside ------------------------------------------------------------------------------------------

    def _learn(
        self,
        encoder: Encoder,
        items: Rows[Any] | Vectors,
        *,
        given: Sequence[Any] | None = None,
        watchers: Sequence[Watcher] = (),
    ) -> tuple[Objective, Vectors]:
        self._check_places()
        distinct, counts = distinct_items(items)
        seed = self._seed()
        seed = secrets.randbelow(2**31) if seed is None else seed
        dim = encoder.fit(items.unique).embed(items.unique[:1]).shape[1] if isinstance(items, Rows) else items.shape[1]
        with seeded(seed):
            network = self._network(encoder, dim)
            objective = self._objective(network).to(network.where)
        views = self._views(encoder, objective, items, given, seed)
        corpus = Corpus(distinct, network.look(views(0)[0]), counts)
        known = corpus
        if isinstance(items, Rows) and network.from_scratch:
            known = replace(corpus, h=torch.from_numpy(encoder.embed(items.unique)))
        baseline = self._group("kmeans", known, seed)
        links = self._links(known, baseline, seed)
        guard = Guard(self.guard, links, baseline, self.n_clusters)
        first = baseline if self.init == "kmeans" else self._group(self.init, known, seed)
        corpus = replace(corpus, labels=torch.from_numpy(first))
        checkpoint = self._checkpoint(encoder, items, given, seed)
        self.history_ = self._trainer(seed).run(
            objective,
            corpus,
            views,
            near=torch.from_numpy(links.first(self.n_neighbours).mutual()),
            guard=guard,
            checkpoint=checkpoint,
            watchers=watchers,
            on_epoch=self._log,
        )
        self.guard_ = guard.verdict
        h = network.embed(distinct)
        _finish(objective, Corpus(distinct, torch.from_numpy(h), counts), seed)
        if checkpoint is not None:
            checkpoint.remove()
        return objective, h

    def _check_places(self) -> None:
        """Refuse before training what would fail after an hour of it."""
        if self.checkpoint is not None and not Path(self.checkpoint).absolute().parent.is_dir():
            raise InputError(f"Cannot write the checkpoint {self.checkpoint}: its folder does not exist.")
        if self.log_dir is not None:
            check_log(self.log_format)

    def _saved_params(self) -> dict[str, Any]:
        augmenter = self.augmenter if isinstance(self.augmenter, str) else self.augmenter.spec
        if self.encoder_.augmenter and augmenter == type(self).augmenter:
            augmenter = self.encoder_.augmenter  # what really made the views
        return super()._saved_params() | {"augmenter": augmenter, "checkpoint": None, "log_dir": None}

    def _notes(self) -> dict[str, Any]:
        return {"history": self.history_, "guard": asdict(self.guard_)}

    def _recall(self, notes: dict[str, Any]) -> None:
        self.history_, self.guard_ = notes["history"], Verdict(**notes["guard"])

    def _network(self, encoder: Encoder, dim: int) -> Network:
        return encoder.network(dim, self.trainable_layers)

    def _vectors(self, items: Rows[Any] | Vectors, encoder: Encoder) -> Vectors:
        return self.objective_.encoder.embed(items.unique if isinstance(items, Rows) else items)

    def _trainer(self, seed: int) -> Trainer:
        names = {field.name for field in fields(Trainer)} - {"seed"}
        return Trainer(seed=seed, **{name: getattr(self, name) for name in names})

    def _views(
        self, encoder: Encoder, objective: Objective, items: Rows[Any] | Vectors, given: Sequence[Any] | None, seed: int
    ) -> Views:
        """Return what the network reads in an epoch: the originals and every view of them."""
        distinct, _ = distinct_items(items)
        network, n = objective.encoder, objective.n_augmented
        original = network.prepare(distinct)
        if given is not None and not isinstance(items, Texts):
            raise InputError("Views are texts; vectors (encoder='precomputed') and images have none.")
        if not isinstance(items, Rows):
            return lambda _: [original] * (1 + n)
        augmenter = self._augmenter(encoder)

        @lru_cache(maxsize=1)
        def views(epoch: int) -> list[Prepared]:
            if given is not None and isinstance(items, Texts):
                augmented = from_rows(given, items, n)
            else:
                augmented = augmenter.views(items.unique, n, seed=epoch_seed(seed, epoch))
            return [original, *(original if view is distinct else network.prepare(view) for view in augmented)]

        return views if self.fresh_views or augmenter.always_fresh else lambda _: views(0)

    def _augmenter(self, encoder: Encoder) -> Augmenter:
        """Return what makes the views: a method's default is for texts, and gives way to the encoder's own."""
        augmenter = make_augmenter(self.augmenter)
        if augmenter.takes == encoder.reads:
            return augmenter
        if encoder.augmenter and self.augmenter == type(self).augmenter:
            return make_augmenter(encoder.augmenter)
        fitting = ", ".join(name for name, cls in AUGMENTERS.items() if cls.takes == encoder.reads)
        raise InputError(
            f"The augmenter {augmenter.name!r} changes {augmenter.takes}, but the encoder {encoder.name!r} reads "
            f"{encoder.reads}. Use one of: {fitting}."
        )

    def _links(self, corpus: Corpus, baseline: Labels, seed: int) -> Links:
        """Return the nearest texts of each as far as they can be told before training, when somebody asks for them."""
        k = max(self.n_neighbours, JUDGES if self.guard == "on" else 0)
        if not k:
            return Links(np.empty((len(baseline), 0), dtype=np.int64), np.empty((len(baseline), 0), dtype=np.float32))
        return neighbourhood(corpus.h.numpy(), corpus.items, baseline, self.n_clusters, k=k, seed=seed)

    def _group(self, method: str, corpus: Corpus, seed: int) -> Labels:
        """Return the labels that another method gives to the untouched vectors."""
        cls = METHODS[method]
        if issubclass(cls, DeepClusterer):
            raise InputError(f"`init` is {method!r}, which trains an encoder itself. Start from kmeans or neighbours.")
        objective = cls(n_clusters=self.n_clusters).build_objective(Network(corpus.h.shape[1]))
        objective.start(corpus, seed)
        labels: Labels = objective.assign_all(corpus.h.numpy()).argmax(axis=1)
        return labels

    def _checkpoint(
        self, encoder: Encoder, items: Rows[Any] | Vectors, given: Sequence[Any] | None, seed: int
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        params = {name: repr(value) for name, value in self.get_params().items() if name not in _NOT_TRAINING}
        views = [[str(text) for text in view] for view in given or ()]
        known = [self.name, params, encoder.fingerprint(), summary(items), views, seed]
        return Checkpoint(Path(self.checkpoint), hashlib.sha256(json.dumps(known).encode()).hexdigest())

    def _log(self, history: list[Record]) -> None:
        if self.log_dir is not None:
            write_log(history, Path(self.log_dir), self.log_format)


def _finish(objective: Objective, corpus: Corpus, seed: int) -> None:
    """Let the objective see the trained corpus; only without a guard can there be anything wrong with it."""
    advice = "Lower encoder_lr or head_lr, use fewer epochs, or switch the guard on."
    if not torch.isfinite(corpus.h).all():
        raise TrainingError(f"After training the vectors are no longer numbers. {advice}")
    try:
        objective.finish(corpus, seed)
    except InputError as error:  # the texts were fine when training began
        raise TrainingError(
            f"Training has made everything too much alike to tell the clusters apart. {advice}"
        ) from error


def _columns(table: Any, augmenter: GivenAugmenter) -> list[Any]:
    names = list(getattr(table, "columns", []))
    if missing := [name for name in augmenter.names if name not in names]:
        raise InputError(
            f"The augmenter 'given' wants the columns {', '.join(augmenter.names)}, but there is no {missing[0]!r}. "
            "Give a data frame that has them, or fit(texts, views=[first, second])."
        )
    return [list(table[name]) for name in augmenter.names]
