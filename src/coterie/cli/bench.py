"""`coterie bench`: run methods on labeled data sets, and compare their scores with the published ones."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli import options
from coterie.cli.bench_papers import (
    FOLDER,
    Changes,
    ResultsFolder,
    figure,
    list_,
    page,
    parse_pairs,
    show_tables,
)
from coterie.cli.bench_plan import OfMethods, default_file, make_plan
from coterie.cli.errors import handle_errors
from coterie.cli.output import say, show

if TYPE_CHECKING:
    from coterie.experiments.jobs import Result

app = typer.Typer(
    help="Run methods on labeled data sets and compare with published scores.",
    no_args_is_help=True,
    context_settings=options.HELP_NAMES,
)


class Preset(StrEnum):
    """A set of recipes."""

    paper = "paper"
    cpu = "cpu"


class Precision(StrEnum):
    """The number format of an encoder in training."""

    float32 = "float32"
    bfloat16 = "bfloat16"


class TableFormat(StrEnum):
    """The format of a table of results."""

    markdown = "markdown"
    csv = "csv"
    latex = "latex"


EncoderPrecision = Annotated[
    Precision | None,
    typer.Option(
        "--precision",
        help="The number format of the encoders. bfloat16 trains faster on processors and GPUs that have it.",
        show_default="that of the recipe",
    ),
]
NClusters = Annotated[
    int | None, typer.Option("--clusters", "-k", help="The number of clusters.", show_default="of classes", min=1)
]


def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Tables or figures of the papers, from `coterie bench list`."),
    ] = None,
    methods: Annotated[
        str, typer.Option("--methods", "-m", help="Separated by commas; `coterie methods` lists them.")
    ] = "",
    sets: Annotated[
        str,
        typer.Option(
            "--sets",
            "-s",
            help="Separated by commas: data sets, `papers` (the eight that the papers share), your own labeled files.",
            show_default="papers, or those of NAME",
        ),
    ] = "",
    text: Annotated[
        str | None,
        typer.Option("--text", "--column", help="The text column of your files.", show_default="found automatically"),
    ] = None,
    truth: Annotated[str | None, typer.Option("--truth", help="The column of the true labels of your files.")] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", "-n", help="The number of seeds, from 0.", show_default="1, or those of NAME", min=1),
    ] = None,
    n_clusters: NClusters = None,
    preset: Annotated[
        Preset | None,
        typer.Option(
            "--preset",
            "-p",
            help="paper: the settings of the papers; cpu: our settings for two CPU cores.",
            show_default="paper; cpu for your files; that of NAME",
        ),
    ] = None,
    encoder: Annotated[
        str, typer.Option("--encoder", "-e", help="Instead of the recipe's encoder; `coterie encoders` lists them.")
    ] = "",
    precision: EncoderPrecision = None,
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
    time_budget: Annotated[
        str, typer.Option("--time-budget", help="Only the missing jobs that fit into a time, such as 30m or 2h.")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The results file.",
            show_default="benchmarks/results/PRESET.jsonl, papers.jsonl for NAME",
        ),
    ] = None,
    show_progress: options.ShowProgress = options.Progress.auto,
    quiet: options.Quiet = False,
) -> None:
    """Run all jobs that have no result yet, and append their results to a file.

    A job is one method on one data set with one encoder and one seed. The
    number of clusters is the number of classes; true labels are used for the
    scores only. After an interruption, the same command continues with the
    missing jobs; a training resumes. In several terminals it shares the jobs.
    --set and --variant apply to the methods that have them, --precision to
    the encoders that have it. A method without a recipe runs with its
    default settings.
    """
    changes = Changes(
        seeds, preset.value if preset else None, _split_list(sets), encoder, n_clusters, parse_pairs(settings),
        precision=precision.value if precision else "", views=views,
    )  # fmt: skip
    asked = make_plan(names or [], _split_list(methods), changes, OfMethods(variant, split, text, truth), out)
    plan = asked.within(time_budget)
    plan.announce(asked, quiet=quiet)
    plan.run(progress=show_progress.value, quiet=quiet)
    command = " ".join(names) if names else str(plan.target)
    say(f"Results are in {plan.target}. To see the table: coterie bench table {command}", quiet=quiet)


Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILE", help="Results files.", show_default="the file of --preset"),
]
FilePreset = Annotated[Preset, typer.Option("--preset", "-p", help="Selects the results file if no FILE is given.")]
Methods = Annotated[str, typer.Option("--methods", "-m", help="Only these methods, separated by commas.")]
Sets = Annotated[str, typer.Option("--sets", "-s", help="Only these data sets, separated by commas.")]


def table(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME|FILE",
            help="Tables of the papers (`coterie bench list`), or results files.",
            show_default="the file of --preset",
        ),
    ] = None,
    preset: Annotated[
        Preset | None,
        typer.Option("--preset", "-p", help="Of NAME; or selects the results file.", show_default="paper"),
    ] = None,
    metrics: Annotated[
        str,
        typer.Option(
            "--metrics",
            help="Separated by commas: acc, nmi, nmi_geometric, ari, ami, purity, ece, ...",
            show_default="acc,nmi, or those of NAME",
        ),
    ] = "",
    methods: Methods = "",
    sets: Sets = "",
    seeds: Annotated[int | None, typer.Option("--seeds", "-n", help="The number of seeds of NAME.", min=1)] = None,
    n_clusters: NClusters = None,
    settings: options.Settings = None,
    precision: EncoderPrecision = None,
    table_format: Annotated[
        TableFormat, typer.Option("--format", "-f", help="The format of the table.")
    ] = TableFormat.markdown,
    folder: ResultsFolder = FOLDER,
) -> None:
    """Print a table of a paper, or results as a table, with the published scores.

    A table of a paper says which differences are within the noise.
    """
    from coterie.experiments.table import make_table

    names = [name for name in files or [] if not name.endswith(".jsonl") and not Path(name).exists()]
    if names:
        changes = Changes(
            seeds, preset.value if preset else None, _split_list(sets), "", n_clusters, parse_pairs(settings),
            tuple(_split_list(metrics)), precision.value if precision else "",
        )  # fmt: skip
        return show_tables(names, changes, table_format.value, folder)
    paths = [Path(name) for name in files or []]
    results = _read_results(paths, preset or Preset.paper, methods, sets)
    show(make_table(results, _split_list(metrics or "acc,nmi"), table_format.value))
    return None


def guard(files: Files = None, preset: FilePreset = Preset.paper, methods: Methods = "", sets: Sets = "") -> None:
    """Print how well the guard selects epochs: the NMI of the kept epoch, the best epoch and the last epoch."""
    from coterie.experiments.guard_report import make_guard_report

    show(make_guard_report(_read_results(files, preset, methods, sets)))


app.command("list")(handle_errors(list_))
for command in (run, table, figure, guard, page):
    app.command()(handle_errors(command))


def _read_results(files: list[Path] | None, preset: Preset, methods: str, sets: str) -> list[Result]:
    from coterie.errors import InputError
    from coterie.experiments.jobs import expand_sets
    from coterie.experiments.results import read_results

    paths = files or [default_file(preset.value)]
    if absent := [path for path in paths if not path.is_file()]:
        others = sorted(str(path) for path in absent[0].parent.glob("*.jsonl"))
        advice = f"Name one of these: {', '.join(others)}." if others else "`coterie bench run` writes results."
        raise InputError(f"There is no results file {absent[0]}. {advice}")
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


def _split_list(text: str) -> list[str]:
    """Return the names in a list separated by commas, without duplicates."""
    names = [part.strip() for part in text.split(",")]
    return list(dict.fromkeys(name for name in names if name))
