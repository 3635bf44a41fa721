"""Options of `coterie cluster` and `coterie adapt` for methods that train an encoder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.cli.output import say

TRAINED = "refine"
"""The method that --train means."""

if TYPE_CHECKING:
    from coterie.cli.input import Input
    from coterie.clusterer import Clusterer


def training_settings(
    cls: type[Clusterer],
    *,
    augment: str | None,
    checkpoint: Path | None,
    log_dir: Path | None,
    time_budget: str | None = None,
    out: Path | None,
) -> dict[str, Any]:
    """Return the settings that the options set; raise an error if the method trains nothing."""
    from coterie.deep import DeepClusterer
    from coterie.errors import InputError
    from coterie.experiments.estimate import parse_duration

    options = {"--augment": augment, "--checkpoint": checkpoint, "--log-dir": log_dir, "--time-budget": time_budget}
    if not issubclass(cls, DeepClusterer):
        for option, value in options.items():
            if value is not None:
                raise InputError(f"{option} is for methods that train; {cls.name!r} trains nothing.")
        return {}
    if checkpoint is None and out is not None:
        checkpoint = out.parent / f"{out.name}.checkpoint"
    seconds = None if time_budget is None else parse_duration(time_budget)
    settings = {"augmenter": augment, "checkpoint": checkpoint, "log_dir": log_dir, "time_budget": seconds}
    return {name: value for name, value in settings.items() if value is not None}


def chosen_method(method: str | None, *, train: bool) -> str:
    """Return the method: the one that is named, or with --train the one that we recommend for training."""
    from coterie.errors import InputError

    if method is not None and train:
        raise InputError(f"--train means the method {TRAINED!r}, but --method names {method!r}: use one of the two.")
    return TRAINED if train else method or "neighbors"


@contextmanager
def kept_checkpoint(model: Clusterer) -> Iterator[None]:
    """Say where a finished training is kept if its results cannot be written."""
    path = getattr(model, "checkpoint", None)
    try:
        yield
    except (OSError, KeyboardInterrupt):
        if path is not None and Path(path).exists():
            say(f"The finished training is kept in {path}: run the same command again to write its results.")
        raise


def view_columns(model: Clusterer, given: Input) -> dict[str, Any]:
    """Return the argument ``views`` of ``fit`` if the augmenter reads the views from columns of the table."""
    from coterie.augmenters.augmenter import make_augmenter
    from coterie.augmenters.columns import ColumnsAugmenter
    from coterie.deep import DeepClusterer
    from coterie.errors import InputError
    from coterie.printable import listed

    if not isinstance(model, DeepClusterer):
        return {}
    augmenter = make_augmenter(model.augmenter)
    if not isinstance(augmenter, ColumnsAugmenter):
        return {}
    columns = given.table.columns
    if missing := [name for name in augmenter.names if name not in columns]:
        raise InputError(
            f"--augment {model.augmenter}: there is no column {missing[0]!r}; there are {listed(columns)}."
        )
    return {"views": [columns[name] for name in augmenter.names]}
