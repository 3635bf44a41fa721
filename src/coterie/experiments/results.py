"""Results as JSON lines: one line per job, written to disk before the next job starts."""

from __future__ import annotations

import json
import os
from pathlib import Path

from coterie.errors import InputError
from coterie.experiments.jobs import Result

_REQUIRED = ("method", "variant", "preset", "set", "seed", "encoder", "params", "overrides", "label_based")


def read_results(path: Path, *, strict: bool = True) -> list[Result]:
    """Return the results in ``path``, none when there is no such file. An incomplete last line is ignored.

    If a line is no result, :class:`InputError` is raised; with ``strict=False`` it is left out.
    """
    if not path.exists():
        return []
    *lines, last = path.read_text(encoding="utf-8", errors="replace").split("\n")
    results = []
    for number, line in enumerate(lines, start=1):
        try:
            results += [_parse(line, path, number)] if line.strip() else []
        except InputError:
            if strict:
                raise
    if last.strip():
        try:
            results.append(_parse(last, path, len(lines) + 1))
        except InputError:  # the process ended while it wrote the line
            pass
    return results


def append_result(path: Path, result: Result) -> None:
    """Append one line to ``path``. It is on disk when this returns."""
    line = json.dumps(result, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        stream.write(line.encode())
        stream.flush()
        os.fsync(stream.fileno())


def repair(path: Path) -> None:
    """Complete the last line of ``path`` with a line end, or remove the line if it is incomplete."""
    if not path.exists():
        return
    with path.open("rb+") as stream:
        data = stream.read()
        start = data.rfind(b"\n") + 1
        if start == len(data):
            return
        try:
            json.loads(data[start:])
            stream.write(b"\n")
        except ValueError:
            stream.truncate(start)


def _parse(line: str, path: Path, number: int) -> Result:
    try:
        result = json.loads(line)
    except ValueError:
        raise InputError(f"{path}, line {number} is not JSON. Remove the line to run its job again.") from None
    missing = [name for name in _REQUIRED if not isinstance(result, dict) or name not in result]
    if missing:
        raise InputError(f"{path}, line {number} is not a result: it has no {missing[0]!r}.")
    return dict(result)
