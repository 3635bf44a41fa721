"""Model folders that a stranger changed, with hashes that fit; then the altered model is used."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

import coterie
from attempt import Case, in_fork
from command import command
from coterie.artifact.manifest import write_manifest
from mutations import STRANGE, leaves, mutated, tensor_mutations, with_entry
from tiny import TRAINED, model, texts, word_vectors


def cases(folder: Path, rng: np.random.Generator) -> Iterator[Case]:
    """Yield changes of every entry, tensor and byte of saved models, in random order and without end."""
    names = ["kmeans", "neighbors", "merged", "joined", "cnn", *TRAINED]
    vectors = word_vectors(folder / "vectors.txt")
    number = 0
    while True:
        number += 1
        name = str(rng.choice(names))
        if not (folder / name).exists():
            in_fork(partial(_save, name, folder / name, vectors))
        copy = folder / f"altered-{number}"
        kind = rng.choice(["json", "tensor", "bytes", "unsigned"])
        change = {"json": _json, "tensor": _tensor, "bytes": _bytes, "unsigned": _bytes}[str(kind)]
        shutil.copytree(folder / name, copy)
        what = change(copy, rng)
        if kind != "unsigned":
            (copy / "manifest.json").unlink()
            write_manifest(copy)
        must_be = "refused" if kind == "unsigned" and what.endswith("changed") else ""
        use = partial(_use, copy) if number % 2 else partial(_use_command, copy, vectors, int(rng.integers(6)))
        yield Case(f"model {name}: {kind} {what}", use, must_be)
        for path in (copy, _edited(copy)):
            shutil.rmtree(path, ignore_errors=True)


def _save(name: str, folder: Path, vectors: Path) -> None:
    if name == "merged":
        model("kmeans", n_clusters=4).fit(texts()).merge([1, 2]).rename({0: "Sports"}).save(folder)
    elif name == "joined":
        model("neighbors", encoder="bow+tfidf").fit(texts()).save(folder)
    elif name == "cnn":
        model("stcc", encoder=f"cnn:{vectors}").fit(texts()).save(folder)
    else:
        model(name).fit(texts()).save(folder)


def _use(folder: Path) -> None:
    """Load a model and use all that it has."""
    loaded = coterie.load(folder, allow=True)
    q = loaded.predict_proba(texts(4))
    if q.shape != (4, loaded.n_clusters_):  # a stranger may decide the answers, also that there is none
        raise ValueError(f"probabilities {q}")
    loaded.assign(texts(4))
    str(loaded.describe())
    loaded.describe().as_dicts()
    loaded.tree().as_dict()
    loaded.merge([0, 1]).rename({0: "Both"})


def _use_command(folder: Path, vectors: Path, number: int) -> None:
    """Use a model by a command."""
    table, edited = folder.with_name("texts.csv"), _edited(folder)
    table.write_text("text\n" + "\n".join(texts()))
    allow = ["--allow-encoder", vectors]
    commands: list[list[Any]] = [
        ["info", folder],
        ["info", folder, "--json"],
        ["tree", folder, table, "--split", "0", *allow],
        ["assign", folder, table, "--json", *allow],
        ["report", folder, table, "-o", folder.with_name("page.html"), *allow],
        ["edit", folder, table, "--merge", "0,1", "--rename", "0=Both", "-o", edited, "--no-report", *allow],
    ]
    command(*commands[number])


def _edited(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-edited")


def _json(folder: Path, rng: np.random.Generator) -> str:
    path = folder / str(rng.choice([p.name for p in folder.glob("*.json") if p.name != "manifest.json"]))
    value = json.loads(path.read_text(encoding="utf-8"))
    places = list(leaves(value))
    if not places:
        return f"{path.name} as it is"
    place = places[int(rng.integers(len(places)))]
    new: Any = [*STRANGE, with_entry][int(rng.integers(len(STRANGE) + 1))]
    path.write_text(json.dumps(with_entry(value, place, new)), encoding="utf-8")
    return f"{path.name} {place} = {str(new)[:30]!a}"


def _tensor(folder: Path, rng: np.random.Generator) -> str:
    path = folder / str(rng.choice([p.name for p in folder.glob("*.safetensors")]))
    tensors = load_file(path)
    if not tensors:
        return f"{path.name} as it is"
    name = str(rng.choice(sorted(tensors)))
    options = list(tensor_mutations(tensors[name], rng))
    what, new = options[int(rng.integers(len(options)))]
    save_file(tensors | {name: new}, path)
    return f"{path.name} {name} {what}"


def _bytes(folder: Path, rng: np.random.Generator) -> str:
    path = folder / str(rng.choice([p.name for p in folder.iterdir() if p.name != "manifest.json"]))
    before = path.read_bytes()
    path.write_bytes(mutated(before, rng))
    return f"{path.name} {'changed' if path.read_bytes() != before else 'as it was'}"
