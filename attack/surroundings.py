"""Terminal codes in everything that is printed, threads that share a process, and a machine without a network."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import coterie
from attempt import Case
from command import command
from coterie.errors import CoterieError
from tiny import TRAINED, answers_of, digest, model, texts

_CODES = ["\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\u202e", "\u2066", "\x00", "\x08\x08", "\r", "\x7f", "\ud800"]


def terminal(folder: Path, rng: np.random.Generator) -> Iterator[Case]:
    """Yield commands on files whose texts, names and columns have codes."""
    number = 0
    while True:
        number += 1
        code, other = (str(rng.choice(_CODES)) for _ in range(2))
        chosen = int(rng.integers(8))
        yield Case(f"terminal {number}: {code!a} {other!a}", partial(_print, folder / str(number), code, other, chosen))


def _print(folder: Path, code: str, other: str, number: int) -> None:
    folder.mkdir()
    in_name = code.replace("\x00", "").encode("utf-8", "surrogateescape" if "\ud800" not in code else "ignore")
    table = folder / f"t{in_name.decode('utf-8', 'surrogateescape')}.csv"
    rows = [f'"{text} {code}","{other}{text}"' for text in texts(12)]
    table.write_bytes("\n".join([f'"text","{other}"', *rows]).encode("utf-8", "replace"))
    plain = folder / "plain.csv"
    plain.write_bytes(table.read_bytes())
    out = folder / "out"
    command("cluster", plain, "-c", "text", "-k", 2, "-e", "tfidf", "-m", "kmeans", "-o", out, "--no-report")
    commands: list[list[Any]] = [
        ["info", out / "model"],
        ["assign", out / "model", table, "-c", "text", "-o", folder / f"o{in_name.decode('utf-8', 'replace')}.csv"],
        ["cluster", table, "-c", f"no{other}", "-k", 2, "--no-save"],
        ["cluster", plain, "-c", "text", "-k", 2, "-e", f"tfidf{other}", "--no-save"],
        ["evaluate", table, "-t", f"x{code}"],
        ["tree", out / "model"],
        ["edit", out, "--rename", f"0={code}{other}x", "--merge", f"0,{other}", "-o", folder / "edited", "--no-report"],
        ["edit", out, "--rename", f"0={code}{other}x", "-o", folder / "edited", "--no-report"],
    ]
    _try(*commands[number])


def _try(*arguments: Any) -> None:
    """Run a command that may refuse, in a sentence without codes."""
    with contextlib.suppress(CoterieError):
        command(*arguments)


def threads(folder: Path, rng: np.random.Generator) -> Iterator[Case]:
    """Yield pairs of methods that are fitted, saved and loaded in four threads, without end."""
    number = 0
    while True:
        number += 1
        names = [str(name) for name in rng.choice(["kmeans", "neighbors", *TRAINED], 2, replace=False)]
        yield Case(f"threads {names}", partial(_in_threads, folder / str(number), names))


def _in_threads(folder: Path, names: list[str]) -> None:
    folder.mkdir()
    jobs = [(name, seed) for name in names for seed in (0, 1)]
    alone = [_fit(job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        if list(pool.map(_fit, jobs)) != alone:
            raise AssertionError("a thread changed the result of another")
    shared = model(names[0]).fit(texts())
    q = shared.predict_proba(texts(20))
    shared.save(folder / "model")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: shared.predict_proba(texts(20)[i : i + 5]), range(15)))
        loaded = list(pool.map(lambda _: answers_of(coterie.load(folder / "model")), range(4)))
    if not all(np.array_equal(answer, q[i : i + 5]) for i, answer in enumerate(answers)):
        raise AssertionError("a request changed the answer of another")
    if set(loaded) != {answers_of(shared)}:
        raise AssertionError("a model loaded in a thread differs")


def _fit(job: tuple[str, int]) -> str:
    return digest(model(job[0], random_state=job[1]).fit(texts()))


def offline(folder: Path, rng: np.random.Generator) -> Iterator[Case]:
    """Yield each method once, with the default encoder for some, where opening a socket is an error."""
    for number, name in enumerate(rng.permutation(["kmeans", "neighbors", *TRAINED])):
        encoder = "bundled" if name in ("kmeans", "sccl") else "tfidf"
        yield Case(f"offline {name} {encoder}", partial(_without_network, folder / str(number), str(name), encoder),
                   must_be="accepted")  # fmt: skip


def _without_network(folder: Path, name: str, encoder: str) -> None:
    def refuse(event: str, args: Any) -> None:
        if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.bind"):
            raise AssertionError(f"{event} {args[1:]}")

    sys.addaudithook(refuse)
    folder.mkdir()
    fitted = model(name, encoder=encoder).fit(texts())
    fitted.save(folder / "model")
    coterie.load(folder / "model").predict(texts(3))
    (folder / "t.csv").write_text("text\n" + "\n".join(texts(12)))
    command("assign", folder / "model", folder / "t.csv", "-o", folder / "o.csv")
