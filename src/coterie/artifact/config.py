"""The configuration of a saved model is not trusted: what is missing or of another kind is named in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from coterie.errors import ArtifactError, InputError
from coterie.probabilities import Calibration, Merges

_KINDS: dict[str, type] = {
    "method": str,
    "params": dict,
    "params.n_clusters": int,
    "encoder": dict,
    "encoder.name": str,
    "encoder.params": dict,
    "encoder.fingerprint": str,
    "encoder.dim": int,
    "encoder.input_type": str,
    "texts": dict,
    "texts.n": int,
    "texts.sha256": str,
    "versions": dict,
}
_NAMES = {str: "a word", dict: "an object", int: "a whole number"}
_MISFIT = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)
"""What Python, NumPy and torch raise when values do not belong together."""


def check_config(config: Any, path: Path) -> dict[str, Any]:
    """Return a configuration whose entries are of the right kinds, or raise :class:`ArtifactError`."""
    if not isinstance(config, dict):
        raise ArtifactError(f"{path} is not the configuration of a model.")
    for name, kind in _KINDS.items():
        value: Any = config
        for part in name.split("."):
            value = value.get(part)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ArtifactError(f"{path}: {name} must be {_NAMES[kind]}, got {value!r:.80}.")
    if not isinstance(config.get("notes", {}), dict):
        raise ArtifactError(f"{path}: notes must be an object.")
    return config


def checked_calibration(values: dict[str, Any]) -> Calibration:
    """Return the calibration of a model; raise :class:`ValueError` if it makes no probabilities."""
    calibration = Calibration(**values)
    if not (0 < calibration.temperature < np.inf and 0 <= calibration.noise < 1):
        raise ValueError(f"calibration is {values!r:.80}")
    return calibration


def checked_merges(values: dict[str, Any], n_clusters: int, n_items: int) -> Merges:
    """Return the clusters that were merged; raise :class:`ValueError` if they are not those of the model."""
    merges = Merges(**{name: tuple(numbers) for name, numbers in values.items()})
    numbers = [*merges.target, *merges.sizes]
    if any(not isinstance(number, int) or isinstance(number, bool) or number < 0 for number in numbers):
        raise ValueError("merges are not whole numbers")
    is_whole = len(merges.target) == len(merges.sizes) and len(merges.target) in (0, n_clusters)
    if not is_whole or any(k >= n_clusters or merges.target[k] != k for k in merges.target):
        raise ValueError(f"merges are not those of {n_clusters} clusters")
    if sum(merges.sizes) > n_items:
        raise ValueError(f"merges are not those of {n_items} items")
    return merges


@contextmanager
def fitting(path: Path) -> Iterator[None]:
    """Turn an error about values that do not belong together into an :class:`ArtifactError` that names ``path``."""
    try:
        yield
    except InputError as error:
        raise ArtifactError(f"{path}: {error}") from error
    except _MISFIT as error:
        if isinstance(error, ArtifactError):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ArtifactError(f"{path} does not describe a model that this coterie can read ({reason:.200}).") from error
