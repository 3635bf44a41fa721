"""A training that can go on: one file, whole or not at all, without pickle."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from coterie.data.atomic import atomic_file
from coterie.errors import ArtifactError
from coterie.training.seeding import random_states, set_random_states

if TYPE_CHECKING:
    from coterie.training.trainer import Run


@dataclass(frozen=True)
class Checkpoint:
    """Where a run is kept, and a hash of texts and settings by which it is known again."""

    path: Path
    fingerprint: str

    def save(self, run: Run) -> None:
        """Write everything that decides how ``run`` goes on."""
        tensors = {f"learnt.{name}": value for name, value in run.objective.learnt().items()}
        tensors |= {f"best.{name}": value for name, value in run.guard.best.items()}
        for number, slots in run.optimizer.adam.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{slot}": value for slot, value in slots.items()}
        tensors |= {f"random.{device}": state for device, state in random_states().items()}
        notes = {
            "fingerprint": self.fingerprint, "step": run.step, "history": run.history,
            "sums": dict(run.sums), "guard": run.guard.notes(),
        }  # fmt: skip
        with atomic_file(self.path) as temporary:
            contiguous = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
            save_file(contiguous, temporary, metadata={"coterie": json.dumps(notes)})

    def restore(self, run: Run) -> bool:
        """Put ``run`` where it was; False when there is no checkpoint of these texts and settings."""
        if not self.path.is_file():
            return False
        notes, tensors = _read(self.path)
        if notes["fingerprint"] != self.fingerprint:
            return False
        run.step, run.history = notes["step"], notes["history"]
        run.sums.update(notes["sums"])
        run.objective.load_state_dict(_under("learnt.", tensors), strict=False)
        run.guard.resume(notes["guard"], _under("best.", tensors))
        _fill_adam(run.optimizer.adam, _under("adam.", tensors))
        set_random_states(_under("random.", tensors))
        return True

    def remove(self) -> None:
        """Forget a run that has come to its end."""
        self.path.unlink(missing_ok=True)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        with safe_open(path, framework="pt") as file:
            notes = json.loads(file.metadata()["coterie"])
            return notes, {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ArtifactError(
            f"{path} is not a checkpoint that can be read ({error}). Remove it to start anew."
        ) from None


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _fill_adam(adam: torch.optim.Adam, slots: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in slots.items():
        number, slot = name.split(".")
        state.setdefault(int(number), {})[slot] = value
    adam.load_state_dict(adam.state_dict() | {"state": state})
