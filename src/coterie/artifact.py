"""Save a model as a folder and load it again. JSON and safetensors only: loading runs no code.

manifest.json        schema version, and the SHA-256 of every other file
config.json          method, settings, encoder, seed, versions, hash of the training texts
weights.safetensors  what the method learnt, and the labels of the training texts
clusters.json        the cluster table, when there is one
encoder.*            what the encoder learnt (a vocabulary, say), when it learnt something
"""

from __future__ import annotations

import hashlib
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file as load_arrays
from safetensors.numpy import save_file as save_arrays
from torch import nn

import coterie
from coterie.clusterer import METHODS, Clusterer
from coterie.contracts import Objective
from coterie.data.atomic import atomic_folder
from coterie.encoders.encoder import ENCODERS, Encoder, EncoderState, make_encoder
from coterie.encoders.trainable import TransformerNetwork
from coterie.encoders.transformer import without_bars
from coterie.errors import ArtifactError, InputError
from coterie.hyper import settings

SCHEMA_VERSION = 1
_MANIFEST = "manifest.json"
_MODULES = "modules.json"
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "transformers", "safetensors")


def save(model: Clusterer, folder: Path, *, clusters: list[dict[str, Any]] | None = None) -> None:
    """Write ``model`` (and its cluster table) to ``folder``. An older model there is replaced at the end."""
    objective = model._fitted()
    if folder.exists() and not (folder / _MANIFEST).is_file() and (folder.is_file() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not a coterie model, so it is not replaced. Name another folder.")
    encoder = model.encoder_
    state = encoder.state()
    with atomic_folder(folder) as temporary:
        tensors = {name: value.detach().cpu().numpy() for name, value in _kept(objective).items()}
        tensors |= {"labels_": model.labels_, "confidence_": model.confidence_}
        save_arrays(_contiguous(tensors), temporary / "weights.safetensors")
        _write_json(temporary / "config.json", _config(model, encoder))
        if clusters is not None:
            _write_json(temporary / "clusters.json", clusters)
        if state:
            save_arrays(_contiguous(state.tensors), temporary / "encoder.safetensors")
            _write_json(temporary / "encoder.json", state.words)
        files = {path.name: _sha256(path) for path in sorted(temporary.iterdir())}
        _write_json(temporary / _MANIFEST, {"schema_version": SCHEMA_VERSION, "files": files})


def save_encoder(network: TransformerNetwork, folder: Path) -> None:
    """Write what ``network`` learnt as a folder that ``transformer:FOLDER`` and sentence-transformers read.

    Pooling, length and normalisation are written where sentence-transformers looks for them. Of these the encoder
    ``transformer`` reads the pooling; the others are settings of its own.
    """
    check_encoder_folder(folder)
    tokenizer, model = network.pretrained()
    settings, kind = network.settings, "sentence_transformers.models."
    parts = [("", "Transformer"), ("1_Pooling", "Pooling"), *([("2_Normalize", "Normalize")] * settings.normalize)]
    modules = [{"idx": i, "name": str(i), "path": path, "type": kind + name} for i, (path, name) in enumerate(parts)]
    modes = {f"pooling_mode_{name}": name.startswith(settings.pools) for name in ("cls_token", "mean_tokens")}
    with atomic_folder(folder) as temporary, without_bars():
        tokenizer.save_pretrained(temporary)
        model.save_pretrained(temporary)
        for path, _ in parts[1:]:
            (temporary / path).mkdir()
        _write_json(temporary / "1_Pooling" / "config.json", {"word_embedding_dimension": network.dim, **modes})
        _write_json(
            temporary / "sentence_bert_config.json", {"max_seq_length": settings.max_length, "do_lower_case": False}
        )
        _write_json(temporary / _MODULES, modules)


def check_encoder_folder(folder: Path) -> None:
    """Refuse to replace what :func:`save_encoder` did not write."""
    if folder.exists() and not (folder / _MODULES).is_file() and (folder.is_file() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not an encoder, so it is not replaced. Name another folder.")


def _config(model: Clusterer, encoder: Encoder) -> dict[str, Any]:
    return {
        "method": model.name,
        "params": model._saved_params(),
        "encoder": {
            "name": encoder.name,
            "params": encoder.params(),
            "fingerprint": encoder.fingerprint(),
            "dim": model.objective_.encoder.takes,
            "reads": encoder.reads,
        },
        "notes": model._notes(),
        "texts": {"n": model.n_texts_, "sha256": model.texts_sha256_},
        "versions": {"coterie": coterie.__version__, "python": platform.python_version()}
        | {name: version(name) for name in _LIBRARIES},
    }


def load(folder: str | Path) -> Clusterer:
    """Return the model saved in ``folder``, or raise :class:`ArtifactError` naming the file that is wrong."""
    folder = Path(folder)
    config = read_config(folder)
    cls = METHODS[config["method"]]
    known = {setting.name for setting in settings(cls)}
    if unknown := sorted(set(config["params"]) - known):
        raise ArtifactError(f"{folder / 'config.json'}: {cls.__name__} has no setting {unknown[0]!r}.")
    encoder = _load_encoder(folder, config["encoder"])
    model = cls(**config["params"] | {"encoder": type(encoder)(**encoder.params())})
    tensors = _read_tensors(folder / "weights.safetensors")
    model.labels_, model.confidence_ = tensors.pop("labels_"), tensors.pop("confidence_")
    with torch.random.fork_rng():  # weights are drawn before they are filled; the caller's numbers stay
        objective = model._objective(model._network(encoder, config["encoder"]["dim"]))
    _fill(objective, tensors, folder / "weights.safetensors")
    model.encoder_, model.objective_ = encoder, objective.eval()
    model.n_texts_, model.texts_sha256_ = config["texts"]["n"], config["texts"]["sha256"]
    model._recall(config.get("notes", {}))
    if encoder.name == "precomputed":
        model.n_features_in_ = config["encoder"]["dim"]
    return model


def read_config(folder: Path) -> dict[str, Any]:
    """Return config.json after every file has been checked against the manifest; loads no weights."""
    if not folder.is_dir():
        raise ArtifactError(f"There is no model folder {folder}.")
    manifest = _read_json(folder / _MANIFEST)
    schema = manifest.get("schema_version") if isinstance(manifest, dict) else None
    if not isinstance(schema, int) or not isinstance(manifest.get("files"), dict):
        raise ArtifactError(f"{folder / _MANIFEST} is not a coterie manifest. Save the model again.")
    if schema > SCHEMA_VERSION:
        raise ArtifactError(
            f"{folder / _MANIFEST} has schema version {schema}; this coterie ({coterie.__version__}) reads up "
            f"to {SCHEMA_VERSION}. Upgrade: pip install --upgrade coterie"
        )
    for name, expected in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            raise ArtifactError(f"{path} is missing. Copy the whole folder again.")
        if _sha256(path) != expected:
            raise ArtifactError(f"{path} is damaged or was altered: its SHA-256 is not the manifest's.")
    config: dict[str, Any] = _read_json(folder / "config.json")
    return config


def read_clusters(folder: Path) -> list[dict[str, Any]]:
    """Return the saved cluster table; empty when the model was saved without one."""
    path = folder / "clusters.json"
    return list(_read_json(path)) if path.is_file() else []


def _load_encoder(folder: Path, config: dict[str, Any]) -> Encoder:
    encoder = make_encoder(ENCODERS[config["name"]](**config["params"]))
    if (folder / "encoder.json").is_file():
        tensors = _read_tensors(folder / "encoder.safetensors")
        encoder.restore(EncoderState(tensors, _read_json(folder / "encoder.json")))
    if encoder.fingerprint() != config["fingerprint"]:
        raise ArtifactError(
            f"{folder / 'config.json'}: this model was trained with other weights of the encoder "
            f"{config['name']!r} {config['params']}. Its answers would differ, so it is not loaded."
        )
    return encoder


def _fill(objective: Objective, tensors: dict[str, Any], path: Path) -> None:
    own, weights = _kept(objective), dict(objective.named_parameters())
    if own.keys() != tensors.keys():
        raise ArtifactError(f"{path} holds {sorted(tensors)}, expected {sorted(own)}.")
    for name, value in tensors.items():
        expected = tuple(own[name].shape)
        if expected[:1] == (0,) and value.shape[1:] == expected[1:]:  # as long as the corpus was
            module, _, own_name = name.rpartition(".")
            filled = torch.from_numpy(value)
            learns = name in weights
            setattr(objective.get_submodule(module), own_name, nn.Parameter(filled) if learns else filled)
        elif expected != value.shape:
            raise ArtifactError(f"{path}: {name} has shape {value.shape}, expected {expected}.")
    objective.load_state_dict({name: torch.from_numpy(value) for name, value in tensors.items()}, strict=False)


def _kept(objective: Objective) -> dict[str, torch.Tensor]:
    scratch = objective.scratch
    learnt = objective.learnt().items()
    return {name: value for name, value in learnt if name not in scratch and name.partition(".")[0] not in scratch}


def _contiguous(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: np.array(value, order="C") for name, value in tensors.items()}


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing. Is {path.parent} a coterie model folder?") from None
    except (ValueError, OSError) as error:
        raise ArtifactError(f"{path} cannot be read: {error}.") from None


def _read_tensors(path: Path) -> dict[str, Any]:
    try:
        tensors: dict[str, Any] = load_arrays(path)
    except (OSError, SafetensorError) as error:
        raise ArtifactError(f"{path} cannot be read: {error}.") from None
    return tensors


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
