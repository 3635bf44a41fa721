"""Turn what can go wrong into one sentence on stderr and an exit code: 2 for input, 1 for the rest."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import typer


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command so that a user's mistake never shows a traceback."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        from coterie.errors import CoterieError

        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                command(*args, **kwargs)
                sys.stdout.flush()
            except CoterieError as error:
                _fail(f"Error: {error}", 2)
            except BrokenPipeError:  # `coterie ... | head`: the reader has had enough
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            except OSError as error:
                _fail(f"Error: {error.filename or 'disk'}: {error.strerror or error}.", 1)
            except KeyboardInterrupt as stop:
                _fail(str(stop) or "Stopped. Nothing was written.", 130)

    return run


def _fail(message: str, code: int) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Say our own warnings in one line; those of libraries are not the user's business."""
    if category.__module__.startswith("coterie"):
        typer.echo(f"Warning: {message}", err=True)
