"""What can go wrong, in sentences a user can act on."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError


class CoterieError(Exception):
    """Anything coterie refuses to do. The message says what, where, and what to do."""


class InputError(CoterieError, ValueError):
    """The texts, a file or a setting cannot be used as given."""


class MissingExtraError(CoterieError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, need: str, extra: str) -> None:
        super().__init__(f"{need} needs an optional package. Run: pip install 'coterie[{extra}]'")


class EncoderError(CoterieError):
    """An encoder cannot be loaded or is not the one that was trained with."""


class ArtifactError(CoterieError):
    """A saved model is missing, damaged, altered, or from a newer coterie."""


class NotFittedError(CoterieError, _SklearnNotFittedError):
    """The model has not seen any texts yet."""


class TrainingError(CoterieError):
    """Training went wrong in a way that more training does not mend."""


class TrainingStopped(KeyboardInterrupt):
    """The user stopped the training; the message says what was kept and how to go on."""
