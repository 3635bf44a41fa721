"""The plan of a training: its stages one after the other, in epochs; and how a step of it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coterie.contracts import Stage


def stage_of(stages: Sequence[Stage], number: int) -> tuple[Stage, int]:
    """Return the stage of epoch ``number``, counted over all stages, and the epoch within it."""
    for stage in stages:
        if number < stage.epochs:
            return stage, number
        number -= stage.epochs
    raise IndexError(number)


def note(stages: Sequence[Stage], stage: Stage, epoch: str, terms: Mapping[str, float]) -> str:
    """Return the epoch, the stage where there are several, and the loss terms of a step, for the progress bar."""
    name = [stage.name] if len(stages) > 1 else []
    return ", ".join([epoch, *name, " ".join(f"{name} {value:.3f}" for name, value in terms.items())])
