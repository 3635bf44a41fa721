"""Limits of what is read: a file of some kilobytes can hold more than the memory of a machine.

Each limit has an environment variable that raises it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from coterie.errors import InputError


@dataclass(frozen=True)
class Limit:
    """The largest number of something that is read, and the environment variable that changes it."""

    variable: str
    default: int
    noun: str

    @property
    def value(self) -> int:
        """The limit: the value of the environment variable, or the default."""
        text = os.environ.get(self.variable, "").strip()
        if not text:
            return self.default
        if not text.isdecimal() or int(text[:20]) == 0:
            raise InputError(
                f"The environment variable {self.variable} is {text!r}; it must be a whole number above 0."
            )
        return int(text[:20])

    def check(self, n: int, name: str) -> None:
        """Raise :class:`InputError` if the file ``name`` has ``n``, which is too many."""
        if n > self.value:
            raise InputError(
                f"{name} has more than {self.value:,} {self.noun}. Make it smaller, or raise the limit with the "
                f"environment variable {self.variable}, e.g. {self.variable}={10 * self.value}."
            )


ROWS = Limit("COTERIE_MAX_ROWS", 5_000_000, "rows")
COLUMNS = Limit("COTERIE_MAX_COLUMNS", 16_384, "columns")  # as many as a sheet of Excel
CELLS = Limit("COTERIE_MAX_CELLS", 50_000_000, "cells")
BYTES = Limit("COTERIE_MAX_BYTES", 500_000_000, "bytes (when it is unpacked)")
PIXELS = Limit("COTERIE_MAX_PIXELS", 50_000_000, "pixels")


def check_table(n_rows: int, n_columns: int, name: str) -> None:
    """Raise :class:`InputError` if a table of this size is too large."""
    ROWS.check(n_rows, name)
    COLUMNS.check(n_columns, name)
    CELLS.check(n_rows * n_columns, name)
