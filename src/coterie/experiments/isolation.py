"""Run a function in a process of its own."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from coterie.errors import CoterieError, CoterieWarning, InputError, TrainingError
from coterie.progress_display import Mode, show_progress
from coterie.training.interrupt import interruptible

_PRELOAD = ["coterie.experiments.runner", "transformers"]
_SECONDS_TO_TERMINATE = 30  # a training step ends, and a checkpoint is written


class CrashError(Exception):
    """The process ended without returning a result."""


def run_isolated(function: Callable[..., Any], *arguments: Any, progress: Mode = "off", title: str = "") -> Any:
    """Return ``function(*arguments)``, computed in a new process.

    A :class:`TrainingError` of the function is raised again here with the same message, any other
    :class:`CoterieError` as an :class:`InputError`; warnings of coterie are given again, too. ``progress`` says how
    progress is shown, after ``title``.
    """
    context = _context()
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(sender, (progress, title), function, arguments), daemon=True)
    try:
        with interruptible() as stop_requested:  # Ctrl-C during the start would leave a half-started process
            process.start()
        if stop_requested():
            raise KeyboardInterrupt
        sender.close()  # then the pipe is closed as soon as the process ends
        status, answer, given = receiver.recv()
        process.join()
    except EOFError:
        process.join()
        raise CrashError(f"The process ended unexpectedly (exit code {process.exitcode}).") from None
    except BaseException:  # Ctrl-C in the parent: end the process too
        if process.pid:
            process.terminate()
            process.join(_SECONDS_TO_TERMINATE)
            process.kill()
        raise
    for category, message in given:
        warnings.warn(message, category, stacklevel=2)
    if status == "input_error":
        raise InputError(answer)
    if status == "training_error":
        raise TrainingError(answer)
    return answer


def _context() -> Any:
    """Return a multiprocessing context that starts clean processes: forkserver if available, because it is faster."""
    if "forkserver" not in mp.get_all_start_methods():
        return mp.get_context("spawn")
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(_PRELOAD)
    return context


def _run(pipe: Connection, display: tuple[Mode, str], function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Call the function in the new process and send the result, or the message of the error, to the parent."""
    given: list[tuple[type[Warning], str]] = []
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends Ctrl-C to both processes; the parent decides
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        threading.Thread(target=_end_with_parent, daemon=True).start()
        with show_progress(display[0], title=display[1]), _warnings_in(given):
            answer = function(*arguments)
        pipe.send(("done", answer, given))
    except TrainingError as error:
        pipe.send(("training_error", str(error), given))
    except CoterieError as error:
        pipe.send(("input_error", str(error), given))
    except (KeyboardInterrupt, BrokenPipeError):  # terminated by the parent, or the parent is gone
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one would show a traceback


@contextmanager
def _warnings_in(given: list[tuple[type[Warning], str]]) -> Iterator[None]:
    """Add the warnings of coterie to ``given``, each once, instead of printing lines of code."""
    with warnings.catch_warnings(record=True) as caught:
        try:
            yield
        finally:
            own = [(w.category, str(w.message)) for w in caught if issubclass(w.category, CoterieWarning)]
            given.extend(dict.fromkeys(own))


def _end_with_parent() -> None:
    """Wait until the parent process has ended, then end this process."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
