"""The only training loop. It knows stages, epochs, steps and loss terms, but no method by name."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from coterie.contracts import Batch, Corpus, Labels, Objective, Prepared, Stage, Vectors
from coterie.errors import TrainingError, TrainingStopped
from coterie.machine import freed_memory_kept
from coterie.progress import Advance, expect, track
from coterie.seeding import seeded
from coterie.training import distributed
from coterie.training.batches import batches, n_batches
from coterie.training.checkpoint import Checkpoint
from coterie.training.guard import Guard
from coterie.training.interrupt import interruptible
from coterie.training.optimizer import Optimizer, Schedule
from coterie.training.pace import Pace
from coterie.training.plan import note, stage_of
from coterie.training.stopping import Stopping, input_errors_as_training_errors

Record = dict[str, Any]
"""The log of one epoch: stage, epoch, step, seconds, mean loss terms, guard score."""


@dataclass(frozen=True)
class Evaluation:
    """The state after an epoch, as a callback sees it."""

    record: Record
    h: Vectors  # (N, D) embeddings of the distinct items
    labels: Labels  # (N,)
    objective: Objective  # a copy for inspection, with its assigner fitted to h
    ends_stage: bool = True  # the evaluation before training counts as a stage of its own


Callback = Callable[[Evaluation], None]
Close = Callable[[Objective, Corpus], None]
"""Lets another objective assign, fitted to the corpus as it is embedded now."""
Views = Callable[[int], Sequence[Prepared]]
"""Given the index of an epoch, return the augmented views of all items, each prepared."""


@dataclass(frozen=True)
class Trainer:
    """The training settings; :meth:`run` trains."""

    batch_size: int
    epochs: int
    epoch_steps: int | None  # None: as many as one pass over the items needs
    max_steps: int | None
    encoder_lr: float
    head_lr: float
    schedule: Schedule
    max_grad_norm: float | None
    checkpoint_every: int
    seed: int
    stopping: Stopping = field(default_factory=Stopping)

    def run(  # noqa: PLR0913
        self,
        objective: Objective,
        corpus: Corpus,
        views: Views,
        *,
        guard: Guard,
        neighbors: Tensor | None = None,
        untrained: Objective | None = None,
        close: Close | None = None,
        checkpoint: Checkpoint | None = None,
        callbacks: Sequence[Callback] = (),
        on_epoch: Callable[[list[Record]], None] | None = None,
    ) -> list[Record]:
        """Train ``objective`` in place and return a record for every epoch."""
        with seeded(self.seed), freed_memory_kept():
            objective.initialize(corpus, self.seed)
            run = Run(
                self, objective, corpus, views, guard,
                neighbors=neighbors, untrained=untrained, close=close, checkpoint=checkpoint, callbacks=callbacks,
                on_epoch=on_epoch,
            )  # fmt: skip
            return run.train()


@dataclass
class Run:
    """One training in progress. Its position is a single number, the step."""

    settings: Trainer
    objective: Objective
    corpus: Corpus
    views: Views
    guard: Guard
    neighbors: Tensor | None = None  # (N, k) candidates for the item whose view is taken; None: the item itself
    untrained: Objective | None = None  # its clusters are what training must improve; None: those of the objective
    close: Close | None = None
    checkpoint: Checkpoint | None = None
    callbacks: Sequence[Callback] = ()
    on_epoch: Callable[[list[Record]], None] | None = None

    step: int = 0
    pace: Pace = field(default_factory=Pace)
    embedded: Tensor | None = None  # (N, D) by the network as it is between two epochs
    history: list[Record] = field(default_factory=list)
    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self) -> None:
        settings = self.settings
        assert self.corpus.prepared is not None
        self.original = self.corpus.prepared
        self.steps_per_pass = n_batches(len(self.original), settings.batch_size)
        self.steps_per_epoch = settings.epoch_steps or self.steps_per_pass
        self.stages = self.objective.stages(self._n_epochs())
        planned = sum(stage.epochs for stage in self.stages) * self.steps_per_epoch
        self.total = planned if settings.max_steps is None else min(planned, settings.max_steps)
        self.optimizer = Optimizer(
            self.objective, encoder_lr=settings.encoder_lr, head_lr=settings.head_lr,
            schedule=settings.schedule, max_grad_norm=settings.max_grad_norm,
        )  # fmt: skip

    def _n_epochs(self) -> int:
        """Return the epochs that `max_steps` leaves, the last perhaps in part: stages share these."""
        epochs, limit = self.settings.epochs, self.settings.max_steps
        return epochs if limit is None else min(epochs, math.ceil(limit / self.steps_per_epoch))

    def train(self) -> list[Record]:
        """Train until the plan ends, the objective converges, or the guard stops; restore the guard's best state."""
        with distributed.stopping_together(self._stop_message), track("Training", self.total) as advance:
            self._begin()
            with interruptible() as stop_requested, distributed.divided(self):
                advance(self.step)
                try:
                    while self.step < self.total and not self._converged() and not self._is_late():
                        self._epoch(advance, stop_requested)
                except TrainingError as error:
                    self.guard.stop(self.step, str(error))
                except KeyboardInterrupt:
                    raise TrainingStopped(self._stop_message()) from None
            self.history, self.guard.verdict = distributed.once(lambda: (self.history, self.guard.verdict))
            if distributed.rank() == 0:
                self.guard.restore_best(self.objective)
            distributed.copy_state(self.objective)
        self.objective.eval()
        return self.history

    def _begin(self) -> None:
        """Resume from the checkpoint, or evaluate the state before training."""
        if distributed.once(lambda: self.checkpoint is not None and self.checkpoint.restore(self)):
            distributed.copy_run(self)
        else:
            if not self.objective.network.from_scratch and self.settings.stopping.deadline is None:
                self.embedded = self.corpus.h
            self._judge({"stage": "init", "epoch": 0, "step": 0}, self.guard.begin)
        self.loss_of = distributed.loss_of(self.objective)

    def _converged(self) -> bool:
        """Whether to stop here. Checked between epochs only, also when a run resumes within one."""
        if self.step % self.steps_per_epoch:
            return False
        of_last_stage = self.history[sum(stage.epochs for stage in self.stages[:-1]) :]
        return self.objective.converged or self.settings.stopping.is_stale(of_last_stage)

    def _is_late(self) -> bool:
        return self.settings.stopping.is_late(self.pace.after)

    def _epoch(self, advance: Advance, stop_requested: Callable[[], bool]) -> None:
        """Train from the current step to the end of its epoch."""
        number, done = divmod(self.step, self.steps_per_epoch)
        stage, epoch = stage_of(self.stages, number)
        self.augmented = self.views(number)
        if done == 0:
            self._call_hooks(stage, epoch)
        self.embedded = None
        self.objective.train()
        for _ in range(done, self.steps_per_epoch):
            self._step(stage, self._rows(), advance)
            if self._is_late():
                self.total = self.step  # the plan ends here
            if self.step == self.total:
                break
            if self.step % self.steps_per_epoch:  # the last step of an epoch is saved after its record is written
                stop = distributed.any_process(stop_requested())
                self._save(due=stop or self.step % self.settings.checkpoint_every == 0, stop=stop)
        self._end_epoch(stage, epoch)
        self._save(due=True, stop=distributed.any_process(stop_requested()))

    def _rows(self) -> Tensor:
        """Return the rows (B,) of this step. Passes over the items follow each other, independent of epochs."""
        number, place = divmod(self.step, self.steps_per_pass)
        return batches(len(self.original), self.settings.batch_size, seed=self.settings.seed, number=number)[place]

    def _step(self, stage: Stage, rows: Tensor, advance: Advance) -> None:
        started = time.perf_counter()
        terms = self.loss_of(stage.loss, self._batch(rows))
        loss = self.optimizer.step(terms, progress=self.step / self.total)
        self.objective.after_step()
        self.step += 1
        values = {name: float(term.detach()) for name, term in terms.items()}
        seconds = time.perf_counter() - started
        for name, value in (values | {"loss": loss, "steps": 1, "seconds": seconds}).items():
            self.sums[name] += value
        self.pace.step_done(seconds)
        n_epochs, epoch = self._epoch_of(self.total), self._epoch_of(self.step)
        expect(self.pace.left(self.total - self.step, n_epochs - epoch))
        advance(1, note=note(self.stages, stage, f"epoch {epoch} of {n_epochs}", values))

    def _epoch_of(self, step: int) -> int:
        """Return the number of the epoch, from 1, that step ``step`` is the last of or within."""
        return math.ceil(step / self.steps_per_epoch)

    def _save(self, *, due: bool, stop: bool) -> None:
        """Write a checkpoint when it is due, and raise KeyboardInterrupt when the user requested a stop."""
        if due and self.checkpoint is not None:
            self.checkpoint.save(self)
        if stop:
            raise KeyboardInterrupt

    def _call_hooks(self, stage: Stage, epoch: int) -> None:
        hooks = [hook for hook in (stage.before if epoch == 0 else None, stage.before_epoch) if hook]
        if hooks:
            with self.pace.measuring("hooks"), input_errors_as_training_errors():
                corpus = self._encode_corpus()
                for hook in hooks:
                    hook(corpus, self.settings.seed)
            distributed.copy_state(self.objective)

    def _batch(self, rows: Tensor) -> Batch:
        original = self.original[rows]
        shown = tuple(self._shown(rows) for _ in self.augmented)
        views = zip(self.augmented, shown, strict=True)
        augmented = tuple(original if view is self.original and r is rows else view[r] for view, r in views)
        return Batch(rows, original, augmented, shown)

    def _shown(self, rows: Tensor) -> Tensor:
        """Return the items (B,) that a view of ``rows`` shows: their neighbors, or themselves."""
        if self.neighbors is None or not self.neighbors.shape[1]:
            return rows
        which = torch.randint(self.neighbors.shape[1], (len(rows),))
        return self.neighbors[rows, which]

    def _end_epoch(self, stage: Stage, epoch: int) -> None:
        """Record the epoch and evaluate it."""
        steps, seconds = self.sums.pop("steps"), self.sums.pop("seconds")
        means = {name: value / steps for name, value in self.sums.items()}
        self.sums.clear()
        record: Record = {"stage": stage.name, "epoch": epoch + 1, "step": self.step, "seconds": seconds, **means}
        self.history.append(record)  # before the evaluation, which adds the guard's score to it
        if self.guard.active or self.callbacks:
            ends = epoch + 1 == stage.epochs or self.step == self.total
            judged = self.guard.update if stage.labeled else lambda _: self.guard.skip()
            with input_errors_as_training_errors():
                self._judge(record, judged, ends_stage=ends)
        if self.on_epoch is not None and distributed.rank() == 0:
            self.on_epoch(self.history)

    def _judge(self, record: Record, update: Callable[[Evaluation], None], *, ends_stage: bool = True) -> None:
        """Evaluate the state, and give it to the guard: in one process, of embeddings by all; the first are known."""
        with self.pace.measuring("evaluation"):  # with a deadline also what embedding takes
            corpus = self._encode_corpus()
            distributed.once(lambda: update(self._evaluate(corpus, record, ends_stage=ends_stage)))

    def _evaluate(self, corpus: Corpus, record: Record, *, ends_stage: bool) -> Evaluation:
        """Assign all items by a copy of the objective, so that evaluating changes nothing in the training."""
        objective = self.objective.evaluation_copy().eval()
        objective.fit_assigner(corpus, self.settings.seed)
        if self.step == 0 and self.guard.active:
            objective.closing = self.untrained
        elif self.close is not None:
            self.close(objective, corpus)
        h = corpus.h.numpy()
        labels = objective.assign_all(h, corpus.items).argmax(axis=1)
        evaluation = Evaluation(record, h, labels, objective, ends_stage)
        with seeded(self.settings.seed):  # random draws of a callback do not change the training
            for callback in self.callbacks:
                callback(replace(evaluation, h=h.copy(), labels=labels.copy()))
        return evaluation

    def _encode_corpus(self) -> Corpus:
        """Return the corpus as it is embedded now: once for the evaluation of an epoch and the hooks of the next."""
        if self.embedded is None:
            self.embedded = distributed.encode(self.objective.network, self.original)
        if not torch.isfinite(self.embedded).all():
            raise TrainingError("the embeddings contain NaN or infinity")
        return replace(self.corpus, h=self.embedded)

    def _stop_message(self) -> str:
        stopped = f"Stopped at step {self.step} of {self.total}."
        if self.checkpoint is None:
            return f"{stopped} Nothing was saved: with a checkpoint (--out or --checkpoint) training could resume."
        if not self.checkpoint.path.exists():
            return f"{stopped} That was before the first checkpoint, so nothing was saved."
        return f"{stopped} The checkpoint is {self.checkpoint.path}: run the same command again to resume."
