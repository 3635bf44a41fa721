"""A process that is killed before each of its file calls: the target is whole, the old one or the new one.

The calls are Python's audit events (https://docs.python.org/3/library/audit_events.html): open, rename, mkdir, remove,
chmod and so on. The process ends there without any cleanup, as after SIGKILL or a loss of power.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import coterie
from attempt import Case, in_fork
from command import command
from coterie.data.files import read_table
from tiny import digest, model, texts

_CALLS = {"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.chmod", "os.truncate", "os.link", "shutil.move",
          "tempfile.mkdtemp", "tempfile.mkstemp", "fcntl.flock", "os.scandir", "ctypes.dlsym"}  # fmt: skip
_KILLED = 137


def cases(folder: Path, rng: np.random.Generator) -> Iterator[Case]:
    """Yield a case for each file call of each kind of writing, in random order."""
    for name in ("old", "new"):
        in_fork(partial(_fit, folder / name, name))
    (folder / "input.csv").write_text("text\n" + "\n".join(texts(12)))
    jobs: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any]]] = {
        "model": (partial(_save, folder), partial(_check_model, folder)),
        "table.csv": (partial(_assign, folder), partial(_check_table, folder)),
        "results": (partial(_cluster, folder), _check_results),
        "edited": (partial(_edit, folder), _check_results),
    }
    in_fork(partial(_cluster, folder, folder / "clustered"))
    points = []
    for name, (write, _) in jobs.items():
        total = in_fork(partial(_count, write, folder / f"counted-{name}")).value
        points += [(name, call) for call in range(1, (total or 0) + 1)]
        if not total:
            yield Case(f"writing {name}", partial(_fail, "it makes no file call, or does not end"))
    for index in rng.permutation(len(points)):
        name, call = points[int(index)]
        write, check = jobs[name]
        target = folder / f"{call}-{name}"
        in_fork(partial(write, target))  # the old one
        killed = partial(_kill, write, check, target, call)
        yield Case(f"writing {name}: killed at file call {call}", killed, must_be="accepted")
        for left in folder.glob(f"*{target.name}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def _kill(write: Callable[[Path], Any], check: Callable[[Path], Any], target: Path, call: int) -> None:
    """End a process at a file call; what is there must be whole, and the next write must succeed and leave nothing."""
    pid = os.fork()
    if not pid:
        sys.addaudithook(_Stop(call))
        with contextlib.suppress(Exception):
            write(target)
        os._exit(0)
    os.waitpid(pid, 0)
    check(target)
    write(target)
    check(target)
    left = [path.name for path in target.parent.iterdir() if target.name in path.name and path != target]
    if left := [name for name in left if not name.endswith(".lock")]:
        raise AssertionError(f"left behind: {left}")


class _Stop:
    """Counts file calls, and ends the process at one of them."""

    def __init__(self, call: int = 0) -> None:
        self.call, self.n = call, 0

    def __call__(self, event: str, args: Any) -> None:
        """Count one event."""
        if event in _CALLS:
            self.n += 1
            if self.n == self.call:
                os._exit(_KILLED)


def _count(write: Callable[[Path], Any], target: Path) -> int:
    write(target)
    counter = _Stop()
    sys.addaudithook(counter)
    write(target)
    return counter.n


def _fit(target: Path, name: str) -> None:
    model("kmeans", random_state=0 if name == "old" else 1, n_clusters=2 if name == "old" else 3).fit(texts()).save(
        target
    )


def _save(folder: Path, target: Path) -> None:
    coterie.load(folder / ("new" if target.exists() else "old")).save(target, overwrite=True)


def _check_model(folder: Path, target: Path) -> None:
    if digest(coterie.load(target)) not in [digest(coterie.load(folder / name)) for name in ("old", "new")]:
        raise AssertionError("the model is neither the old nor the new one")


def _assign(folder: Path, target: Path) -> None:
    command("assign", folder / "old", folder / "input.csv", "-o", target, "--force", "-q")


def _check_table(folder: Path, target: Path) -> None:
    if len(read_table(target).columns["cluster"]) != len(texts(12)):
        raise AssertionError("the table is not whole")


def _cluster(folder: Path, target: Path) -> None:
    command("cluster", folder / "input.csv", "-k", 2, "-e", "tfidf", "-m", "kmeans", "-o", target, "--force", "-q",
            "--no-report")  # fmt: skip


def _edit(folder: Path, target: Path) -> None:
    command("edit", folder / "clustered", "--merge", "0,1", "--rename", "0=Both", "-o", target, "--force", "-q",
            "--no-report")  # fmt: skip


def _check_results(target: Path) -> None:
    coterie.load(target)
    if len(read_table(target / "assignments.csv").columns["cluster"]) != len(texts(12)):
        raise AssertionError("the assignments are not whole")


def _fail(message: str) -> None:
    raise AssertionError(message)
