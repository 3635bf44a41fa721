"""One attempt of an attack: a function in a forked process, with limits on time and memory.

It is *refused* if it ends in an error of coterie in a short, printable sentence, *accepted* if it ends without an
error, and *failed* if it ends in any other way: a traceback, a crash, a hang, or too much memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command import UNSAFE
from coterie.errors import CoterieError

CPU_SECONDS, WALL_SECONDS, MEGABYTES = 20, 120, 1_000
MAX_MESSAGE = 4_000


@dataclass(frozen=True)
class Case:
    """One attempt: what it is called, and what it does. Only ``must_be``, if given, is a good end."""

    name: str
    run: Callable[[], Any]
    must_be: str = ""


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended."""

    verdict: str  # accepted, refused or failed
    detail: str = ""
    value: Any = None
    megabytes: float = 0.0


def attempt(case: Case) -> Outcome:
    """Run a case in a forked process, and judge it."""
    outcome = in_fork(case.run)
    if case.must_be and outcome.verdict not in (case.must_be, "failed"):
        return Outcome("failed", f"was {outcome.verdict}, but must be {case.must_be}: {outcome.detail}")
    return outcome


def in_fork(function: Callable[[], Any]) -> Outcome:
    """Run ``function`` in a forked process and return how it ended, with the value that it returned."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        _child(function, writer)
    os.close(writer)
    text = _read(reader, pid)
    _, status = os.waitpid(pid, 0)
    if not text:
        return Outcome("failed", f"died with status {status} (a hang, a crash, or no memory)")
    outcome = Outcome(**json.loads(text))
    if outcome.megabytes > MEGABYTES:
        return Outcome("failed", f"took {outcome.megabytes:.0f} MB")
    return outcome


def _read(reader: int, pid: int) -> str:
    """Return what a child writes; kill it when it takes too long."""
    parts: list[bytes] = []
    with os.fdopen(reader, "rb") as stream:
        while select.select([stream], [], [], WALL_SECONDS)[0]:
            if not (part := os.read(stream.fileno(), 65_536)):
                return b"".join(parts).decode()
            parts.append(part)
    os.kill(pid, signal.SIGKILL)
    return ""


def _child(function: Callable[[], Any], writer: int) -> None:
    """Run the function, write its outcome, and end the process."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silent, descriptor)
    warnings.simplefilter("ignore")
    before = _peak()
    outcome = _judge(function)
    outcome["megabytes"] = _peak() - before
    os.write(writer, json.dumps(outcome).encode())
    os._exit(0)


def _judge(function: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"verdict": "accepted", "value": function()}
    except CoterieError as error:
        text = str(error)
        if UNSAFE.search(text) or len(text) > MAX_MESSAGE or not text:
            return {"verdict": "failed", "detail": f"an unsafe or endless message of {len(text)} characters"}
        return {"verdict": "refused", "detail": text}
    except BaseException:
        return {"verdict": "failed", "detail": traceback.format_exc()[-1500:]}


def _peak() -> float:
    """Return the largest memory that this process had, in megabytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0
