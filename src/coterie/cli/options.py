"""Options that several commands share, and `--set name=value` for the settings of a method."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class FileFormat(StrEnum):
    """How a file of texts is stored."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    txt = "txt"


class OnEmpty(StrEnum):
    """What to do with blank texts."""

    keep = "keep"
    error = "error"


class Kind(StrEnum):
    """What is clustered."""

    texts = "texts"
    images = "images"


File = Annotated[
    str, typer.Argument(metavar="FILE", help="CSV, TSV, JSONL, Parquet or plain text, also gzipped; - for stdin.")
]
FileOrFolder = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, TSV, JSONL, Parquet or plain text, also gzipped; - for stdin. For images, a folder of PNG and JPEG.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a saved model.")]
Column = Annotated[str | None, typer.Option("--column", "-c", help="The column of the texts, if not obvious.")]
Format = Annotated[FileFormat | None, typer.Option("--format", help="If the file's name does not tell.")]
Encoding = Annotated[str, typer.Option("--encoding", help="Of the file's characters.")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Of a CSV, if not found out by itself.")]
Vectors = Annotated[
    Path | None, typer.Option("--vectors", help="Your own vectors, one row a text (.npy), instead of an encoder.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only results, warnings and errors.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method; `coterie methods NAME` lists them."),
]


_OWN_OPTIONS = {
    "n_clusters": "-k", "encoder": "--encoder", "on_empty": "--on-empty", "random_state": "--seed",
    "verbose": "--quiet", "augmenter": "--augment", "checkpoint": "--checkpoint", "log_dir": "--log-dir",
}  # fmt: skip


def parse_settings(pairs: list[str] | None, cls: type, *, owner: str) -> dict[str, Any]:
    """Return the values of ``--set name=value`` pairs in the types that ``cls`` declares."""
    from coterie.errors import InputError
    from coterie.hyper import settings

    declared = {setting.name: setting for setting in settings(cls) if setting.name not in _OWN_OPTIONS}
    values = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if name in _OWN_OPTIONS:
            raise InputError(f"--set {pair}: this has an option of its own, {_OWN_OPTIONS[name]}.")
        if not equals or name not in declared:
            raise InputError(f"--set {pair}: {owner} has the settings {', '.join(declared)}; write NAME=VALUE.")
        try:
            values[name] = declared[name].parse(text.strip())
        except InputError as error:
            raise InputError(f"--set {error}") from None
    return values
