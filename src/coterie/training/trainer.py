"""The only training loop. It knows stages, epochs, steps and terms, never a method's name."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from coterie.contracts import Batch, Corpus, Labels, Objective, Prepared, Stage, Vectors
from coterie.errors import InputError, TrainingError, TrainingStopped
from coterie.progress import Advance, track
from coterie.training.checkpoint import Checkpoint
from coterie.training.guard import Guard
from coterie.training.interrupt import interruptible
from coterie.training.optimizer import Optimizer, Schedule
from coterie.training.seeding import batches, n_batches, seeded

Record = dict[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """Everything as it is embedded and assigned at the end of an epoch."""

    record: Record
    h: Vectors  # (N, D)
    labels: Labels  # (N,)
    objective: Objective  # to look at, not to change
    ends_stage: bool = True  # the start counts as a stage of its own


Watcher = Callable[[Evaluation], None]
Views = Callable[[int], Sequence[Prepared]]
"""Given the number of an epoch, what its steps read: the originals, then every view of them."""


@dataclass(frozen=True)
class Trainer:
    """How to train; :meth:`run` does it."""

    batch_size: int
    epochs: int
    epoch_steps: int | None  # none: as many as see every item once
    max_steps: int | None
    encoder_lr: float
    head_lr: float
    schedule: Schedule
    clip_norm: float | None
    checkpoint_every: int
    seed: int

    def run(self, objective: Objective, corpus: Corpus, views: Views, **parts: Any) -> list[Record]:
        """Train ``objective`` in place and return a record for every epoch."""
        with seeded(self.seed):
            objective.start(corpus, self.seed)
            return Run(self, objective, corpus, views, **parts).go()


@dataclass
class Run:
    """One training in progress. Where it is, is one number: the step."""

    how: Trainer
    objective: Objective
    corpus: Corpus
    views: Views
    guard: Guard
    near: torch.Tensor | None = None  # (N, k) nearest texts, of which views are taken; none: of the text itself
    checkpoint: Checkpoint | None = None
    watchers: Sequence[Watcher] = ()
    on_epoch: Callable[[list[Record]], None] | None = None

    step: int = 0
    history: list[Record] = field(default_factory=list)
    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self) -> None:
        stages = self.objective.stages(self.how.epochs)
        self.plan: list[tuple[Stage, int]] = [(stage, epoch) for stage in stages for epoch in range(stage.epochs)]
        self.original = self.views(0)[0]
        self.per_pass = n_batches(len(self.original), self.how.batch_size)
        self.per_epoch = self.how.epoch_steps or self.per_pass
        planned = len(self.plan) * self.per_epoch
        self.total = planned if self.how.max_steps is None else min(planned, self.how.max_steps)
        self.optimizer = Optimizer(
            self.objective, encoder_lr=self.how.encoder_lr, head_lr=self.how.head_lr,
            schedule=self.how.schedule, clip_norm=self.how.clip_norm,
        )  # fmt: skip

    def go(self) -> list[Record]:
        """Train to the end, or to the point where the guard stops it; leave the state that the guard prefers."""
        if self.checkpoint is None or not self.checkpoint.restore(self):
            self.guard.begin(self._evaluate({"stage": "start", "epoch": 0, "step": 0}))
        with track("Training", self.total) as advance, interruptible() as asked_to_stop:
            advance(self.step)
            try:
                while self.step < self.total and not self._settled():
                    self._epoch(advance, asked_to_stop)
            except TrainingError as error:
                self.guard.stop(self.step, str(error))
            except KeyboardInterrupt:
                raise TrainingStopped(self._farewell()) from None
        self.guard.settle(self.objective)
        self.objective.eval()
        return self.history

    def _settled(self) -> bool:
        """Whether to end here; asked between epochs only, also by a run that goes on within one."""
        return self.step % self.per_epoch == 0 and self.objective.settled

    def _epoch(self, advance: Advance, asked_to_stop: Callable[[], bool]) -> None:
        """Train from where the epoch is to its end."""
        number, done = divmod(self.step, self.per_epoch)
        stage, epoch = self.plan[number]
        self.augmented = self.views(number)[1:]
        if done == 0:
            self._announce(stage, epoch)
        self.objective.train()
        for _ in range(done, self.per_epoch):
            self._step(stage, self._rows(), advance)
            if self.step == self.total:
                break
            if self.step % self.per_epoch:  # the end of an epoch is kept when it is on record
                stop = asked_to_stop()
                self._keep(due=stop or self.step % self.how.checkpoint_every == 0, stop=stop)
        self._close(stage, epoch)
        self._keep(due=True, stop=asked_to_stop())

    def _rows(self) -> torch.Tensor:
        """Return the rows (B,) of this step; passes over the items follow each other, whatever an epoch is."""
        number, place = divmod(self.step, self.per_pass)
        return batches(len(self.original), self.how.batch_size, seed=self.how.seed, number=number)[place]

    def _step(self, stage: Stage, rows: torch.Tensor, advance: Advance) -> None:
        started = time.perf_counter()
        terms = stage.loss(self._batch(rows))
        loss = self.optimizer.step(terms, progress=self.step / self.total)
        self.objective.after_step()
        self.step += 1
        values = {name: float(term.detach()) for name, term in terms.items()}
        for name, value in (values | {"loss": loss, "steps": 1, "seconds": time.perf_counter() - started}).items():
            self.sums[name] += value
        advance(1, note=" ".join([stage.name, *(f"{name} {value:.3f}" for name, value in values.items())]))

    def _keep(self, *, due: bool, stop: bool) -> None:
        """Write a checkpoint when it is due, and end here when the user asked to."""
        if due and self.checkpoint is not None:
            self.checkpoint.save(self)
        if stop:
            raise KeyboardInterrupt

    def _announce(self, stage: Stage, epoch: int) -> None:
        hooks = [hook for hook in (stage.before if epoch == 0 else None, stage.before_epoch) if hook]
        if hooks:
            corpus = self._corpus()
            with _alike():
                for hook in hooks:
                    hook(corpus)

    def _batch(self, rows: torch.Tensor) -> Batch:
        original = self.original[rows]
        return Batch(rows, original, tuple(self._view(view, rows, original) for view in self.augmented))

    def _view(self, view: Prepared, rows: torch.Tensor, original: Prepared) -> Prepared:
        if self.near is not None and self.near.shape[1]:
            which = torch.randint(self.near.shape[1], (len(rows),))
            return view[self.near[rows, which]]  # type: ignore[no-any-return]
        return original if view is self.original else view[rows]

    def _close(self, stage: Stage, epoch: int) -> None:
        """Put the epoch on record, and let the guard see what became of the texts."""
        steps, seconds = self.sums.pop("steps"), self.sums.pop("seconds")
        means = {name: value / steps for name, value in self.sums.items()}
        self.sums.clear()
        record: Record = {"stage": stage.name, "epoch": epoch + 1, "step": self.step, "seconds": seconds, **means}
        self.history.append(record)  # first: what the guard finds is added to it
        if self.guard.active or self.watchers:
            with _alike():
                evaluation = self._evaluate(record, ends_stage=epoch + 1 == stage.epochs or self.step == self.total)
            self.guard.see(evaluation)
        if self.on_epoch is not None:
            self.on_epoch(self.history)

    def _evaluate(self, record: Record, *, ends_stage: bool = True) -> Evaluation:
        self.objective.eval()
        corpus = self._corpus()
        self.objective.finish(corpus, self.how.seed)
        h = corpus.h.numpy()
        evaluation = Evaluation(record, h, self.objective.assign_all(h).argmax(axis=1), self.objective, ends_stage)
        with torch.random.fork_rng():  # what a watcher draws does not reach the training
            for watch in self.watchers:
                watch(evaluation)
        return evaluation

    def _corpus(self) -> Corpus:
        h = self.objective.encoder.look(self.original)
        if not torch.isfinite(h).all():
            raise TrainingError("the vectors are no longer numbers")
        return replace(self.corpus, h=h)

    def _farewell(self) -> str:
        stopped = f"Stopped at step {self.step} of {self.total}."
        if self.checkpoint is None:
            return f"{stopped} Nothing was kept: with a checkpoint (--out or --checkpoint names one) it could go on."
        if not self.checkpoint.path.exists():
            return f"{stopped} That was before the first checkpoint, so nothing was kept."
        return f"{stopped} {self.checkpoint.path} keeps it: the same command goes on from there."


@contextmanager
def _alike() -> Iterator[None]:
    """Say what it means when texts that were fine at the start can no longer be grouped."""
    try:
        yield
    except InputError as error:
        raise TrainingError("the texts have become too much alike to tell the clusters apart") from error
