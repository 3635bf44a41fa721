"""A job: one method with one setting, on one set, by one encoder, from one seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coterie.benchmarks.recipes import DECIDED, Preset, check_values, recipe_for, variants
from coterie.clusterer import METHODS
from coterie.data.datasets import SOURCES
from coterie.data.splits import SPLITS
from coterie.encoders.encoder import ENCODERS, make_encoder
from coterie.errors import InputError
from coterie.hyper import settings

PAPERS = "papers"
"""The name that stands for the eight sets that the papers share."""
PAPER_SETS = tuple(
    name for name, source in SOURCES.items() if source.kind == "texts" and name not in ("helpdesk", "bbc", "bbc-6000")
)
Result = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """Everything that decides a result, in plain values."""

    method: str
    dataset: str
    seed: int
    preset: Preset
    variant: str = ""
    encoder: str = "bundled"
    encoder_params: Mapping[str, Any] = field(default_factory=dict)  # all of them
    params: Mapping[str, Any] = field(default_factory=dict)  # all of them
    overrides: Mapping[str, Any] = field(default_factory=dict)  # those of `params` that the caller asked for
    split: bool = False  # learn from one part of the set, be judged on the other

    def head(self) -> Result:
        """Return the part of a result that says what was asked."""
        return {
            "method": self.method, "variant": self.variant, "preset": self.preset, "set": self.dataset,
            "seed": self.seed, "encoder": {"name": self.encoder, "params": dict(self.encoder_params)},
            "params": dict(self.params), "overrides": dict(self.overrides),
        } | ({"split": True} if self.split else {})  # fmt: skip

    def is_in(self, results: Iterable[Result]) -> bool:
        """Whether one of ``results`` is this job's; a setting that a result does not know had its default."""
        head = self.head()
        plain = ("method", "variant", "preset", "set", "seed", "overrides")
        return any(
            all(result[key] == head[key] for key in plain)
            and result.get("split", False) == self.split
            and result["encoder"]["name"] == self.encoder
            and defaults(ENCODERS[self.encoder]) | result["encoder"]["params"] == self.encoder_params
            and complete(result) == self.params
            for result in results
        )

    def __str__(self) -> str:
        name = self.method + (f"/{self.variant}" if self.variant else "")
        changed = "".join(f" {key}={value}" for key, value in self.overrides.items())
        part = " (test part)" if self.split else ""
        return f"{self.dataset}{part} {name}{changed} seed {self.seed}"


def expand(  # noqa: PLR0913
    methods: Sequence[str],
    sets: Sequence[str],
    n_seeds: int,
    preset: Preset,
    *,
    variant: str = "",
    encoder: str = "",
    overrides: Mapping[str, str] | None = None,
    split: bool = False,
) -> list[Job]:
    """Return the jobs, every set from the first seed before any from the second.

    A variant and an override concern the methods that know them; one that no method knows is refused.
    """
    if n_seeds < 1 or not methods or not sets:
        raise InputError("Nothing to run: name one method, one set and one seed at least.")
    for method in methods:
        METHODS[method]  # raises, and names those there are
    datasets = expand_sets(sets)
    if split and (whole := [name for name in datasets if name not in SPLITS]):
        raise InputError(f"The set {whole[0]!r} has no train and test part. There are: {', '.join(SPLITS)}.")
    if variant and not any(variant in variants(method) for method in methods):
        there = [f"{method}: {', '.join(variants(method)) or 'none'}" for method in methods]
        raise InputError(f"There is no variant called {variant!r}. There are, for {'; for '.join(there)}.")
    asked = {method: _overrides(overrides or {}, method, methods) for method in methods}
    return [
        _settled(
            Job(method, dataset, seed, preset, variant if variant in variants(method) else "", split=split),
            encoder,
            asked[method],
        )
        for seed in range(n_seeds)
        for dataset in datasets
        for method in asked
    ]


def expand_sets(words: Sequence[str]) -> list[str]:
    """Return the names of sets, each once, with the papers' sets for the word that stands for them."""
    names = list(dict.fromkeys(name for word in words for name in (PAPER_SETS if word == PAPERS else [word])))
    if unknown := [name for name in names if name not in SOURCES]:
        raise InputError(f"There is no data set called {unknown[0]!r}. There are: {PAPERS}, {', '.join(SOURCES)}.")
    return names


def defaults(cls: type) -> dict[str, Any]:
    """Return the defaults of everything that decides a result."""
    return {setting.name: setting.default for setting in settings(cls) if setting.name not in DECIDED}


def complete(result: Result) -> dict[str, Any]:
    """Return all settings of a result; one that is younger than the result has its default."""
    return {**defaults(METHODS[result["method"]]), **result["params"]}


def _settled(job: Job, encoder: str, overrides: dict[str, Any]) -> Job:
    """Return ``job`` with everything that its recipe and the caller say."""
    recipe = recipe_for(job.method, job.dataset, job.preset, job.variant)
    name, chosen = recipe.encoder, dict(recipe.encoder_settings)
    if encoder:  # the length of texts, say, is the recipe's for every encoder that has one
        made = make_encoder(encoder)
        name, own = made.name, defaults(type(made))
        given = {key: value for key, value in made.params().items() if key in own and value != own[key]}
        chosen = {key: value for key, value in chosen.items() if key in own} | given
    usual = defaults(METHODS[job.method])
    params = usual | dict(recipe.settings) | overrides
    if ENCODERS[name].augmenter and params.get("augmenter") == usual.get("augmenter", ""):
        params["augmenter"] = ENCODERS[name].augmenter  # what really makes the views
    return replace(
        job,
        encoder=name,
        encoder_params=defaults(ENCODERS[name]) | chosen,
        params=params,
        overrides=overrides,
    )


def _overrides(told: Mapping[str, str], method: str, methods: Sequence[str]) -> dict[str, Any]:
    known = {name for other in methods for name in defaults(METHODS[other])}
    own = defaults(METHODS[method])
    mine = {name: text for name, text in told.items() if name in own or name not in known}
    return check_values(mine, METHODS[method], f"--set, {method}:")
