"""`coterie bench`: run methods on labeled data sets, and compare their scores with the published ones."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli import options
from coterie.cli.errors import handle_errors
from coterie.cli.output import say, show

if TYPE_CHECKING:
    from coterie.experiments.jobs import Result
    from coterie.experiments.runner import Outcome
    from coterie.experiments.user_file import UserFile

app = typer.Typer(
    help="Run methods on labeled data sets and compare with published scores.",
    no_args_is_help=True,
    context_settings=options.HELP_NAMES,
)


class Preset(StrEnum):
    """A set of recipes."""

    paper = "paper"
    cpu = "cpu"


class TableFormat(StrEnum):
    """The format of a table of results."""

    markdown = "markdown"
    csv = "csv"
    latex = "latex"


def run(
    methods: Annotated[str, typer.Option("--methods", "-m", help="Separated by commas; `coterie methods` lists them.")],
    sets: Annotated[
        str,
        typer.Option(
            "--sets",
            "-s",
            help="Separated by commas: data sets, `papers` (the eight that the papers share), your own labeled files.",
        ),
    ] = "papers",
    text: Annotated[
        str | None,
        typer.Option("--text", help="The text column of your files.", show_default="found automatically"),
    ] = None,
    truth: Annotated[str | None, typer.Option("--truth", help="The column of the true labels of your files.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", "-n", help="The number of seeds, counted from 0.")] = 1,
    preset: Annotated[
        Preset | None,
        typer.Option(
            "--preset",
            "-p",
            help="paper: the settings of the papers; cpu: our settings for two CPU cores.",
            show_default="paper; cpu for your files",
        ),
    ] = None,
    encoder: Annotated[
        str, typer.Option("--encoder", "-e", help="Instead of the recipe's encoder; `coterie encoders` lists them.")
    ] = "",
    variant: Annotated[
        str, typer.Option("--variant", help="A recipe with changed settings, e.g. an ablation or official-code.")
    ] = "",
    settings: options.Settings = None,
    views: Annotated[
        str,
        typer.Option(
            "--views", help="A file with views of the texts, computed before: columns text, text1 and perhaps text2."
        ),
    ] = "",
    split: Annotated[bool, typer.Option("--split", help="Fit on the training split, score on the test split.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The results file.", show_default="benchmarks/results/PRESET.jsonl"),
    ] = None,
    show_progress: options.ShowProgress = options.Progress.auto,
    quiet: options.Quiet = False,
) -> None:
    """Run all jobs that have no result yet, and append their results to a file.

    A job is one method on one data set with one encoder and one seed. The
    number of clusters is the number of classes; true labels are used for the
    scores only. After an interruption, the same command continues with the
    missing jobs. --set and --variant apply to the methods that have them. A
    method without a recipe runs with its default settings.
    """
    from coterie.experiments.embedding_cache import default_folder
    from coterie.experiments.jobs import PLAIN_EDA, expand
    from coterie.experiments.runner import missing, run_jobs
    from coterie.experiments.views_file import views_file
    from coterie.wording import count

    names = _split_list(sets)
    own = _user_files(names, text, truth)
    preset = preset or (Preset.cpu if own else Preset.paper)
    target = out or _default_file(preset)
    jobs = expand(
        _split_list(methods),
        names,
        seeds,
        preset.value,
        variant=variant,
        encoder=encoder,
        overrides=_parse_pairs(settings),
        split=split,
        files=own,
        views=views_file(views) if views else None,
    )
    if any(job.params.get("augmenter") == PLAIN_EDA for job in jobs):
        say("WordNet is not installed, so EDA only swaps and deletes words. See docs/augmenters.md.", quiet=quiet)
    left = missing(jobs, target)
    say(f"{count(len(jobs), 'jobs')}, already in {target}: {len(jobs) - len(left)}", quiet=quiet)
    n_failed = 0
    try:
        outcomes = run_jobs(left, target, default_folder(), progress="off" if quiet else show_progress.value)
        for number, outcome in enumerate(outcomes, start=1):
            counter = f"{number:>{len(str(len(left)))}}/{len(left)}"
            say(f"{counter}  {_describe(outcome)}", quiet=quiet and not outcome.failure)
            n_failed += bool(outcome.failure)
    except KeyboardInterrupt:
        rest = count(len(missing(jobs, target)), "missing jobs")
        raise KeyboardInterrupt(f"Stopped. The same command runs the {rest} of {target}.") from None
    if n_failed:
        say(f"{count(n_failed, 'jobs')} failed. The same command tries again.")
        raise typer.Exit(1)
    say(f"Results are in {target}. To see the table: coterie bench table {target}", quiet=quiet)


Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILE]...", help="Results files.", show_default="the file of --preset"),
]
FilePreset = Annotated[Preset, typer.Option("--preset", "-p", help="Selects the results file if no FILE is given.")]
Methods = Annotated[str, typer.Option("--methods", "-m", help="Only these methods, separated by commas.")]
Sets = Annotated[str, typer.Option("--sets", "-s", help="Only these data sets, separated by commas.")]


def table(
    files: Files = None,
    preset: FilePreset = Preset.paper,
    metrics: Annotated[
        str,
        typer.Option("--metrics", help="Separated by commas: acc, nmi, nmi_geometric, ari, ami, purity, ece, ..."),
    ] = "acc,nmi",
    methods: Methods = "",
    sets: Sets = "",
    table_format: Annotated[
        TableFormat, typer.Option("--format", "-f", help="The format of the table.")
    ] = TableFormat.markdown,
) -> None:
    """Print results as a table, with the published scores and k-means on the same encoder."""
    from coterie.experiments.table import make_table

    show(make_table(_read_results(files, preset, methods, sets), _split_list(metrics), table_format.value))


def guard(files: Files = None, preset: FilePreset = Preset.paper, methods: Methods = "", sets: Sets = "") -> None:
    """Print how well the guard selects epochs: the NMI of the kept epoch, the best epoch and the last epoch."""
    from coterie.experiments.guard_report import make_guard_report

    show(make_guard_report(_read_results(files, preset, methods, sets)))


for command in (run, table, guard):
    app.command()(handle_errors(command))


def _read_results(files: list[Path] | None, preset: Preset, methods: str, sets: str) -> list[Result]:
    from coterie.errors import InputError
    from coterie.experiments.jobs import expand_sets
    from coterie.experiments.results import read_results

    paths = files or [_default_file(preset)]
    if absent := [path for path in paths if not path.is_file()]:
        raise InputError(f"There is no results file {absent[0]}. `coterie bench run` writes results.")
    results = [result for path in paths for result in read_results(path)]
    if methods:
        kept_methods = _split_list(methods)
        results = [result for result in results if result["method"] in kept_methods]
    if sets:
        files_of_users = {result["set"] for result in results if "file" in result}
        names = _split_list(sets)
        kept_sets = {*expand_sets([name for name in names if name not in files_of_users]), *names}
        results = [result for result in results if result["set"] in kept_sets]
    if not results:
        raise InputError(f"There are no such results in {', '.join(map(str, paths))}.")
    return results


def _user_files(names: list[str], text: str | None, truth: str | None) -> dict[str, UserFile]:
    """Return the sets that are files; raise an error if columns are named and there is none."""
    from coterie.datasets import DATASETS
    from coterie.errors import InputError
    from coterie.experiments.user_file import user_file

    found = [name for name in names if name not in DATASETS and Path(name).is_file()]
    if (text or truth) and not found:
        raise InputError("--text and --truth name columns of your own file, but --sets names none that exists.")
    return {name: user_file(name, text, truth) for name in found}


def _default_file(preset: Preset) -> Path:
    return Path("benchmarks") / "results" / f"{preset.value}.jsonl"


def _split_list(text: str) -> list[str]:
    """Return the names in a list separated by commas, without duplicates."""
    names = [part.strip() for part in text.split(",")]
    return list(dict.fromkeys(name for name in names if name))


def _parse_pairs(settings: list[str] | None) -> dict[str, str]:
    from coterie.errors import InputError

    pairs = {}
    for pair in settings or []:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"--set {pair}: write NAME=VALUE.")
        pairs[name.strip().replace("-", "_")] = text.strip()
    return pairs


def _describe(outcome: Outcome) -> str:
    if outcome.result is None:
        return f"{outcome.job}  failed: {outcome.failure}"
    scores = outcome.result["label_based"]
    return f"{outcome.job}  ACC {scores['acc']:.3f}  NMI {scores['nmi']:.3f}  {outcome.result['seconds']:.1f} s"
