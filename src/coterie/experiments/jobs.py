"""A job: one method with one configuration, on one data set, with one encoder and one seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from coterie.augmenters.wordnet_database import has_wordnet
from coterie.clusterer import METHODS
from coterie.datasets import DATASETS
from coterie.datasets.splits import SPLITS
from coterie.encoders.encoder import ENCODERS, Encoder, is_joined, make_encoder
from coterie.encoders.joined import JoinedEncoder
from coterie.errors import InputError
from coterie.experiments.recipe import EXCLUDED, Preset, check_values, recipe_for, variants
from coterie.experiments.user_file import UserFile
from coterie.experiments.views_file import ViewsFile
from coterie.hyper import settings
from coterie.partition_clusterer import PartitionClusterer
from coterie.spec import parse, split_joined
from coterie.wording import did_you_mean

PAPERS = "papers"
"""The name for all of :data:`PAPER_SETS`."""
PAPER_SETS = tuple(name for name, entry in DATASETS.items() if entry.in_papers)
"""The eight data sets that the papers share."""
PLAIN_EDA = "eda(operation=plain)"
"""The augmenter of recipes with EDA where WordNet is not installed."""
Result = dict[str, Any]
"""A line of a results file: the job and its scores."""


@dataclass(frozen=True)
class Job:
    """All that determines a result, as plain values."""

    method: str
    dataset: str
    seed: int
    preset: Preset
    variant: str = ""
    encoder: str = "bundled"
    encoder_params: Mapping[str, Any] = field(default_factory=dict)  # all settings of the encoder
    params: Mapping[str, Any] = field(default_factory=dict)  # all settings of the method
    overrides: Mapping[str, Any] = field(default_factory=dict)  # the settings of the method changed by --set
    split: bool = False  # fit on the training split, score on the test split
    file: UserFile | None = None  # the data set, if it is a user's own file
    views: ViewsFile | None = None  # views that others computed
    n_clusters: int | None = None  # None: the number of classes
    extra: str = ""  # what the result has besides scores: map, topics or pairs

    def to_dict(self) -> Result:
        """Return the part of a result that describes the job."""
        description: Result = {
            "method": self.method,
            "variant": self.variant,
            "preset": self.preset,
            "set": self.dataset,
            "seed": self.seed,
            "encoder": {"name": self.encoder, "params": dict(self.encoder_params)},
            "params": dict(self.params),
            "overrides": dict(self.overrides),
        }
        if self.split:
            description["split"] = True
        if self.file:
            description["file"] = self.file.to_dict()
        if self.views:
            description["views"] = self.views.to_dict()
        if self.n_clusters:
            description["n_clusters"] = self.n_clusters
        return description

    def is_in(self, results: Iterable[Result], *, any_precision: bool = False) -> bool:
        """Whether one of ``results`` is of this job. Settings that a result lacks had their default value.

        ``any_precision``: also if the encoder computed in another number format.
        """
        return any(self._matches(result, any_precision) for result in results)

    def _matches(self, result: Result, any_precision: bool) -> bool:
        description = self.to_dict()
        encoder_params = defaults(ENCODERS[self.encoder]) | result["encoder"]["params"]
        if any_precision and "precision" in self.encoder_params:
            encoder_params["precision"] = self.encoder_params["precision"]
        return (
            all(result[key] == description[key] for key in ("method", "variant", "preset", "set", "seed", "overrides"))
            and result.get("split", False) == self.split
            and all(result.get(key) == description.get(key) for key in ("file", "views", "n_clusters"))
            and (not self.extra or self.extra in result)
            and result["encoder"]["name"] == self.encoder
            and encoder_params == self.encoder_params
            and _effective(all_params(result)) == _effective(self.params)
        )

    def __str__(self) -> str:
        method = f"{self.method}/{self.variant}" if self.variant else self.method
        changed = "".join(f" {name}={value}" for name, value in self.overrides.items())
        split = " (test split)" if self.split else ""
        return f"{self.dataset}{split} {method}{changed} seed {self.seed}"


def expand(  # noqa: PLR0913
    methods: Sequence[str],
    sets: Sequence[str],
    n_seeds: int,
    preset: Preset,
    *,
    variant: str = "",
    encoder: str = "",
    precision: str = "",
    overrides: Mapping[str, str] | None = None,
    split: bool = False,
    files: Mapping[str, UserFile] | None = None,
    views: ViewsFile | None = None,
) -> list[Job]:
    """Return a job for every combination. All jobs of the first seed come first; some methods need no other.

    A variant or an override applies to the methods that have it. If no method has it, :class:`InputError` is raised.
    ``files`` are the data sets that are users' own files, by name. ``views`` are for the methods that have views.
    ``precision`` is for the encoders that have it.
    """
    if n_seeds < 1 or not methods or not sets:
        raise InputError("Nothing to run: give at least one method, one data set and one seed.")
    for method in methods:
        METHODS[method]  # raises for an unknown name
    files = files or {}
    datasets = [*expand_sets([name for name in sets if name not in files]), *files]
    if split and (unsplit := [name for name in datasets if name not in SPLITS]):
        raise InputError(f"The data set {unsplit[0]!r} has no training and test split. There are: {', '.join(SPLITS)}.")
    if variant and not any(variant in variants(method) for method in methods):
        known = [f"{method}: {', '.join(variants(method)) or 'none'}" for method in methods]
        raise InputError(f"There is no variant called {variant!r}. There are, for {'; for '.join(known)}.")
    checked = {method: _check_overrides(overrides or {}, method, methods) for method in methods}
    jobs = []
    for seed in range(n_seeds):
        for dataset in datasets:
            for method in checked:
                name = variant if variant in variants(method) else ""
                grid = recipe_for(method, dataset, preset, name).grid
                given = views if "augmenter" in defaults(METHODS[method]) else None
                job = Job(method, dataset, seed, preset, name, split=split, file=files.get(dataset), views=given)
                for point in _points(grid, checked[method]):
                    jobs.append(with_precision(_resolve(job, encoder, point | checked[method]), precision))
    return [job for job in jobs if job.seed == 0 or _is_random(job)]


def _is_random(job: Job) -> bool:
    """Whether another seed may give another result."""
    model = METHODS[job.method](**job.params)
    return not isinstance(model, PartitionClusterer) or model.is_random


def with_precision(job: Job, precision: str) -> Job:
    """Return ``job`` with another number format of its encoder, or of the joined ones, where they have one."""
    if not precision:
        return job
    if job.encoder == JoinedEncoder.name:
        joined = JoinedEncoder(**job.encoder_params)
        parts = [ENCODERS[part.name](**_in_format(part.params(), precision)) for part in joined.parts]
        return replace(job, encoder_params=JoinedEncoder(encoders=parts, weights=joined.weights).params())
    return replace(job, encoder_params=_in_format(job.encoder_params, precision))


def has_precision(job: Job) -> bool:
    """Whether the number format of the encoder, or of a joined one, can be chosen."""
    return with_precision(job, "float32") != with_precision(job, "bfloat16")


def _in_format(params: Mapping[str, Any], precision: str) -> dict[str, Any]:
    """Return the settings of an encoder with another number format, if it has one."""
    return {**params, "precision": precision} if "precision" in params else dict(params)


def _points(grid: Mapping[str, Sequence[Any]], overrides: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every combination of the values of a grid; an override replaces the values of its setting."""
    free = {name: values for name, values in grid.items() if name not in overrides}
    return [dict(zip(free, values, strict=True)) for values in product(*free.values())]


