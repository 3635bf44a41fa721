"""Call a function in a process of its own."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import threading
from collections.abc import Callable
from contextlib import nullcontext
from multiprocessing.connection import Connection
from typing import Any

from coterie.errors import CoterieError, InputError, TrainingError
from coterie.progress import bars
from coterie.training.interrupt import interruptible


class CrashError(Exception):
    """The process ended without an answer."""


def call(function: Callable[..., Any], *arguments: Any, show: bool = False) -> Any:
    """Return ``function(*arguments)``; ``show`` lets the process show its progress.

    What coterie refuses is raised here as an :class:`InputError` or :class:`TrainingError` with the same sentence.
    """
    context = _context()
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(there, show, function, arguments), daemon=True)
    try:
        with interruptible() as asked_to_stop:  # a process that is half started could not be told
            process.start()
        if asked_to_stop():
            raise KeyboardInterrupt
        there.close()  # so that the end of the process is the end of the pipe
        kind, answer = here.recv()
        process.join()
    except EOFError:
        process.join()
        raise CrashError(f"Its process ended by itself (exit code {process.exitcode}).") from None
    except BaseException:  # Ctrl-C here: the process, if it has begun, is told as well
        if process.pid:
            process.terminate()
            process.join(10)
            process.kill()
        raise
    if kind == "refused":
        raise InputError(answer)
    if kind == "failed":
        raise TrainingError(answer)
    return answer


def _context() -> Any:
    """Return the kind of processes that starts clean, and where there is one, without importing everything anew."""
    if "forkserver" not in mp.get_all_start_methods():
        return mp.get_context("spawn")
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["coterie.benchmarks.run", "transformers"])
    return context


def _answer(pipe: Connection, show: bool, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Run in the process; end quietly, and with the terminal in order, when told to."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the caller decides
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        threading.Thread(target=_end_with_the_caller, daemon=True).start()
        with bars() if show else nullcontext():
            pipe.send(("done", function(*arguments)))
    except TrainingError as error:
        pipe.send(("failed", str(error)))
    except CoterieError as error:
        pipe.send(("refused", str(error)))
    except (KeyboardInterrupt, BrokenPipeError):  # told to end, or nobody is left to answer
        pass


def _end_with_the_caller() -> None:
    """Wait until the caller is gone, however it went, and end this process too."""
    caller = mp.parent_process()
    if caller is not None:
        caller.join()
        os.kill(os.getpid(), signal.SIGTERM)
