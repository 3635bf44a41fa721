"""Run the code of a page of the documentation, and write what it prints below it.

    python -m website.run_page docs/tutorials/tickets.md    # run it, and write its outputs into the page

Blocks of Python share one namespace. In blocks of `console` every line `$ coterie ...` is run, also after
`echo TEXT |`. What is printed stands in a block of `text` below Python, and below the command in `console`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", flags=re.S | re.M)
_MAX_LINES = 16  # of an output on a page
_WIDTH = "84"


def run_page(text: str, folder: Path) -> str:
    """Run the code of a page in ``folder``, and return the page with its outputs."""
    names: dict[str, object] = {"__name__": "page"}
    with contextlib.chdir(folder), _width(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)

        def run(block: re.Match[str]) -> str:
            if block[1] == "console":
                return f"```console\n{_run_console(block[2])}```\n"
            return f"```python\n{block[2]}```\n" + _output_block(_run_python(block[2], names))

        return _BLOCK.sub(run, text)


@contextlib.contextmanager
def _width() -> Iterator[None]:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _WIDTH
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def _run_python(code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "page", "exec"), names)
    return printed.getvalue()


def _output_block(printed: str) -> str:
    return f"\n```text\n{_shown(printed)}```\n" if printed.strip() else ""


def _run_console(lines: str) -> str:
    commands = [line for line in lines.splitlines() if line.startswith("$ ")]
    return "".join(f"{command}\n{_shown(_run_command(command[2:]))}" for command in commands)


def _run_command(command: str) -> str:
    """Return what a command of coterie prints; raise an error if it fails."""
    from typer.testing import CliRunner

    from coterie.cli.main import app

    said, _, line = command.rpartition("| ")
    words = shlex.split(line, comments=True)
    stdin = " ".join(shlex.split(said)[1:]) + "\n" if said else None
    if words[0] == "ls":
        return "".join(f"{name}\n" for name in sorted(os.listdir(words[1])))
    assert words[0] == "coterie", command
    result = CliRunner().invoke(app, words[1:], input=stdin)
    if result.exit_code:
        raise RuntimeError(f"{command}\n{result.output}") from result.exception
    return result.output


def _shown(printed: str) -> str:
    """Return the first lines of an output, without spaces at the ends of lines."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    lines = lines if len(lines) <= _MAX_LINES else [*lines[: _MAX_LINES - 1], "…"]
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    """Run pages, and write their outputs."""
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder:
            path.write_text(run_page(path.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
