"""A table of text cells as Markdown, CSV or LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Literal

Format = Literal["markdown", "csv", "latex"]
Rows = Sequence[Sequence[str]]
_LATEX = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}"}
_LATEX |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "±": r"$\pm$", "–": "--"}
_LATEX |= {"Δ": r"$\Delta$", "λ": r"$\lambda$", "τ": r"$\tau$", "†": r"$^\dagger$", "‡": r"$^\ddagger$"}


def render(rows: Rows, notes: Sequence[str], table_format: Format = "markdown") -> str:
    """Return the table, whose first row is the header; the notes follow it, in CSV they are left out."""
    if table_format == "csv":
        return _csv(rows)
    if table_format == "latex":
        return "\n".join([*_latex(rows), "", *(f"% {note}".rstrip() for note in notes)])
    return "\n".join([*_markdown(rows), "", *notes])


def _markdown(rows: Rows) -> list[str]:
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
    lines.insert(1, "|---|" + "--:|" * (len(rows[0]) - 1))
    return lines


def _csv(rows: Rows) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue().rstrip("\n")


def _latex(rows: Rows) -> list[str]:
    header, *body = [" & ".join(map(_escape, row)) + r" \\" for row in rows]
    columns = "l" + "r" * (len(rows[0]) - 1)
    return [rf"\begin{{tabular}}{{{columns}}}", r"\hline", header, r"\hline", *body, r"\hline", r"\end{tabular}"]


def _escape(cell: str) -> str:
    return "".join(_LATEX.get(char, char) for char in cell)
