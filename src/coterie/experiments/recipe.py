"""A recipe: the settings of a method for an experiment, in a TOML file.

The files of a method are in ``recipes/<method>/``:

- ``default.toml``: the settings of the paper (preset "paper").
- ``cpu.toml``: our settings for two CPU cores, the same for every data set (preset "cpu").
- ``images.toml``: changes to either for data sets of images; ``cpu-images.toml``: further changes to ``cpu.toml``.
- ``<data set>.toml``: changes to ``default.toml`` for one data set, and the published score.
- Any other file is a variant, e.g. an ablation: changes to all of the above.

Published scores of several data sets may also be in ``default.toml`` or a variant: ``[published]`` with a ``source``,
and a line ``<data set> = [ACC, NMI]`` for each; ``why`` says why ours differ. ``[grid]`` lists values of settings: a
run for each combination. TOML has no null: write "none" for a setting that is None.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from coterie.clusterer import METHODS
from coterie.datasets import DATASETS
from coterie.encoders.encoder import ENCODERS
from coterie.errors import InputError
from coterie.hyper import settings
from coterie.wording import did_you_mean

Preset = Literal["paper", "cpu"]
EXCLUDED = frozenset(
    {
        "n_clusters",
        "encoder",
        "random_state",
        "on_empty",
        "verbose",
        "device",
        "checkpoint",
        "checkpoint_every",
        "log_dir",
        "log_format",
        "time_budget",
    }
)
"""Settings that a recipe cannot set: the runner sets them, or they do not influence a result."""
_FOLDER = files("coterie.experiments") / "recipes"
_BASE = {"paper": "default", "cpu": "cpu"}
_IMAGES = "images"
_TABLES = ("settings", "sets", "grid", "encoder", "published")
_LISTS = ("protocol", "unspecified", "departures")
_KEYS = _TABLES + _LISTS


@dataclass(frozen=True)
class Published:
    """A published score in percent, its source, and why ours differs."""

    acc: float
    nmi: float
    source: str
    why: str = ""


@dataclass(frozen=True)
class Recipe:
    """The content of one file."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    sets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # settings for single data sets
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # several values of a setting
    encoder: str = ""
    encoder_settings: Mapping[str, Any] = field(default_factory=dict)
    published: Published | Mapping[str, Published] | None = None  # of the data set of the file, or by data set
    protocol: tuple[str, ...] = ()  # what the paper does
    unspecified: tuple[str, ...] = ()  # what the paper does not specify, and our choice
    departures: tuple[str, ...] = ()  # where the recipe differs from the paper, and why


def recipe_for(method: str, dataset: str, preset: Preset, variant: str = "") -> Recipe:
    """Return the settings and the encoder of a method on a data set, merged from all files that apply.

    A method without a recipe has its default settings; a user's own file has the settings that hold for all data sets.
    """
    base = _BASE[preset]
    input_type = DATASETS[dataset].input_type if dataset in DATASETS else "texts"
    if base not in recipe_names(method):
        return Recipe(encoder="image" if input_type == "images" else "bundled")
    names = [base]
    if input_type == "images":
        names += [_IMAGES, f"{base}-{_IMAGES}"]
    if preset == "paper" and dataset in DATASETS:
        names.append(dataset)
    if variant:
        names.append(variant)
    recipes = [recipe for name in names if (recipe := read_recipe(method, name))]

    merged: dict[str, Any] = {}
    grid: dict[str, tuple[Any, ...]] = {}
    for recipe in recipes:
        merged |= {**recipe.settings, **recipe.sets.get(dataset, {})}
        grid |= recipe.grid
    with_encoder = [r for r in recipes if r.encoder and ENCODERS[r.encoder].input_type == input_type]
    if with_encoder:
        last = with_encoder[-1]
        return Recipe(settings=merged, grid=grid, encoder=last.encoder, encoder_settings=last.encoder_settings)
    if input_type == "images":
        return Recipe(settings=merged, grid=grid, encoder="image")
    raise InputError(f"The recipe {method}/{base}.toml has no encoder: [encoder] name = ...")


@cache
def read_recipe(method: str, name: str) -> Recipe | None:
    """Return the recipe in ``recipes/<method>/<name>.toml``; None when there is no such file."""
    path = _FOLDER / method / f"{name}.toml"
    if not path.is_file():
        return None
    where = f"The recipe {method}/{name}.toml"
    try:
        return parse_recipe(tomllib.loads(path.read_text(encoding="utf-8")), method, where)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not TOML: {error}.") from None


def published(method: str, dataset: str, variant: str = "") -> Published | None:
    """Return the published score of a method on a data set; None when there is none.

    A variant with scores of its own has only those.
    """
    for name in (variant, dataset, _BASE["paper"]):
        recipe = read_recipe(method, name) if name else None
        if recipe is None or recipe.published is None:
            continue
        if isinstance(recipe.published, Published):
            return recipe.published
        return recipe.published.get(dataset)
    return None


