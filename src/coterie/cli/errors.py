"""Error messages of the command line: one sentence on stderr and an exit code, 2 for wrong input and 1 otherwise."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from coterie.cli.output import is_worker, say
from coterie.cli.targets import command_resources
from coterie.printable import printable


def check_streams() -> None:
    """Stop before the work if its result would be lost because stdout is closed; stderr may be closed.

    A stream that the caller has closed is None. Its number would go to the next file that is opened, so a file that
    swallows everything takes it.
    """
    is_closed = sys.stdout is None
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    if is_closed:
        typer.echo("Error: stdout is closed, so nothing can be printed. Open it, e.g. with >/dev/null.", err=True)
        sys.exit(2)


def handle_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command so that wrong input ends in one sentence instead of a traceback."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        from coterie.errors import CoterieError

        if is_worker() and command.__name__ != "cluster":  # one process is enough
            return
        with warnings.catch_warnings(), command_resources():
            warnings.showwarning = _show_warning
            try:
                command(*args, **kwargs)
                sys.stdout.flush()
            except CoterieError as error:
                _fail(f"Error: {error}", 2)
            except BrokenPipeError:  # the reader of a pipe has ended, e.g. `coterie ... | head`
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            except (MemoryError, RuntimeError) as error:
                if not _is_out_of_memory(error):
                    raise
                _fail(f"Error: there is not enough memory ({error}). Use fewer items, or smaller settings.", 1)
            except OSError as error:
                _fail(f"Error: {error.filename or 'disk'}: {error.strerror or error}.", 1)
            except KeyboardInterrupt as stop:
                _fail(str(stop) or "Stopped. Nothing was written.", 130)

    return run


def _is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or "allocate memory" in str(error)  # torch raises a RuntimeError


class Commands(TyperGroup):
    """The commands; what Typer says about wrong arguments repeats the arguments, so it is made printable, too."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the options that stand before a command."""
        with _printable_usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Parse and run a command."""
        with _printable_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _printable_usage_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):  # as all of Typer's errors have
            error.message = printable(message)  # type: ignore[attr-defined]
        raise


def _fail(message: str, code: int) -> None:
    say(message)
    raise typer.Exit(code)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print warnings of coterie in one line, and no warnings of libraries."""
    if category.__module__.startswith("coterie"):
        say(f"Warning: {message}")
