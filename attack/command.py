"""A command of coterie, run in this process as a user would: nothing unsafe may be printed, and nothing may escape."""

from __future__ import annotations

import re
import warnings
from typing import Any

from typer.testing import CliRunner

from coterie.cli.main import app
from coterie.errors import CoterieError

UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def command(*arguments: Any) -> None:
    """Run a command; raise :class:`CoterieError` if it refuses, and another error for all that must not happen."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    for stream in (result.stdout, result.stderr):
        if found := UNSAFE.search(stream):
            raise AssertionError(f"{arguments[0]} printed {found[0]!a}: {stream[max(found.start() - 80, 0) :][:160]!a}")
    if result.exit_code:
        raise CoterieError(result.stderr[-2_000:] or f"exit code {result.exit_code}")
