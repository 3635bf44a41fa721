"""The demo data set: messages to the help desk of a software company, written for coterie."""

from __future__ import annotations

import csv
import io
from importlib.resources import files

from coterie.datasets.dataset import DATASETS, TextEntry
from coterie.datasets.readers import LabeledTexts


def read_helpdesk() -> LabeledTexts:
    """Read the file that is part of this package."""
    text = (files("coterie.datasets") / "helpdesk.csv").read_text(encoding="utf-8")
    return [(row["intent"], row["text"]) for row in csv.DictReader(io.StringIO(text))]


DATASETS.register(
    TextEntry(
        name="helpdesk",
        title="Messages to a software company's help desk, written for coterie",
        terms="MIT, part of this package",
        n_items=1325,
        n_clusters=16,
        order=0,
        read=read_helpdesk,
    )
)
