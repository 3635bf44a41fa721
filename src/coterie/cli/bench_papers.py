"""The part of `coterie bench` that knows the tables and figures of the papers by name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.output import say, show

if TYPE_CHECKING:
    from coterie.experiments.collection import Collection, Results
    from coterie.experiments.recipe import Preset
    from coterie.experiments.registry import Experiment
    from coterie.experiments.table_formats import Format

ResultsFolder = Annotated[
    Path, typer.Option("--results", help="The folder of results.", show_default="benchmarks/results")
]
FOLDER = Path("benchmarks") / "results"
OUT = FOLDER / "papers.jsonl"


@dataclass(frozen=True)
class Changes:
    """What the command line changes in an experiment."""

    seeds: int | None = None
    preset: Preset | None = None
    sets: list[str] = field(default_factory=list)
    encoder: str = ""
    n_clusters: int | None = None
    settings: dict[str, str] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    precision: str = ""
    views: str = ""

    def apply(self, experiment: Experiment) -> Experiment:
        """Return the experiment with these changes."""
        changed: dict[str, Any] = {name: value for name, value in vars(self).items() if value}
        changed["settings"] = {**experiment.settings, **self.settings}
        if self.seeds:
            changed["seeds_of"] = {}
        if self.views:
            changed["views"] = _described(self.views)
        return replace(experiment, **changed)  # what is empty stays as it is


def _described(path: str) -> dict[str, Any]:
    from coterie.experiments.views_file import views_file

    found = views_file(path)
    return {"file": found.path, "sha256": found.sha256, "columns": found.columns}


def check_views(found: Collection) -> None:
    """Refuse to run an experiment whose file of views is not here."""
    from coterie.errors import InputError

    name = found.experiment.views.get("file", "")
    if name and found.missing and not Path(name).is_file():
        raise InputError(f"{found.experiment.name} needs the file {name}: say with --views where it is.")


def list_(
    names: Annotated[list[str] | None, typer.Argument(metavar="PAPER", help="Only these papers, e.g. sccl.")] = None,
    folder: ResultsFolder = FOLDER,
) -> None:
    """List every table and figure of the papers: results that there are, expected time of the others, needs.

    `coterie bench run NAME` computes the missing results, `coterie bench
    table NAME` and `coterie bench figure NAME` show them. Times are for two
    CPU cores, by the results and the time of a training step.
    """
    from coterie.experiments.registry import experiments
    from coterie.experiments.status import make_list

    chosen = [found for name, found in experiments().items() if not names or name.startswith(tuple(names))]
    show(make_list(chosen, _results(folder)))


def figure(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names from `coterie bench list`.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the figures.")] = Path("docs") / "figures",
    sets: Annotated[str, typer.Option("--sets", "-s", help="Only these data sets, separated by commas.")] = "",
    settings: options.Settings = None,
    folder: ResultsFolder = FOLDER,
    quiet: options.Quiet = False,
) -> None:
    """Draw figures as PNG and SVG, in colors that color-blind readers can tell apart; needs coterie[report]."""
    from coterie.experiments.figures import draw

    chosen = [name.strip() for name in sets.split(",") if name.strip()]
    for found in collections(names, Changes(sets=chosen, settings=parse_pairs(settings)), folder):
        say(f"Wrote {' and '.join(map(str, draw(found, out)))}.", quiet=quiet)


def page(
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("docs") / "benchmarks.md",
    conclusions: Annotated[
        Path, typer.Option("--conclusions", help="What to conclude, in Markdown; the only part written by hand.")
    ] = Path("benchmarks") / "conclusions.md",
    folder: ResultsFolder = FOLDER,
    quiet: options.Quiet = False,
) -> None:
    """Write the page of all results from the JSON lines."""
    from coterie.data.atomic import atomic_file
    from coterie.errors import InputError
    from coterie.experiments.page import make_page

    if not conclusions.is_file():
        raise InputError(f"There is no file {conclusions}.")
    text = make_page(_results(folder), conclusions.read_text(encoding="utf-8"), out.parent / "figures")
    with atomic_file(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    say(f"Wrote {out}.", quiet=quiet)


def show_tables(names: list[str], changes: Changes, table_format: Format, folder: Path) -> None:
    """Print the tables of experiments."""
    from coterie.experiments.paper_table import make

    for found in collections(names, changes, folder):
        show(make(found, table_format))


def collections(names: list[str], changes: Changes, folder: Path) -> list[Collection]:
    """Return the results of experiments."""
    from coterie.experiments.collection import collect
    from coterie.experiments.registry import experiment

    results = _results(folder)
    return [collect(changes.apply(experiment(name)), results) for name in names]


def parse_pairs(settings: list[str] | None) -> dict[str, str]:
    """Return the settings in NAME=VALUE pairs."""
    from coterie.errors import InputError

    pairs = {}
    for pair in settings or []:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"--set {pair}: write NAME=VALUE.")
        pairs[name.strip().replace("-", "_")] = text.strip()
    return pairs


def _results(folder: Path) -> Results:
    from coterie.experiments.collection import read_folder

    return read_folder(folder)
