"""Save and resume a training: one safetensors file with a checksum, written atomically, no pickle."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from coterie.contracts import Objective
from coterie.data.atomic import atomic_file
from coterie.errors import ArtifactError, CheckpointWarning, user_level
from coterie.seeding import random_states, set_random_states

if TYPE_CHECKING:
    from coterie.training.trainer import Run


_MALFORMED = (
    ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, SafetensorError, TypeError,
    ValueError,
)  # fmt: skip


_LABELS = ("initial_labels", "pseudo_labels", "y")  # (N,) a cluster of each item
_MAX_WEIGHT = 1e18  # squares must be finite in float32


@dataclass(frozen=True)
class Checkpoint:
    """The file of a run, and a hash of items and settings that identifies the run."""

    path: Path
    fingerprint: str

    def save(self, run: Run) -> None:
        """Write everything that ``run`` needs to resume."""
        tensors = {f"trained.{name}": value for name, value in run.objective.trained_state().items()}
        tensors |= {f"best.{name}": value for name, value in run.guard.best.items()}
        for number, slots in run.optimizer.adam.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{slot}": value for slot, value in slots.items()}
        tensors |= {f"random.{device}": state for device, state in random_states().items()}
        meta = {
            "fingerprint": self.fingerprint, "step": run.step, "total": run.total, "history": run.history,
            "sums": dict(run.sums), "guard": run.guard.state(),
        }  # fmt: skip
        contiguous = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
        text = json.dumps(meta)
        with atomic_file(self.path) as temporary:
            save_file(contiguous, temporary, metadata={"coterie": text, "sha256": _sha256(text, contiguous)})

    def restore(self, run: Run) -> bool:
        """Restore ``run``; return False when there is no checkpoint of these items and settings."""
        if not self._claim():
            return False
        with _readable(self.path):
            meta, tensors = _read(self.path)
            _check_meta(meta, run.total)
            trained, best = _under("trained.", tensors), _under("best.", tensors)
            own = run.objective.trained_state().keys()
            if trained.keys() != own or (best and best.keys() != own):
                raise ValueError("its tensors are not those of this training")
            _check_state(trained, run.objective)
            _check_state(best, run.objective)
            run.step, run.history = meta["step"], meta["history"]
            run.total = meta.get("total", run.total)  # a deadline may have shortened the plan
            run.sums.update(meta["sums"])
            run.objective.load_state_dict(best, strict=False)  # fails here if a shape is wrong, not after the training
            run.objective.load_state_dict(trained, strict=False)
            run.guard.restore(meta["guard"], best)
            _fill_adam(run.optimizer.adam, _under("adam.", tensors))
            set_random_states(_under("random.", tensors))
        return True

    def remove(self) -> None:
        """Delete the checkpoint of a finished run, unless the file is that of another run by now."""
        if self.path.is_file() and _fingerprint(self.path) == self.fingerprint:
            self.path.unlink(missing_ok=True)

    def _claim(self) -> bool:
        """Whether ``path`` is the checkpoint of this run, perhaps again. That of another run gets another name."""
        found = _fingerprint(self.path) if self.path.exists() else None
        if found == self.fingerprint:
            return True
        if found is not None:
            kept = self._name_of(found)
            self.path.replace(kept)
            warnings.warn(
                f"The checkpoint {self.path} is of other items or settings. It is kept as {kept}: its command resumes "
                "from there. Delete it if you do not need it.",
                CheckpointWarning,
                stacklevel=user_level(),
            )
        if (own := self._name_of(self.fingerprint)).is_file():
            own.replace(self.path)
            return self._claim()
        return False

    def _name_of(self, fingerprint: str) -> Path:
        """Return the name under which the checkpoint of a run is kept while another run has its place."""
        return self.path.with_name(f"{self.path.name}.{hashlib.sha256(fingerprint.encode()).hexdigest()[:8]}")


def _fingerprint(path: Path) -> str:
    """Return the run that a checkpoint belongs to."""
    with _readable(path):
        if not path.is_file():
            raise ValueError("it is a folder, a pipe or a device")
        with safe_open(path, framework="pt") as file:
            fingerprint = json.loads(file.metadata()["coterie"])["fingerprint"]
        if not isinstance(fingerprint, str):
            raise ValueError("it does not say what it is a checkpoint of")
        return fingerprint


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    if metadata.get("sha256") != _sha256(metadata["coterie"], tensors):
        raise ValueError("it is damaged or was altered: its SHA-256 differs")
    return json.loads(metadata["coterie"]), tensors


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn whatever a malformed checkpoint causes into a sentence."""
    try:
        yield
    except _MALFORMED as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ArtifactError(
            f"{path} is not a readable checkpoint ({reason:.200}). Delete it to start again."
        ) from error


def _sha256(meta: str, tensors: dict[str, Tensor]) -> str:
    """Return a hash of everything in a checkpoint."""
    digest = hashlib.sha256(meta.encode())
    for name, value in sorted(tensors.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)} ".encode())
        if value.numel():  # an empty tensor may have a stride that has no view
            digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _check_meta(meta: dict[str, Any], total: int) -> None:
    """Raise :class:`ValueError` if the position or the records of a run are not what a run writes."""
    step, history = meta["step"], meta["history"]
    if not isinstance(step, int) or not 0 <= step <= total:
        raise ValueError(f"it is at step {step!r:.20} of {total}")
    planned = meta.get("total", total)
    if not isinstance(planned, int) or not step <= planned <= total:
        raise ValueError(f"it ends at step {planned!r:.20} of {total}")
    if not isinstance(history, list) or not all(isinstance(record, dict) for record in history):
        raise ValueError("its history is not a list of records")
    if not all(isinstance(value, int | float) for value in meta["sums"].values()):
        raise ValueError("its sums are not numbers")


def _check_state(state: dict[str, Tensor], objective: Objective) -> None:
    """Raise :class:`ValueError` for weights that no training can go on from, and for labels of no cluster."""
    for name, value in state.items():
        if value.is_floating_point() and not (value.abs() < _MAX_WEIGHT).all():
            raise ValueError(f"{name} has values that are not finite numbers, or far too large")
        if name in _LABELS and not ((value >= 0) & (value < len(objective.centers))).all():
            raise ValueError(f"{name} has labels that are not those of its clusters")
        if not value.ndim and value < 0 and not value.is_floating_point():
            raise ValueError(f"{name} is a count below zero")


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _fill_adam(adam: torch.optim.Adam, slots: dict[str, Tensor]) -> None:
    """Load the state of the optimizer, which torch itself does not compare with the weights."""
    weights = [weight for group in adam.param_groups for weight in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in slots.items():
        number, slot = name.split(".")
        if value.shape not in (weights[int(number)].shape, torch.Size([])):
            raise ValueError(f"the optimizer's state {name} has another shape than its weight")
        state.setdefault(int(number), {})[slot] = value
    adam.load_state_dict(adam.state_dict() | {"state": state})
