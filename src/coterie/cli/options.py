"""Options that several commands share, and `--set NAME=VALUE` for the settings of a method."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class FileFormat(StrEnum):
    """Format of a file of texts."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    xlsx = "xlsx"
    txt = "txt"


class OnEmpty(StrEnum):
    """What happens to blank texts."""

    keep = "keep"
    error = "error"


class InputType(StrEnum):
    """What is clustered."""

    texts = "texts"
    images = "images"


class Progress(StrEnum):
    """How progress is shown."""

    auto = "auto"
    bar = "bar"
    plain = "plain"
    off = "off"


HELP_NAMES = {"help_option_names": ["-h", "--help"]}
"""Settings of typer by which a command shows its help."""
_INPUT, _OUTPUT, _TRAINING = "Input", "Output", "Training"  # groups of options in a help text
_FORMATS = "CSV, TSV, JSONL, Parquet, Excel or plain text, also gzipped; - for stdin"
File = Annotated[str, typer.Argument(metavar="FILE", help=f"{_FORMATS}; or a folder of .txt files.")]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE", help=f"{_FORMATS}; or a folder of .txt files. For images, a folder of PNG and JPEG."
    ),
]
NClusters = Annotated[
    str, typer.Option("--clusters", "-k", help="The number of clusters: 16, a range such as 5-60, or auto.")
]
EncoderName = Annotated[
    str | None,
    typer.Option(
        "--encoder", "-e", help="The encoder; `coterie encoders` lists them.", show_default="bundled, or image"
    ),
]
AugmenterName = Annotated[
    str | None,
    typer.Option("--augment", "-a", help="The augmenter; `coterie augmenters` lists them.", rich_help_panel=_TRAINING),
]
BlankTexts = Annotated[
    OnEmpty,
    typer.Option("--on-empty", help="Blank texts: keep them without a cluster, or stop.", rich_help_panel=_INPUT),
]
Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="The folder of a saved model, or the folder that `coterie cluster` wrote."),
]
Column = Annotated[
    str | None,
    typer.Option("--column", "-c", help="The text column.", show_default="found automatically", rich_help_panel=_INPUT),
]
TextColumns = Annotated[
    str | None,
    typer.Option(
        "--text-columns", metavar="NAME,NAME", help="Several text columns, joined row by row.", rich_help_panel=_INPUT
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row names the columns.",
        show_default="found out",
        rich_help_panel=_INPUT,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet", help="The sheet of an Excel file.", show_default="the first one shown", rich_help_panel=_INPUT
    ),
]
Format = Annotated[
    FileFormat | None,
    typer.Option(
        "--format", help="The format of the file.", show_default="by the suffix of its name", rich_help_panel=_INPUT
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", help="The character encoding.", show_default="UTF-8, else Windows-1252", rich_help_panel=_INPUT
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", help="The delimiter of a CSV file.", show_default="found automatically", rich_help_panel=_INPUT
    ),
]
Vectors = Annotated[
    Path | None,
    typer.Option(
        "--vectors", help="Ready vectors, one row for each text (.npy), instead of an encoder.", rich_help_panel=_INPUT
    ),
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw",
        help="Write CSV cells as they are, also those that a spreadsheet runs as formulas.",
        rich_help_panel=_OUTPUT,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.", rich_help_panel=_OUTPUT)]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only results, warnings and errors.", rich_help_panel=_OUTPUT)
]
MinConfidence = Annotated[
    float | None,
    typer.Option(
        "--min-confidence",
        min=0,
        max=1,
        help="Set texts with a smaller confidence aside.",
        show_default="0",
    ),
]
ShowProgress = Annotated[
    Progress,
    typer.Option(
        "--progress",
        help="bar; plain: a line every 10 s; off; auto: a bar on a terminal, lines where the variable CI is set.",
        rich_help_panel=_OUTPUT,
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")]
ResultFolder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="A new folder for the results.",
        show_default="FILE-clusters, numbered if taken",
        rich_help_panel=_OUTPUT,
    ),
]
Items = Annotated[InputType, typer.Option("--items", help="What is clustered.", rich_help_panel=_INPUT)]
Method = Annotated[
    str | None,
    typer.Option(
        "--method", "-m", help="The method; `coterie methods` lists them.", show_default="neighbors, trains nothing"
    ),
]
Train = Annotated[
    bool,
    typer.Option("--train", help="Train for minutes: the method refine.", rich_help_panel=_TRAINING),
]
TimeBudget = Annotated[
    str | None,
    typer.Option(
        "--time-budget", help="End training early to be done in this time, such as 5m.", rich_help_panel=_TRAINING
    ),
]
LogDir = Annotated[
    Path | None, typer.Option("--log-dir", help="Folder for a log of every epoch.", rich_help_panel=_TRAINING)
]
NoReport = Annotated[
    bool, typer.Option("--no-report", help="Do not write the page report.html.", rich_help_panel=_OUTPUT)
]
NoSave = Annotated[
    bool, typer.Option("--no-save", help="Only show the clusters, write nothing.", rich_help_panel=_OUTPUT)
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="File for the state of a running training.",
        show_default="OUT.checkpoint",
        rich_help_panel=_TRAINING,
    ),
]
NoTexts = Annotated[
    bool,
    typer.Option(
        "--no-texts",
        help="Leave the texts, images and columns out of the page; keywords stay.",
        rich_help_panel=_OUTPUT,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace what OUT names if it exists; a folder only if coterie wrote it.",
        rich_help_panel=_OUTPUT,
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", hidden=True)]  # the former name of --force
AllowEncoder = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-encoder", metavar="SOURCE", help="The folder, file or hub id of an encoder that MODEL may read."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method; `coterie methods NAME` lists them."),
]

_OPTION_OF_SETTING = {
    "n_clusters": "-k",
    "encoder": "--encoder",
    "min_confidence": "--min-confidence",
    "on_empty": "--on-empty",
    "random_state": "--seed",
    "verbose": "--quiet",
    "augmenter": "--augment",
    "checkpoint": "--checkpoint",
    "log_dir": "--log-dir",
}


def parse_settings(pairs: list[str] | None, cls: type, *, owner: str) -> dict[str, Any]:
    """Return the values of ``--set NAME=VALUE`` pairs in the types that ``cls`` declares."""
    from coterie.errors import InputError
    from coterie.hyper import settings
    from coterie.wording import did_you_mean

    declared = {setting.name: setting for setting in settings(cls) if setting.name not in _OPTION_OF_SETTING}
    values = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if name in _OPTION_OF_SETTING:
            raise InputError(f"--set {pair}: use the option {_OPTION_OF_SETTING[name]} instead.")
        if not equals or name not in declared:
            problem = f"there is no such setting.{did_you_mean(name, declared)}" if equals else "write NAME=VALUE."
            raise InputError(f"--set {pair}: {problem} The {owner} has the settings {', '.join(declared)}.")
        try:
            values[name] = declared[name].parse(text.strip())
        except InputError as error:
            raise InputError(f"--set {error}") from None
    return values