def recipe_names(method: str) -> list[str]:
    """Return the names of a method's recipes: the files without ``.toml``."""
    folder = _FOLDER / method
    return sorted(path.name.removesuffix(".toml") for path in folder.iterdir()) if folder.is_dir() else []


def variants(method: str) -> list[str]:
    """Return the names that ``--variant`` accepts for a method."""
    bases = [*_BASE.values(), _IMAGES, *(f"{base}-{_IMAGES}" for base in _BASE.values())]
    return [name for name in recipe_names(method) if name not in bases and name not in DATASETS]


def methods() -> list[str]:
    """Return the methods that have recipes."""
    return sorted(path.name for path in _FOLDER.iterdir() if path.is_dir())


def parse_recipe(content: dict[str, Any], method: str, where: str) -> Recipe:
    """Return the recipe in ``content``, or raise :class:`InputError` with ``where`` and the key that is wrong."""
    for key, value in content.items():
        _check_key(key, value, where)
    cls = METHODS[method]
    sets = content.get("sets", {})
    if unknown := [name for name in sets if name not in DATASETS]:
        raise InputError(f"{where}: [sets.{unknown[0]}] is not a data set. There are: {', '.join(DATASETS)}.")
    encoder_settings = dict(content.get("encoder", {}))
    encoder = str(encoder_settings.pop("name", ""))
    if "encoder" in content and encoder not in ENCODERS:
        raise InputError(f"{where}: [encoder] name must be one of {', '.join(ENCODERS)}, got {encoder!r}.")
    return Recipe(
        settings=check_values(content.get("settings", {}), cls, f"{where}: [settings]"),
        sets={name: check_values(values, cls, f"{where}: [sets.{name}]") for name, values in sets.items()},
        grid={name: _parse_grid(name, content["grid"], cls, where) for name in content.get("grid", {})},
        encoder=encoder,
        encoder_settings=check_values(encoder_settings, ENCODERS[encoder], f"{where}: [encoder]") if encoder else {},
        published=_parse_published(content["published"], where) if "published" in content else None,
        **{key: tuple(content.get(key, ())) for key in _LISTS},
    )


def check_values(values: Mapping[str, Any], cls: type, where: str) -> dict[str, Any]:
    """Return ``values`` of settings of ``cls``, with strings such as "none" or "3" converted."""
    declared = {setting.name: setting for setting in settings(cls) if setting.name not in EXCLUDED}
    checked = {}
    for name, value in values.items():
        if name in EXCLUDED:
            raise InputError(f"{where} {name}: a recipe or --set cannot change this setting.")
        if name not in declared:
            hint = did_you_mean(name, declared)
            raise InputError(f"{where} {name}: no such setting.{hint} There are: {', '.join(declared)}.")
        setting = declared[name]
        if isinstance(value, str):
            try:
                value = setting.parse(value)
            except InputError as error:
                raise InputError(f"{where} {error}") from None
        if not setting.accepts(value):
            raise InputError(f"{where} {name}={value}: must be {setting.rule}.")
        checked[name] = value
    return checked


def _parse_grid(name: str, grid: Mapping[str, Any], cls: type, where: str) -> tuple[Any, ...]:
    if not isinstance(grid[name], list) or not grid[name]:
        raise InputError(f"{where}: [grid] {name} must be a list of values.")
    return tuple(check_values({name: value}, cls, f"{where}: [grid]")[name] for value in grid[name])


def _check_key(key: str, value: Any, where: str) -> None:
    if key not in _KEYS:
        raise InputError(f"{where} has an unknown key {key!r}. The keys are {', '.join(_KEYS)}.")
    if key in _LISTS and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        raise InputError(f"{where}: {key} must be a list of sentences.")
    if key in _TABLES and not isinstance(value, dict):
        raise InputError(f"{where}: [{key}] must be a table.")


def _parse_published(content: Mapping[str, Any], where: str) -> Published | dict[str, Published]:
    try:
        if "acc" in content or "nmi" in content:
            return _valid(Published(**content))
        scores = {name: score for name, score in content.items() if name not in ("source", "why")}
        if not scores or not set(scores) <= set(DATASETS):
            raise ValueError
        source, why = content["source"], content.get("why", "")
        return {name: _valid(Published(acc, nmi, source, why)) for name, (acc, nmi) in scores.items()}
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"{where}: [published] must have acc and nmi in percent, and their source; or the source, and [ACC, NMI] "
            "for each data set."
        ) from None


def _valid(score: Published) -> Published:
    if not (0 <= score.acc <= 100 and 0 <= score.nmi <= 100 and score.source):
        raise ValueError
    return score
