"""What `coterie cluster` passes to methods that train an encoder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.cli.reading import Input
    from coterie.clusterer import Clusterer


def training_settings(
    cls: type[Clusterer], *, augment: str | None, checkpoint: Path | None, log_dir: Path | None, out: Path | None
) -> dict[str, Any]:
    """Return the settings that the options stand for; refuse them where nothing is trained."""
    from coterie.deep import DeepClusterer
    from coterie.errors import InputError

    asked = {"--augment": augment, "--checkpoint": checkpoint, "--log-dir": log_dir}
    if not issubclass(cls, DeepClusterer):
        for option, value in asked.items():
            if value is not None:
                raise InputError(f"{option} is for methods that train; {cls.name!r} trains nothing.")
        return {}
    if checkpoint is None and out is not None:
        checkpoint = out.parent / f"{out.name}.checkpoint"
    settings = {"augmenter": augment, "checkpoint": checkpoint, "log_dir": log_dir}
    return {name: value for name, value in settings.items() if value is not None}


def given_views(model: Clusterer, given: Input) -> dict[str, Any]:
    """Return the columns that hold the user's own views, when the augmenter asks for them."""
    from coterie.augmenters.augmenter import make_augmenter
    from coterie.augmenters.given import GivenAugmenter
    from coterie.deep import DeepClusterer
    from coterie.errors import InputError

    if not isinstance(model, DeepClusterer):
        return {}
    augmenter = make_augmenter(model.augmenter)
    if not isinstance(augmenter, GivenAugmenter):
        return {}
    columns = given.table.columns
    if missing := [name for name in augmenter.names if name not in columns]:
        there = ", ".join(map(repr, columns))
        raise InputError(f"--augment {model.augmenter}: there is no column {missing[0]!r}; there are {there}.")
    return {"views": [columns[name] for name in augmenter.names]}
