"""The clusters as people read them: a line of numbers for each, with its keywords and typical items below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coterie.cli.output import screen_width, show
from coterie.printable import printable

if TYPE_CHECKING:
    from coterie.describe.cluster_table import ClusterRow, ClusterTable

_GAP = "  "  # between two columns
_EXAMPLE_LINES = 2  # a typical text is cut after so many lines
_MIN_NAME = 24  # columns of the screen for a name; where less is left, the last numbers are left out
_MAX_NAME = 60  # numbers farther to the right are hard to follow
_Numbers = dict[str, list[str]]


def print_clusters(table: ClusterTable) -> None:
    """Print the table of clusters as wide as the screen. Names, keywords and typical items wrap at words."""
    show("\n".join(cluster_lines(table, screen_width())))


def cluster_lines(table: ClusterTable, width: int) -> list[str]:
    """Return the lines of the table of clusters, ``width`` columns wide."""
    numbers = _numbers(table)
    while len(numbers) > 1 and width - _width(numbers) < _MIN_NAME:
        numbers.popitem()
    left = min(max(width - _width(numbers), _MIN_NAME), _MAX_NAME)
    index = max((len(str(row.cluster)) for row in table), default=1)
    indent = " " * index + _GAP
    lines = [_line("cluster", list(numbers), numbers, left), "─" * width]
    for position, row in enumerate(table):
        first, *others = wrap(row.name, left - len(indent)) or [""]
        cells = [column[position] for column in numbers.values()]
        lines.append(_line(f"{row.cluster:>{index}}{_GAP}{first}", cells, numbers, left))
        lines += [indent + line for line in (*others, *_details(row, width - len(indent)))]
    return [line.rstrip() for line in lines]


def _numbers(table: ClusterTable) -> _Numbers:
    """Return the columns of numbers by their titles, the most important first."""
    numbers = {
        "size": [f"{row.size:,}" for row in table],
        "share": [f"{row.share:.1%}" for row in table],
        "confidence": [f"{row.confidence:.2f}" for row in table],
    }
    if any(row.stability is not None for row in table):  # older models do not know it
        numbers["stability"] = ["" if row.stability is None else f"{row.stability:.2f}" for row in table]
    return numbers


def _width(numbers: _Numbers) -> int:
    """Return the width of all columns of numbers, with a gap before each."""
    return sum(len(_GAP) + _column_width(*column) for column in numbers.items())


def _column_width(title: str, cells: list[str]) -> int:
    return max(map(len, (title, *cells)))


def _line(left: str, cells: Sequence[str], numbers: _Numbers, width: int) -> str:
    """Return ``left`` in ``width`` columns of the screen, and the numbers aligned right."""
    from rich.cells import set_cell_size

    right = [cell.rjust(_column_width(*column)) for cell, column in zip(cells, numbers.items(), strict=True)]
    return _GAP.join([set_cell_size(left, width), *right])


def _details(row: ClusterRow, width: int) -> list[str]:
    """Return the lines below a name: the keywords, and typical items cut after some lines."""
    lines = wrap(", ".join(printable(word, max_length=40) for word in row.keywords), width)
    for example in row.examples:
        wrapped = wrap(printable(example, max_word=200, max_length=1_000), width - 2, max_lines=_EXAMPLE_LINES)
        lines += [f"- {line}" if i == 0 else f"  {line}" for i, line in enumerate(wrapped)]
    return lines


def wrap(text: str, width: int, *, max_lines: int = 100) -> list[str]:
    """Return the lines of ``text``, wrapped at words; wide characters take two columns. The last line may be cut."""
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console
    from rich.text import Text

    width = max(width, 2)
    wrapped = Text(printable(text)).wrap(Console(width=width), width)
    lines = [line.plain.rstrip() for line in wrapped if line.plain.strip()]
    if len(lines) > max_lines:
        last = lines[max_lines - 1]
        while cell_len(last) > width - 2 and " " in last:
            last = last.rpartition(" ")[0]
        lines[max_lines - 1 :] = [f"{set_cell_size(last, min(cell_len(last), width - 2))} …"]
    return lines
