"""A recipe: how a method is run on a set, as a file, with the published score and what the paper leaves open.

``recipes/<method>/default.toml`` is the paper's setting, ``<set>.toml`` what it changes for one set and the score it
reports there, ``cpu.toml`` our one setting for every set on two cores, ``images.toml`` what either changes for images
and ``cpu-images.toml`` what ours does; any other file is a variant laid over these.
TOML has no null: a setting that may be None is written "none", as after ``--set``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal

from coterie.clusterer import METHODS
from coterie.data.datasets import SOURCES
from coterie.encoders.encoder import ENCODERS
from coterie.errors import InputError
from coterie.hyper import settings

Preset = Literal["paper", "cpu"]
DECIDED = frozenset(
    {"n_clusters", "encoder", "random_state", "on_empty", "verbose", "device"}
    | {"checkpoint", "checkpoint_every", "log_dir", "log_format"}
)
"""What the runner decides itself, or what decides nothing."""
_FOLDER = files("coterie.benchmarks") / "recipes"
_BASE = {"paper": "default", "cpu": "cpu"}
_IMAGES = "images"
_TABLES, _LISTS = ("settings", "sets", "encoder", "published"), ("protocol", "unsaid", "departures")


@dataclass(frozen=True)
class Published:
    """A score in percent, and where it is printed."""

    acc: float
    nmi: float
    source: str


@dataclass(frozen=True)
class Recipe:
    """What one file says."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    sets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # settings for single sets
    encoder: str = ""
    encoder_settings: Mapping[str, Any] = field(default_factory=dict)
    published: Published | None = None
    protocol: tuple[str, ...] = ()  # what the paper does
    unsaid: tuple[str, ...] = ()  # what it does not say, and what is taken here
    departures: tuple[str, ...] = ()  # where this differs from it, and why


def recipe_for(method: str, dataset: str, preset: Preset, variant: str = "") -> Recipe:
    """Return the settings and the encoder of a method on a set, all files that speak of it laid over each other."""
    kind = SOURCES[dataset].kind
    of_images = [_IMAGES, f"{_BASE[preset]}-{_IMAGES}"] if kind == "images" else []
    names = [_BASE[preset], *of_images, *([dataset] if preset == "paper" else []), *([variant] if variant else [])]
    if names[0] not in recipe_names(method):
        raise InputError(f"The method {method!r} has no recipe {method}/{names[0]}.toml for the preset {preset!r}.")
    layers = [layer for name in names if (layer := read_recipe(method, name))]
    merged: dict[str, Any] = {}
    for layer in layers:
        merged |= {**layer.settings, **layer.sets.get(dataset, {})}
    encoder = [layer for layer in layers if layer.encoder and ENCODERS[layer.encoder].reads == kind]
    if of_images and not encoder:
        return Recipe(settings=merged, encoder="image")
    if not encoder:
        raise InputError(f"The recipe {method}/{names[0]}.toml names no encoder: [encoder] name = ...")
    return Recipe(settings=merged, encoder=encoder[-1].encoder, encoder_settings=encoder[-1].encoder_settings)


def read_recipe(method: str, name: str) -> Recipe | None:
    """Return what ``recipes/<method>/<name>.toml`` says; None when there is no such file."""
    path = _FOLDER / method / f"{name}.toml"
    if not path.is_file():
        return None
    where = f"The recipe {method}/{name}.toml"
    try:
        return parse_recipe(tomllib.loads(path.read_text(encoding="utf-8")), method, where)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not TOML: {error}.") from None


def published(method: str, dataset: str) -> Published | None:
    """Return the score that is printed for a method on a set."""
    recipe = read_recipe(method, dataset)
    return recipe.published if recipe else None


def recipe_names(method: str) -> list[str]:
    """Return the files of a method, without their suffix."""
    folder = _FOLDER / method
    return sorted(path.name.removesuffix(".toml") for path in folder.iterdir()) if folder.is_dir() else []


def variants(method: str) -> list[str]:
    """Return the names that ``--variant`` takes."""
    bases = [*_BASE.values(), _IMAGES, *(f"{base}-{_IMAGES}" for base in _BASE.values())]
    return [name for name in recipe_names(method) if name not in (*bases, *SOURCES)]


def methods() -> list[str]:
    """Return the methods that have recipes."""
    return sorted(path.name for path in _FOLDER.iterdir() if path.is_dir())


def parse_recipe(told: dict[str, Any], method: str, where: str) -> Recipe:
    """Check everything that a recipe says, or raise :class:`InputError` naming the file and the key."""
    for key, value in told.items():
        if key not in _TABLES + _LISTS:
            raise InputError(f"{where} has {key!r}, which means nothing here. Write {', '.join(_TABLES + _LISTS)}.")
        if key in _LISTS and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            raise InputError(f"{where}: {key} must be a list of sentences.")
        if key in _TABLES and not isinstance(value, dict):
            raise InputError(f"{where}: [{key}] must be a table.")
    cls = METHODS[method]
    if unknown := [name for name in told.get("sets", {}) if name not in SOURCES]:
        raise InputError(f"{where}: [sets.{unknown[0]}] is no data set. There are: {', '.join(SOURCES)}.")
    encoder = dict(told.get("encoder", {}))
    name = str(encoder.pop("name", ""))
    if "encoder" in told and name not in ENCODERS:
        raise InputError(f"{where}: [encoder] name must be one of {', '.join(ENCODERS)}, got {name!r}.")
    return Recipe(
        settings=check_values(told.get("settings", {}), cls, f"{where}: [settings]"),
        sets={key: check_values(value, cls, f"{where}: [sets.{key}]") for key, value in told.get("sets", {}).items()},
        encoder=name,
        encoder_settings=check_values(encoder, ENCODERS[name], f"{where}: [encoder]") if name else {},
        published=_published(told["published"], where) if "published" in told else None,
        **{key: tuple(told.get(key, ())) for key in _LISTS},
    )


def check_values(told: Mapping[str, Any], cls: type, where: str) -> dict[str, Any]:
    """Return the values of settings of ``cls``, words turned into what they stand for."""
    declared = {setting.name: setting for setting in settings(cls) if setting.name not in DECIDED}
    values = {}
    for name, value in told.items():
        if name in DECIDED:
            raise InputError(f"{where} {name}: the benchmark decides this itself.")
        if name not in declared:
            raise InputError(f"{where} {name}: there are the settings {', '.join(declared)}.")
        if isinstance(value, str):
            try:
                value = declared[name].parse(value)
            except InputError as error:
                raise InputError(f"{where} {error}") from None
        if not declared[name].accepts(value):
            raise InputError(f"{where} {name}={value}: must be {declared[name].rule}.")
        values[name] = value
    return values


def _published(told: Mapping[str, Any], where: str) -> Published:
    try:
        score = Published(**told)
        if 0 <= score.acc <= 100 and 0 <= score.nmi <= 100 and score.source:
            return score
    except TypeError:
        pass
    raise InputError(f"{where}: [published] must have acc and nmi in percent, and their source.")
