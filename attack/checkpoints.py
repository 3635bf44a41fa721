"""Checkpoints that a stranger changed, with a checksum that fits; then the training resumes from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from attempt import Case, in_fork
from coterie.training import checkpoint as module
from mutations import STRANGE, leaves, mutated, tensor_mutations, with_entry
from tiny import TRAINED, model, texts


class Enough(BaseException):
    """Ends a training in the middle."""


def cases(folder: Path, rng: np.random.Generator) -> Iterator[Case]:
    """Yield changes of checkpoints, in random order and without end."""
    number = 0
    while True:
        number += 1
        name = str(rng.choice(TRAINED))
        made, path = folder / f"{name}.checkpoint", folder / f"altered-{number}"
        if not made.exists():
            in_fork(partial(_stop_in_the_middle, name, made))
        signed = bool(rng.random() < 0.7)
        path.write_bytes(made.read_bytes())
        what = _rewrite(path, rng) if signed else _damage(path, rng)
        must_be = "" if signed or what == "as it was" else "refused"
        yield Case(f"checkpoint {name}: {what}", partial(_resume, name, path), must_be)
        path.unlink(missing_ok=True)


def _resume(name: str, path: Path) -> None:
    fitted = model(name, checkpoint=path, checkpoint_every=1).fit(texts())
    if not np.isfinite(fitted.predict_proba(texts(3))).all():
        raise ValueError("probabilities are not numbers")


def _stop_in_the_middle(name: str, path: Path) -> None:
    def stop(evaluation: Any) -> None:
        if evaluation.record["step"] >= 8:
            raise Enough

    model(name, checkpoint=path, checkpoint_every=1).fit(texts(), callback=stop)  # type: ignore[call-arg]


def _rewrite(path: Path, rng: np.random.Generator) -> str:
    """Change one entry or tensor, and the checksum."""
    with safe_open(path, framework="pt") as file:
        meta, tensors = json.loads(file.metadata()["coterie"]), {n: file.get_tensor(n) for n in file.keys()}
    if rng.random() < 0.5:
        places = list(leaves(meta))
        place = places[int(rng.integers(len(places)))]
        new: Any = [*STRANGE, with_entry][int(rng.integers(len(STRANGE) + 1))]
        meta, what = with_entry(meta, place, new), f"{place} = {str(new)[:30]!a}"
    else:
        name = sorted(tensors)[int(rng.integers(len(tensors)))]
        options = list(tensor_mutations(tensors[name].numpy(), rng))
        kind, array = options[int(rng.integers(len(options)))]
        tensors[name], what = torch.from_numpy(np.array(array)), f"{name} {kind}"
    text = json.dumps(meta)
    save_file(tensors, path, metadata={"coterie": text, "sha256": module._sha256(text, tensors)})
    return what


def _damage(path: Path, rng: np.random.Generator) -> str:
    before = path.read_bytes()
    path.write_bytes(mutated(before, rng))
    return "damaged" if path.read_bytes() != before else "as it was"
