"""`coterie bench`: measure methods on the papers' sets, and show ours beside the published."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli import options
from coterie.cli.errors import guarded
from coterie.cli.tables import say

if TYPE_CHECKING:
    from coterie.benchmarks.jobs import Result
    from coterie.benchmarks.run import Outcome

app = typer.Typer(help="Measure methods on the papers' sets, beside the published scores.", no_args_is_help=True)


class Preset(StrEnum):
    """Which recipes are used."""

    paper = "paper"
    cpu = "cpu"


def run(
    methods: Annotated[str, typer.Option("--methods", "-m", help="Between commas; `coterie methods` lists them.")],
    sets: Annotated[
        str, typer.Option("--sets", "-s", help="Between commas; `papers` are the eight that the papers share.")
    ] = "papers",
    seeds: Annotated[int, typer.Option("--seeds", "-n", help="How many, counted from 0.")] = 1,
    preset: Annotated[
        Preset, typer.Option("--preset", "-p", help="The papers' settings, or ours for two cores, one for all sets.")
    ] = Preset.paper,
    encoder: Annotated[
        str, typer.Option("--encoder", "-e", help="Instead of the recipe's; `coterie encoders` lists them.")
    ] = "",
    variant: Annotated[str, typer.Option("--variant", help="A recipe laid over the others, e.g. official-code.")] = "",
    settings: options.Settings = None,
    split: Annotated[
        bool, typer.Option("--split", help="Learn from the train part of a set, be judged on its test part.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The results [default: benchmarks/results/PRESET.jsonl].")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Run what is missing in the results, one line of JSON a job.

    A job is a method on a set with an encoder and a seed; K is the set's. True
    labels are used for the scores only. Stopped, the same command goes on with
    the jobs that are left. --set and --variant concern the methods that know
    them.
    """
    from coterie.benchmarks.cache import default_folder
    from coterie.benchmarks.jobs import expand
    from coterie.benchmarks.run import missing, run_jobs

    target = out or _default(preset)
    jobs = expand(
        _listed(methods), _listed(sets), seeds, preset.value,
        variant=variant, encoder=encoder, overrides=_pairs(settings), split=split,
    )  # fmt: skip
    left = missing(jobs, target)
    say(f"{len(jobs)} jobs, {len(jobs) - len(left)} of them in {target} already", quiet=quiet)
    failed = 0
    try:
        for number, outcome in enumerate(run_jobs(left, target, default_folder(), show=not quiet), start=1):
            say(f"{number:>{len(str(len(left)))}}/{len(left)}  {_told(outcome)}", quiet=quiet and not outcome.failure)
            failed += bool(outcome.failure)
    except KeyboardInterrupt:
        more = len(missing(jobs, target))
        raise KeyboardInterrupt(f"Stopped. The same command does the {more} jobs that {target} lacks.") from None
    if failed:
        say(f"{failed} jobs failed and are tried again by the same command.")
        raise typer.Exit(1)
    say(f"Written to {target}. The table: coterie bench table {target}", quiet=quiet)


Files = Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Results; without it those of --preset.")]
ItsPreset = Annotated[Preset, typer.Option("--preset", "-p", help="Whose results, when no FILE is given.")]
Methods = Annotated[str, typer.Option("--methods", "-m", help="Only these, between commas.")]
Sets = Annotated[str, typer.Option("--sets", "-s", help="Only these, between commas.")]


def table(
    files: Files = None,
    preset: ItsPreset = Preset.paper,
    metrics: Annotated[
        str, typer.Option("--metrics", help="Between commas: acc, nmi, nmi_geometric, ari, ami, purity, ece, ...")
    ] = "acc,nmi",
    methods: Methods = "",
    sets: Sets = "",
) -> None:
    """Show results as a Markdown table: ours, the published score, and k-means on the same encoder."""
    from coterie.benchmarks.table import make_table

    typer.echo(make_table(_results(files, preset, methods, sets), _listed(metrics)))


def guard(files: Files = None, preset: ItsPreset = Preset.paper, methods: Methods = "", sets: Sets = "") -> None:
    """Show how well the guard chose: the NMI of the epoch that it kept, beside those it could have kept."""
    from coterie.benchmarks.verdicts import make_verdicts

    typer.echo(make_verdicts(_results(files, preset, methods, sets)))


for command in (run, table, guard):
    app.command()(guarded(command))


def _results(files: list[Path] | None, preset: Preset, methods: str, sets: str) -> list[Result]:
    from coterie.benchmarks.jobs import expand_sets
    from coterie.benchmarks.results import read_results
    from coterie.errors import InputError

    paths = files or [_default(preset)]
    if absent := [path for path in paths if not path.is_file()]:
        raise InputError(f"There are no results in {absent[0]}. `coterie bench run` makes them.")
    kept_sets, kept_methods = expand_sets(_listed(sets)), _listed(methods)
    results = [
        result
        for path in paths
        for result in read_results(path)
        if (not sets or result["set"] in kept_sets) and (not methods or result["method"] in kept_methods)
    ]
    if not results:
        raise InputError(f"There are no such results in {', '.join(map(str, paths))}.")
    return results


def _default(preset: Preset) -> Path:
    return Path("benchmarks") / "results" / f"{preset.value}.jsonl"


def _listed(text: str) -> list[str]:
    return list(dict.fromkeys(word for word in (part.strip() for part in text.split(",")) if word))


def _pairs(settings: list[str] | None) -> dict[str, str]:
    from coterie.errors import InputError

    pairs = {}
    for pair in settings or []:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"--set {pair}: write NAME=VALUE.")
        pairs[name.strip().replace("-", "_")] = text.strip()
    return pairs


def _told(outcome: Outcome) -> str:
    if outcome.result is None:
        return f"{outcome.job}  failed: {outcome.failure}"
    scores = outcome.result["label_based"]
    return f"{outcome.job}  ACC {scores['acc']:.3f}  NMI {scores['nmi']:.3f}  {outcome.result['seconds']:.1f} s"
