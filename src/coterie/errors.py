"""Every error and warning of coterie. Messages say what is wrong, where, and what to do."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import cast

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError

CATCHING_WARNINGS = threading.Lock()
"""Held while warnings are caught: their filters are those of the whole process, so one thread at a time."""


class CoterieError(Exception):
    """Base class of all errors."""


class InputError(CoterieError, ValueError):
    """The texts, a file or a setting cannot be used as given."""


class LockedError(InputError):
    """Another process is writing to the same place."""


class MissingExtraError(CoterieError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, need: str, extra: str = "", *, command: str = "", or_else: str = "") -> None:
        command = command or f"pip install 'coterie[{extra}]'"
        other = f", or {or_else}." if or_else else ""
        super().__init__(f"{need} needs an optional package. Run: {command}{other}")


class EncoderError(CoterieError):
    """An encoder cannot be loaded, or is not the one that the model was trained with."""


class ArtifactError(CoterieError):
    """A saved model is missing, damaged, altered, or from a newer version."""


class NotFittedError(CoterieError, _SklearnNotFittedError):
    """The model is not fitted yet."""


class NamingError(CoterieError):
    """A language model gave no answer; ``is_final`` if asking again does not help."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


class TrainingError(CoterieError):
    """Training diverged or collapsed."""


class TrainingStopped(KeyboardInterrupt):
    """The user stopped the training; the message says what was saved and how to resume."""


class CoterieWarning(UserWarning):
    """Base class of all warnings."""


class BlankTextWarning(CoterieWarning):
    """Some texts are blank and get no cluster."""


class UnreadableTextWarning(CoterieWarning):
    """Some texts cannot be read well by the encoder: another script, too long, or ids."""


class UnreadableImageWarning(CoterieWarning):
    """Some image files cannot be read and get no cluster."""


class ChangedTypeWarning(CoterieWarning):
    """A column of a file has values that the other side has no type for, so it became text."""


class KeptColumnWarning(CoterieWarning):
    """A data frame has a column of a name that coterie uses: it is kept, and the new columns have a number."""


class NumberOfClustersWarning(CoterieWarning):
    """A method that finds the number of clusters itself found another one than was requested."""


class CollapseWarning(CoterieWarning):
    """Training diverged or the clusters collapsed, so it was stopped early."""


class UnchangedWarning(CoterieWarning):
    """An augmenter left most texts unchanged."""


class CacheWarning(CoterieWarning):
    """Something could not be written to the cache and will be computed again."""


class NamingWarning(CoterieWarning):
    """A language model did not name all clusters; keywords stand for the others."""


class CheckpointWarning(CoterieWarning):
    """There is a checkpoint of another run; it is kept under another name."""


class SlowWarning(CoterieWarning):
    """An optional package would do this much faster."""


class RepackedWarning(CoterieWarning):
    """An archive of a data set has the right contents, but is not the published file."""


def user_level() -> int:
    """Return the ``stacklevel`` by which a warning points at the line that called coterie."""
    level, caller = 1, cast("FrameType | None", sys._getframe(1))
    while caller is not None and caller.f_globals.get("__name__", "").split(".")[0] == "coterie":
        level, caller = level + 1, caller.f_back
    return level
