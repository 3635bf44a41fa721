"""How long the steps of a training take, and what is between and after them: for the time left, and for a deadline."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_AFTER_TRAINING = 3.0  # evaluations: the final embeddings, the assignment and the description take as long as two
_NOT_TYPICAL = 1  # first step, which allocates memory: it counts only until the next


@dataclass
class Pace:
    """Seconds that were measured in one training."""

    steps: float = 0.0  # of all steps but the first
    n_steps: int = 0
    hooks: float = 0.0  # of the last hooks between two epochs
    evaluation: float = 0.0  # of the last evaluation

    def step_done(self, seconds: float) -> None:
        """Count a step."""
        self.n_steps += 1
        self.steps = seconds if self.n_steps <= 1 + _NOT_TYPICAL else self.steps + seconds

    @contextmanager
    def measuring(self, what: str) -> Iterator[None]:
        """Measure the hooks or the evaluation in this block."""
        started = time.perf_counter()
        yield
        setattr(self, what, time.perf_counter() - started)

    @property
    def after(self) -> float:
        """Seconds from the last step to the end of the fit. Hooks embed and cluster; the first evaluation may not."""
        return _AFTER_TRAINING * max(self.evaluation, self.hooks)

    def left(self, n_steps: int, n_epochs: int) -> float:
        """Seconds of so many more steps, of the epochs that begin with them, and of what follows the training."""
        step = self.steps / max(self.n_steps - _NOT_TYPICAL, 1)
        between = max(self.evaluation, self.hooks) + self.hooks
        return n_steps * step + n_epochs * between + self.after
