"""`coterie methods`, `coterie encoders`, `coterie augmenters`, `coterie datasets`: lists of what is available."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.output import print_json, print_table, say, show
from coterie.cli.targets import reserve_file, reserve_folder

if TYPE_CHECKING:
    from coterie.datasets import Dataset
    from coterie.datasets.dataset import DatasetEntry

_N_EXAMPLES = 8
Name = Annotated[str | None, typer.Argument(metavar="NAME", help="Show only this one, with all its settings.")]


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
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show only this one, with its files and some rows.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the data set NAME: a CSV with text and label, or a folder of PNGs."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """List the data sets, or write one to a file."""
    from coterie.datasets import DATASETS
    from coterie.errors import InputError

    if out is not None:
        if name is None:
            raise InputError("Name a data set: coterie datasets NAME --out FILE")
        entry = DATASETS[name]
        (reserve_folder if entry.input_type == "images" else reserve_file)(out, force=force)
        data = entry.load()
        _write(data, out, force=force)
        say(f"{len(data.items):,} {entry.input_type} written to {out}", quiet=quiet)
        return
    entries = list(DATASETS.values()) if name is None else [DATASETS[name]]
    rows = [_dataset_row(entry) for entry in entries]
    if name is not None:
        rows[0]["examples"] = _examples(entries[0])
    if as_json:
        print_json(rows)
        return
    columns = ["name", "items", "input_type", "clusters", "description", "terms"]
    cells = [[str(row[column]) for column in columns] for row in rows]
    print_table(columns, cells, right=["items", "clusters"])
    if name is not None:
        _show_contents(rows[0])


def _examples(entry: DatasetEntry) -> list[dict[str, str]]:
    """Return some texts with their labels, evenly spread; none for images, and before the files are downloaded."""
    if entry.input_type != "texts" or not entry.is_local:
        return []
    data = entry.load()
    rows = range(0, len(data.texts), max(len(data.texts) // _N_EXAMPLES, 1))
    return [{"text": data.texts[row], "label": data.label_names[data.true_labels[row]]} for row in rows][:_N_EXAMPLES]


def _show_contents(row: dict[str, Any]) -> None:
    """Print the files and some rows of a data set."""
    if row["files"]:
        print_table(["file", "address", "SHA-256"], [list(file.values()) for file in row["files"]])
    if row["examples"]:
        print_table(["text", "label"], [list(example.values()) for example in row["examples"]], cut=["text"])
    say(f"To write it to a file: coterie datasets {row['name']} --out FILE")


def _dataset_row(entry: DatasetEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "items": entry.n_items,
        "input_type": entry.input_type,
        "clusters": entry.n_clusters,
        "description": entry.title,
        "terms": entry.terms,
        "files": [{"name": file.name, "url": file.url, "sha256": file.sha256} for file in entry.files],
    }


def _write(data: Dataset, out: Path, *, force: bool) -> None:
    labels = [data.label_names[k] for k in data.true_labels]
    if isinstance(data.items, list):
        from coterie.data.files import Table, write_table

        write_table(Table({"text": data.items, "label": labels}, "csv"), out)
    else:
        from coterie.data.images import write_folder

        write_folder(data.items, labels, out, overwrite=force)


def _show(registry: Mapping[str, type], name: str | None, as_json: bool) -> None:
    """Print the names and descriptions of all classes, or the settings of one class."""
    if name is None:
        rows = [{"name": key, "description": _first_line(cls)} for key, cls in registry.items()]
        if as_json:
            print_json(rows)
        else:
            print_table(["name", "description"], [list(row.values()) for row in rows])
        return
    description = _first_line(registry[name])
    settings = _settings(registry[name])
    if as_json:
        print_json({"name": name, "description": description, "settings": settings})
    else:
        show(description)
        columns = list(settings[0]) if settings else ["no settings"]
        print_table(columns, [[str(value) for value in setting.values()] for setting in settings])


def _settings(cls: type) -> list[dict[str, Any]]:
    from coterie.hyper import settings

    return [
        {
            "setting": setting.name,
            "default": setting.default,
            "rule": setting.rule,
            "symbol": setting.symbol,
            "help": setting.help,
        }
        for setting in settings(cls)
    ]


def _first_line(cls: type) -> str:
    from coterie.hyper import summary

    return summary(cls).splitlines()[0]
