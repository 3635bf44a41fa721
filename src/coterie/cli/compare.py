"""`coterie compare`: two clusterings of the same texts."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.output import print_json, print_table, progress, say, show

if TYPE_CHECKING:
    from coterie.data.files import Table
    from coterie.report.comparison import Clustering, Comparison

_N_MOVED = 15  # lines of the table of what moved


def compare(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="A model, a folder that `coterie cluster` wrote, or a file.")
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one, of the same texts.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a page with a flow picture, too.")] = None,
    texts: Annotated[
        str | None, typer.Option("--texts", help="A file of texts that both models assign to their clusters.")
    ] = None,
    column: options.Column = None,
    cluster: Annotated[str, typer.Option("--cluster", help="The column of the clusters in a file.")] = "cluster",
    allow_encoder: options.AllowEncoder = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Align the clusters of A and B, and show what moved and how well the two agree.

    A and B are models that were fitted to the same texts, or files with a
    column of clusters and the same rows. No true labels are needed.
    """
    from coterie.cli.report import check_page, write_page
    from coterie.report.comparison import compare as compare_clusterings
    from coterie.report.flow_page import render_comparison

    if out is not None:
        check_page(out)
    with progress(quiet):
        if texts is not None:
            a, b, shown = _assigned(first, second, texts, column, allow_encoder or ())
        else:
            (a, hash_a, rows_a), (b, hash_b, rows_b) = (
                _read(path, cluster, column, allow_encoder or ()) for path in (first, second)
            )
            _check_same(a, b, hash_a, hash_b, rows_a, rows_b)
            shown = rows_a or rows_b
        comparison = compare_clusterings(a, b, shown)
    if out is not None:
        write_page(render_comparison(comparison), out)
    if as_json:
        print_json(comparison.as_dict())
    else:
        _print(comparison)
    if out is not None:
        say(f"Written to {out}", quiet=quiet)


def _assigned(
    first: Path, second: Path, file: str, column: str | None, allow: Collection[str]
) -> tuple[Clustering, Clustering, list[Any]]:
    """Let both models assign the texts of a file."""
    from coterie.artifact.model import Artifact
    from coterie.cli.input import read_input
    from coterie.report.comparison import Clustering

    given = read_input(file, column, None, None, None, without_results=True)
    found = []
    for path in (first, second):
        artifact = Artifact.open(path)
        found.append(Clustering(str(path), artifact.load(allow=allow).predict(given.texts), artifact.clusters().names))
    return found[0], found[1], given.texts


def _read(path: Path, cluster: str, column: str | None, allow: Collection[str]) -> tuple[Clustering, str, list[Any]]:
    """Return the clustering of a model or file, the hash of its texts if it is known, and its texts if it has them."""
    from coterie.artifact.model import Artifact, model_folder
    from coterie.data.files import read_table
    from coterie.report.comparison import Clustering

    if not path.is_dir():
        table = read_table(path)
        return Clustering(path.name, _labels(table, cluster, path), _names(table, cluster)), "", _texts(table, column)
    artifact = Artifact.open(path)
    labels = artifact.load(allow=allow).labels_
    beside = sorted(model_folder(path).parent.glob("assignments.*"))
    texts = _texts(read_table(beside[0]), column) if beside else []
    return Clustering(str(path), labels, artifact.clusters().names), artifact.config["texts"]["sha256"], texts


def _labels(table: Table, cluster: str, path: Path) -> Any:
    """Return the clusters of a file as numbers; other values are numbered as they appear, empty cells are -1."""
    import numpy as np

    from coterie.errors import InputError
    from coterie.printable import listed

    if cluster not in table.columns:
        raise InputError(f"{path} has no column {cluster!r}, but {listed(table.columns)}. Name it with --cluster.")
    cells = ["" if cell is None else str(cell).strip() for cell in table.columns[cluster]]
    numbers = _numbering(cells)
    return np.array([numbers.get(cell, -1) for cell in cells], dtype=np.int64)


def _numbering(cells: list[str]) -> dict[str, int]:
    values = [cell for cell in dict.fromkeys(cells) if cell not in ("", "-1", "None")]
    if all(value.isdecimal() for value in values):
        return {value: int(value) for value in values}
    return {value: number for number, value in enumerate(values)}


def _names(table: Table, cluster: str) -> dict[int, str]:
    """Return the names of clusters: of a column of names, or the values themselves if they are no numbers."""
    cells = ["" if cell is None else str(cell).strip() for cell in table.columns[cluster]]
    numbers = _numbering(cells)
    names = table.columns.get("cluster_name", []) if cluster == "cluster" else []
    if len(names):
        return {numbers[cell]: str(name) for cell, name in zip(cells, names, strict=True) if cell in numbers}
    return {number: value for value, number in numbers.items() if not value.isdecimal()}


def _texts(table: Table, column: str | None) -> list[Any]:
    """Return the texts of a file of assignments; empty if it is not clear which column holds them."""
    from coterie.cli.results import RESULT_COLUMNS
    from coterie.data.text_column import text_column
    from coterie.errors import InputError

    rest = {name: cells for name, cells in table.columns.items() if name not in RESULT_COLUMNS}
    try:
        return rest[text_column(rest, column)]
    except InputError:
        if column is not None:
            raise
        return []


def _check_same(a: Clustering, b: Clustering, hash_a: str, hash_b: str, rows_a: list[Any], rows_b: list[Any]) -> None:
    """Raise :class:`InputError` if the two are known to be clusterings of other texts."""
    from coterie.errors import InputError

    if hash_a and hash_b and hash_a != hash_b:
        raise InputError(
            f"{a.title} and {b.title} were fitted to different texts. Let both assign the same ones: --texts FILE."
        )
    if rows_a and rows_b and len(rows_a) == len(rows_b):
        for number, (text, other) in enumerate(zip(rows_a, rows_b, strict=True), start=1):
            if text != other:
                raise InputError(f"{a.title} and {b.title} hold different texts, first in row {number}.")


def _print(comparison: Comparison) -> None:
    from coterie.report.flow_page import summary
    from coterie.wording import count

    show(summary(comparison))
    columns = ["cluster of A", "size", "cluster of B", "size of B", "kept"]
    print_table(columns, _pairs(comparison), right=["size", "size of B", "kept"])
    if moved := comparison.moved:
        print_table(["moved", "from A", "to B"], _flows(comparison), right=["moved"])
        if len(moved) > _N_MOVED:
            show(f"and {count(len(moved) - _N_MOVED, 'smaller flows')}; --out FILE.html shows more.")


def _pairs(comparison: Comparison) -> list[list[str]]:
    """Return each cluster of A, the cluster of B that corresponds to it, and the share of its texts that is there."""
    first, second = comparison.first, comparison.second
    sizes, sizes_of_b = comparison.sizes()
    kept = {flow.source: flow.size for flow in comparison.flows if comparison.pairs.get(flow.source) == flow.target}
    rows = []
    for k, size in sizes.items():
        pair = comparison.pairs.get(k)
        cells = ["–", "–", "–"]
        if pair is not None:
            cells = [f"{pair} {second.name(pair)}", f"{sizes_of_b[pair]:,}", f"{kept[k] / size:.0%}"]
        rows.append([f"{k} {first.name(k)}", f"{size:,}", *cells])
    return rows


def _flows(comparison: Comparison) -> list[list[str]]:
    first, second = comparison.first, comparison.second
    return [
        [f"{flow.size:,}", f"{flow.source} {first.name(flow.source)}", f"{flow.target} {second.name(flow.target)}"]
        for flow in comparison.moved[:_N_MOVED]
    ]
