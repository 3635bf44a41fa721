"""`coterie methods`, `coterie encoders`, `coterie augmenters`, `coterie datasets`: what there is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.tables import print_json, print_table, say

if TYPE_CHECKING:
    from coterie.data.datasets import Dataset

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show one with all its settings.")]


def methods(name: Name = None, as_json: options.Json = False) -> None:
    """List the methods, or the settings of one."""
    from coterie.clusterer import METHODS

    _show(METHODS, name, as_json)


def encoders(name: Name = None, as_json: options.Json = False) -> None:
    """List the encoders, or the settings of one."""
    from coterie.encoders.encoder import ENCODERS

    _show(ENCODERS, name, as_json)


def augmenters(name: Name = None, as_json: options.Json = False) -> None:
    """List the augmenters, or the settings of one."""
    from coterie.augmenters.augmenter import AUGMENTERS

    _show(AUGMENTERS, name, as_json)


def datasets(
    name: Name = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the set NAME: a CSV with text and label, or a folder of PNGs."),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """List the data sets, or write one to a file."""
    from coterie.data.datasets import SOURCES, load
    from coterie.errors import InputError

    if out is not None:
        if name is None:
            raise InputError("Which data set? coterie datasets NAME --out FILE")
        _write_set(load(name), out, quiet=quiet)
        return
    if name is not None and name not in SOURCES:
        load(name)  # raises, and names those there are
    rows = [
        {"name": key, "items": s.n_items, "kind": s.kind, "clusters": s.n_clusters, "what": s.title, "terms": s.terms,
         "files": [{"name": f.name, "url": f.url, "sha256": f.sha256} for f in s.files]}
        for key, s in SOURCES.items() if name in (None, key)
    ]  # fmt: skip
    if as_json:
        print_json(rows)
        return
    columns = ["name", "items", "kind", "clusters", "what", "terms"]
    print_table(columns, [[str(row[c]) for c in columns] for row in rows], right=["items", "clusters"])
    if name is not None:
        print_table(["file", "address", "SHA-256"], [[f.name, f.url, f.sha256] for f in SOURCES[name].files])


def _write_set(data: Dataset, out: Path, *, quiet: bool) -> None:
    from coterie.data.files import Table, write_table
    from coterie.data.images import write_folder

    labels = [data.label_names[k] for k in data.true_labels]
    if isinstance(data.items, list):
        write_table(Table({"text": data.items, "label": labels}, "csv"), out)
    else:
        write_folder(data.items, labels, out)
    noun = "texts" if isinstance(data.items, list) else "images"
    say(f"{len(data.items):,} {noun} written to {out}", quiet=quiet)


def _show(registry: Mapping[str, type], name: str | None, as_json: bool) -> None:
    from coterie.hyper import settings

    if name is None:
        listed = [{"name": key, "what": _first_line(cls)} for key, cls in registry.items()]
        if as_json:
            print_json(listed)
        else:
            print_table(["name", "what"], [[row["name"], row["what"]] for row in listed])
        return
    rows: list[dict[str, Any]] = [
        {"setting": s.name, "default": s.default, "rule": s.rule, "symbol": s.symbol, "help": s.help}
        for s in settings(registry[name])
    ]
    if as_json:
        print_json({"name": name, "what": _first_line(registry[name]), "settings": rows})
    else:
        typer.echo(_first_line(registry[name]))
        print_table(list(rows[0]) if rows else ["no settings"], [[str(v) for v in row.values()] for row in rows])


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0]
