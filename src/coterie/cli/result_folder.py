"""The folder that `coterie cluster` and `coterie edit` write: the user's table, the clusters, the model and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.cli.cluster_view import print_clusters
from coterie.cli.input import Input
from coterie.cli.output import print_json, print_topics, say
from coterie.cli.results import cluster_columns, for_spreadsheets, with_assignments
from coterie.cli.training_options import kept_checkpoint

if TYPE_CHECKING:
    from coterie.clusterer import Clusterer
    from coterie.data.files import Table
    from coterie.describe.cluster_table import ClusterTable


def described(model: Clusterer, given: Input) -> ClusterTable:
    """Return the table of clusters; for vectors and images, with the texts or files of the input as examples."""
    return model.describe() if given.items is given.texts else model.describe_by(given.texts)


def result_tables(given: Input, model: Clusterer, table: ClusterTable, *, raw: bool) -> dict[str, Table]:
    """Return the tables to write, by the names of their files."""
    assigned = with_assignments(given.table, model.assignment_, table.names)
    clusters = cluster_columns(table, given.table)
    return {
        f"assignments{assigned.suffix}": for_spreadsheets(assigned, raw=raw),
        "clusters.csv": for_spreadsheets(clusters, raw=raw, quiet=True),
    }


def write_results(
    out: Path, model: Clusterer, tables: dict[str, Table], table: ClusterTable, page: str | None, *, overwrite: bool
) -> None:
    """Write the folder, whole or not at all."""
    from coterie.artifact import save
    from coterie.data.atomic import atomic_folder
    from coterie.data.files import write_table
    from coterie.data.ownership import write_marker

    with kept_checkpoint(model), atomic_folder(out, overwrite=overwrite) as folder:
        for name, written in tables.items():
            write_table(written, folder / name)
        save(model, folder / "model", clusters=table)
        if page is not None:
            (folder / "report.html").write_text(page, encoding="utf-8")
        write_marker(folder)
    model.remove_checkpoint()  # last: until here the same command would resume from it


def show_clusters(table: ClusterTable, *, as_json: bool) -> None:
    """Print the clusters, and their topics if they have some."""
    if as_json:
        print_json(table.as_dicts())
        return
    print_clusters(table)
    if "topics" in table.columns:
        print_topics((row.cluster, [topic.as_dict() for topic in row.topics]) for row in table)


def say_written(out: Path, model: Clusterer, noun: str, *, has_page: bool, quiet: bool) -> None:
    """Say what was written, and what can be done with it."""
    argument = "FILE" if noun == "texts" else "FOLDER"
    allow = "".join(f" --allow-encoder {source}" for source in model.encoder_.outside_sources())
    steps = {f"coterie assign {out} {argument}{allow}": f"gives new {noun} the same clusters"}
    if has_page:
        steps = {f"Open {out / 'report.html'} in a browser": f"map, search, all {noun}"} | steps
    steps[f"coterie edit {out} --merge 0,1 --rename 2=NAME"] = "merges and renames clusters"
    width = max(map(len, steps))
    say(f"Written to the folder {out}. Next:", quiet=quiet)
    for step, purpose in steps.items():
        say(f"  {step.ljust(width)}   {purpose}", quiet=quiet)
