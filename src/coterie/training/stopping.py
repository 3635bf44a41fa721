"""When a training ends before its plan does: the score of the guard no longer rises, or the time is up."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from coterie.errors import InputError, TrainingError
from coterie.training.distributed import once


@dataclass(frozen=True)
class Stopping:
    """What may end a training early; by default nothing. Of several processes the first decides."""

    patience: int | None = None  # epochs without a higher score of the guard
    deadline: float | None = None  # by time.perf_counter(): when the whole fit should be done

    def is_stale(self, history: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the score of the guard has not risen for as many of these epochs as there is patience."""
        patience = self.patience
        return patience is not None and once(lambda: _epochs_since_best(history) >= patience)

    def is_late(self, after: float) -> bool:
        """Whether the time that is left is only enough for the seconds that follow the training."""
        deadline = self.deadline
        return deadline is not None and once(lambda: time.perf_counter() + after > deadline)


def _epochs_since_best(history: Sequence[Mapping[str, Any]]) -> int:
    scores = [record["guard"] for record in history if "guard" in record]
    return len(scores) - 1 - scores.index(max(scores)) if scores else 0


@contextmanager
def input_errors_as_training_errors() -> Iterator[None]:
    """Explain an input error that training has caused: the items were fine at the start."""
    try:
        yield
    except InputError as error:
        raise TrainingError("the embeddings have become too similar to separate the clusters") from error