def expand_sets(names: Sequence[str]) -> list[str]:
    """Return the names of data sets without duplicates, with "papers" replaced by :data:`PAPER_SETS`."""
    expanded: dict[str, None] = {}  # used as an ordered set
    for name in names:
        expanded |= dict.fromkeys(PAPER_SETS if name == PAPERS else [name])
    if unknown := [name for name in expanded if name not in DATASETS]:
        hint = did_you_mean(unknown[0], [PAPERS, *DATASETS])
        known = ", ".join([PAPERS, *DATASETS])
        raise InputError(f"There is no data set called {unknown[0]!r}.{hint} There are: {known}.")
    return list(expanded)


def defaults(cls: type) -> dict[str, Any]:
    """Return the default values of all settings that influence a result."""
    return {setting.name: setting.default for setting in settings(cls) if setting.name not in EXCLUDED}


def all_params(result: Result) -> dict[str, Any]:
    """Return all settings of a result. Settings that were added after it was written have their default value."""
    return {**defaults(METHODS[result["method"]]), **result["params"]}


def _effective(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings without patience where the guard is off: there is no score to wait for."""
    return {**params, "patience": None} if params.get("guard") == "off" else params


def _resolve(job: Job, encoder: str, overrides: dict[str, Any]) -> Job:
    """Return ``job`` with all settings, from its recipe, ``encoder`` and ``overrides``."""
    recipe = recipe_for(job.method, job.dataset, job.preset, job.variant)
    name = recipe.encoder
    encoder_settings = dict(recipe.encoder_settings)
    if encoder:
        requested = _with_settings(encoder, encoder_settings)
        name, encoder_settings = requested.name, requested.params()
        encoder_settings = {key: value for key, value in encoder_settings.items() if key not in EXCLUDED}
    wanted = "texts" if job.file else DATASETS[job.dataset].input_type
    if (found := ENCODERS[name].input_type) != wanted:
        raise InputError(f"The encoder {name!r} reads {found}, but the data set {job.dataset!r} has {wanted}.")
    default_params = defaults(METHODS[job.method])
    params = default_params | dict(recipe.settings) | overrides
    default_augmenter = ENCODERS[name].default_augmenter
    if default_augmenter and params.get("augmenter") == default_params.get("augmenter", ""):
        params["augmenter"] = default_augmenter  # record the augmenter that is used, e.g. crop for images
    elif job.views and "augmenter" not in overrides:
        params["augmenter"] = f"columns:{','.join(job.views.columns)}"
    elif params.get("augmenter") == "eda" and "augmenter" not in overrides and not has_wordnet():
        params["augmenter"] = PLAIN_EDA
    encoder_params = defaults(ENCODERS[name]) | encoder_settings
    if "seed" in encoder_params:  # as random as the method: seeds count on from that of the recipe
        encoder_params["seed"] += job.seed
    return replace(
        job,
        encoder=name,
        encoder_params=encoder_params,
        params=params,
        overrides=overrides,
    )


def _with_settings(spec: str, values: Mapping[str, Any]) -> Encoder:
    """Return the encoder of ``spec``; what it does not set, e.g. max_length, is set as for the recipe's encoder."""
    encoder = make_encoder(spec)
    if isinstance(encoder, JoinedEncoder):
        inner = spec if is_joined(spec) else parse(spec, ENCODERS)[1].get("encoders", encoder.encoders)
        parts = [_with_settings(part, values) for part in split_joined(str(inner), ENCODERS)]
        return JoinedEncoder(encoders=parts, weights=encoder.weights)
    name, given = parse(spec, ENCODERS, kind="encoder")
    usual = defaults(ENCODERS[name])
    return ENCODERS[name](**{key: value for key, value in values.items() if key in usual} | given)


def _check_overrides(values: Mapping[str, str], method: str, methods: Sequence[str]) -> dict[str, Any]:
    """Return the overrides for ``method``, without those that only other methods have."""
    own = defaults(METHODS[method])
    known = {name for other in methods for name in defaults(METHODS[other])}
    relevant = {name: text for name, text in values.items() if name in own or name not in known}
    return check_values(relevant, METHODS[method], f"--set, {method}:")
