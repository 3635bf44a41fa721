"""Results as JSON lines: one line a job, on the disk before the next job begins."""

from __future__ import annotations

import json
import os
from pathlib import Path

from coterie.benchmarks.jobs import Result
from coterie.errors import InputError

_NEEDED = ("method", "variant", "preset", "set", "seed", "encoder", "params", "overrides", "label_based")


def read_results(path: Path) -> list[Result]:
    """Return the results in ``path``, none when there is no such file; a last line cut short does not count."""
    if not path.exists():
        return []
    *lines, last = path.read_text(encoding="utf-8", errors="replace").split("\n")
    results = [_result(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]
    if last.strip():
        try:
            results.append(_result(last, path, len(lines) + 1))
        except InputError:  # the machine stopped while it was written
            pass
    return results


def append_result(path: Path, result: Result) -> None:
    """Add one line, whole and on the disk when this returns."""
    line = json.dumps(result, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        stream.write(line.encode())
        stream.flush()
        os.fsync(stream.fileno())


def mend(path: Path) -> None:
    """End the last line of ``path``, or remove it when it was cut short, so that another can follow."""
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


def _result(line: str, path: Path, number: int) -> Result:
    try:
        result = json.loads(line)
    except ValueError:
        raise InputError(f"{path}, line {number} is not JSON. Remove the line, and its job is run again.") from None
    missing = [name for name in _NEEDED if not isinstance(result, dict) or name not in result]
    if missing:
        raise InputError(f"{path}, line {number} is not a benchmark's result: it has no {missing[0]!r}.")
    return dict(result)
