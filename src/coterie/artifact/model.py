"""Save a model as a folder and load it again. JSON and safetensors only: loading runs no code.

manifest.json        schema version, and the size and the SHA-256 of every other file
config.json          method, settings, encoder, seed, versions, hash of the training texts
weights.safetensors  the trained state of the method, and the labels of the training texts
clusters.json        the cluster table
tree.json            the clusters as a tree
encoder.*            the state of the encoder (e.g. a vocabulary), when it has one
"""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import coterie
from coterie.artifact.allocation import AllocationLimit
from coterie.artifact.config import check_config, checked_calibration, checked_merges, fitting
from coterie.artifact.files import read_json, read_tensors, tensor_shapes, write_json, write_tensors
from coterie.artifact.manifest import MANIFEST, SCHEMA_VERSION, Manifest, write_manifest
from coterie.artifact.migrate import migrate_config, migrate_encoder_state, migrate_tensors
from coterie.artifact.permission import Allow, check_permission
from coterie.clusterer import METHODS, Clusterer
from coterie.clustering.n_clusters import NClustersCurve
from coterie.contracts import Objective
from coterie.data.atomic import atomic_folder
from coterie.data.lock import exclusive
from coterie.data.ownership import check_folder
from coterie.describe.cluster_table import ClusterTable
from coterie.describe.tree import ClusterTree
from coterie.encoders.encoder import ENCODERS, Encoder, EncoderState, make_encoder
from coterie.errors import ArtifactError
from coterie.hyper import check_settings, settings
from coterie.knn.classifier import KNNClassifier

_CONFIG, _WEIGHTS, _CLUSTERS, _TREE = "config.json", "weights.safetensors", "clusters.json", "tree.json"
_ENCODER_TENSORS, _ENCODER_WORDS = "encoder.safetensors", "encoder.json"
_PER_ROW = ("labels_", "confidence_", "second_labels_", "margin_")
_MAX_STATE = 1e18  # of an encoder's numbers: their squares must be finite in float32
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "transformers", "safetensors")


def save(model: Clusterer, folder: Path, *, clusters: ClusterTable | None = None, overwrite: bool = False) -> None:
    """Write ``model`` to ``folder``, with its own cluster table or ``clusters``.

    A folder that exists is replaced only with ``overwrite``, and only if coterie wrote it.
    """
    objective = model.fitted_objective()
    encoder = model.encoder_
    state = encoder.state()
    with exclusive(folder):
        check_folder(folder, overwrite=overwrite)
        with atomic_folder(folder, overwrite=overwrite) as temporary:
            tensors = {name: value.detach().cpu().numpy() for name, value in _saved_state(objective).items()}
            tensors |= {name: getattr(model, name) for name in _PER_ROW if hasattr(model, name)}
            write_tensors(temporary / _WEIGHTS, tensors)
            write_json(temporary / _CONFIG, _config(model, encoder))
            write_json(temporary / _CLUSTERS, (clusters or model.describe()).as_dicts())
            write_json(temporary / _TREE, model.tree().as_dict())
            if state:
                write_tensors(temporary / _ENCODER_TENSORS, state.tensors)
                write_json(temporary / _ENCODER_WORDS, state.words)
            write_manifest(temporary)


def _config(model: Clusterer, encoder: Encoder) -> dict[str, Any]:
    return {
        "method": model.name,
        "params": model.saved_params(),
        "encoder": {
            "name": encoder.name,
            "params": encoder.saved_params(),
            "fingerprint": encoder.fingerprint(),
            "dim": encoder.dim,
            "input_type": encoder.input_type,
        },
        "notes": model.saved_notes(),
        "calibration": asdict(model.fitted_objective().calibration),
        "merges": asdict(model.fitted_objective().merges),
        "n_clusters_curve": model.n_clusters_curve_ and model.n_clusters_curve_.as_dict(),
        "texts": {"n": model.n_texts_, "sha256": model.texts_sha256_},
        "versions": library_versions(),
    }


def library_versions() -> dict[str, str]:
    """Return the versions of coterie, Python and the libraries that results depend on."""
    own = {"coterie": coterie.__version__, "python": platform.python_version()}
    return own | {name: version(name) for name in _LIBRARIES}


@dataclass(frozen=True)
class Artifact:
    """A model folder whose files match its manifest. Nothing is loaded but the configuration."""

    folder: Path
    schema: int
    config: dict[str, Any]

    @classmethod
    def open(cls, folder: str | Path) -> Artifact:
        """Check the folder once and read its configuration; an old schema is migrated."""
        folder = model_folder(Path(folder))
        manifest = Manifest.read(folder)
        manifest.check_folder()
        tensor_shapes(folder / _WEIGHTS)  # a header that does not fit its file is found before gigabytes are read
        manifest.check_contents()
        config: dict[str, Any] = read_json(folder / _CONFIG)
        if manifest.schema < SCHEMA_VERSION:
            with fitting(folder / _CONFIG):
                config = migrate_config(config)
        return cls(folder, manifest.schema, check_config(config, folder / _CONFIG))

    def clusters(self) -> ClusterTable:
        """Return the saved cluster table; empty when the model was saved without one."""
        path = self.folder / _CLUSTERS
        with fitting(path):
            table = ClusterTable.from_dicts(read_json(path) if path.is_file() else [])
            table.check(self.config["params"]["n_clusters"])
            return table

    def tree(self) -> ClusterTree | None:
        """Return the saved tree; older models have none."""
        path = self.folder / _TREE
        with fitting(path):
            return ClusterTree.from_dict(read_json(path)) if path.is_file() else None

    def load(self, *, allow: Allow = False, custom: object | None = None) -> Clusterer:
        """Return the model, or raise :class:`ArtifactError` naming the file that is wrong.

        ``allow`` names the encoder outside the model that may be read; True: any. ``custom`` is the user's own
        function or object, for a model that was fitted with it.
        """
        with fitting(self.folder / _CONFIG):
            encoder, limit = self._load_encoder(allow)
            if custom is not None:
                encoder.attach(custom)
            model = self._new_model(encoder)
            tensors = read_tensors(self.folder / _WEIGHTS)
            if self.schema < SCHEMA_VERSION:
                tensors = migrate_tensors(tensors)
            for name in _PER_ROW:
                if name in tensors:  # older models have no second cluster
                    setattr(model, name, tensors.pop(name))
            with limit:
                objective = model.new_objective(encoder, seed=0)
                model.encoder_, model.objective_ = encoder, objective
                model.restore_notes(self.config.get("notes", {}))  # they may name another objective that assigns
            _load_state(objective, tensors, self.folder / _WEIGHTS)
            objective.eval()
            objective.calibration = checked_calibration(self.config.get("calibration", {}))  # older models have none
            objective.merges = checked_merges(self.config.get("merges", {}), model.n_clusters_, model.n_texts_)
            self._check_labels(model)
            model.clusters_ = self.clusters()
            if tree := self.tree():
                model.tree_ = tree
            if encoder.input_type == "vectors":
                model.n_features_in_ = encoder.dim
            with limit:
                _try_once(model)
            return model

    def _new_model(self, encoder: Encoder) -> Clusterer:
        """Return the method with its settings. A loaded model writes no checkpoint and no log that a stranger named."""
        cls, params = METHODS[self.config["method"]], self.config["params"]
        known = {setting.name for setting in settings(cls)}
        if unknown := sorted(set(params) - known):
            raise ArtifactError(f"{self.folder / _CONFIG}: {cls.__name__} has no setting {unknown[0]!r}.")
        own = {"checkpoint": None, "log_dir": None, "encoder": type(encoder)(**encoder.params())}
        model = cls(**params | {name: value for name, value in own.items() if name in known})
        check_settings(model)
        model.n_clusters_, curve = params["n_clusters"], self.config.get("n_clusters_curve")
        model.n_clusters_curve_ = NClustersCurve.from_dict(curve) if curve else None
        texts = self.config["texts"]
        model.n_texts_, model.texts_sha256_ = texts["n"], texts["sha256"]
        return model

    def _load_encoder(self, allow: Allow) -> tuple[Encoder, AllocationLimit]:
        """Return the encoder, and the limit on the tensors of the objective above it."""
        config = self.config["encoder"]
        encoder = make_encoder(ENCODERS[config["name"]](**config["params"]))
        check_permission(encoder, allow, self.folder / _CONFIG)
        state = EncoderState()
        if (self.folder / _ENCODER_WORDS).is_file():
            state = EncoderState(read_tensors(self.folder / _ENCODER_TENSORS), read_json(self.folder / _ENCODER_WORDS))
        if self.schema < SCHEMA_VERSION:
            state = migrate_encoder_state(state, config)
        _check_state(state, self.folder / _ENCODER_TENSORS)
        encoder.restore(state)
        with AllocationLimit() as pretrained:
            fingerprint = encoder.fingerprint()
        if fingerprint != config["fingerprint"]:
            raise ArtifactError(
                f"{self.folder / _CONFIG}: this model was trained with other weights of the encoder "
                f"{config['name']!r} {config['params']}. Its results would differ, so it is not loaded."
            )
        return encoder, pretrained.plus(tensor_shapes(self.folder / _WEIGHTS), self.folder / _CONFIG)

    def _check_labels(self, model: Clusterer) -> None:
        """Refuse labels that are not those of the clusters, which would fail later or name a cluster that is none."""
        found, shape = model.assignment_, (model.n_texts_,)
        for labels, numbers in ((found.labels, found.confidence), (found.second, found.margin)):
            is_whole = np.issubdtype(labels.dtype, np.integer) and labels.shape == numbers.shape == shape
            if not is_whole or not ((labels >= -1) & (labels < model.n_clusters_)).all():
                raise ArtifactError(
                    f"{self.folder / _WEIGHTS}: the labels are not those of {model.n_clusters_} clusters."
                )
            if not np.issubdtype(numbers.dtype, np.floating):
                raise ArtifactError(f"{self.folder / _WEIGHTS}: the confidence has the type {numbers.dtype}.")
        for module in model.objective_.modules():
            if isinstance(module, KNNClassifier):
                module.check(model.n_clusters_)


def model_folder(folder: Path) -> Path:
    """Return ``folder``, or the model in it if it is the output folder of `coterie cluster`."""
    inner = folder / "model"
    return inner if not (folder / MANIFEST).exists() and (inner / MANIFEST).exists() else folder


def load(folder: str | Path, *, allow: Allow = False, encoder: object | None = None) -> Clusterer:
    """Return the model saved in ``folder``, or raise :class:`ArtifactError` naming the file that is wrong.

    Nothing in the folder is run as code. An encoder that is not part of the model (another folder, a file or a hub id)
    is read only if ``allow`` names it; True allows any. ``encoder`` is needed for a model that was fitted with a
    function or object of your own: the same one.
    """
    return Artifact.open(folder).load(allow=allow, custom=encoder)


@torch.inference_mode()
def _try_once(model: Clusterer) -> None:
    """Assign one item, so that parts that do not belong together are found now and not at the first prediction."""
    encoder, objective = model.encoder_, model.objective_
    items = ["text"] if encoder.input_type == "texts" else None
    h = np.zeros((1, objective.network.dim), dtype=np.float32)
    if items and encoder.state().words and not encoder.is_slow:
        h = objective.network.embed(items)
    objective.assign_all(h, items)


def _check_state(state: EncoderState, path: Path) -> None:
    """Refuse a state of an encoder with which no embedding would be a number, and words that are none."""
    if not all(isinstance(words, list) and all(isinstance(w, str) for w in words) for words in state.words.values()):
        raise ArtifactError(f"{path.with_name(_ENCODER_WORDS)}: the words of the encoder are not lists of words.")
    for name, value in state.tensors.items():
        if np.issubdtype(value.dtype, np.floating) and not (np.abs(value) < _MAX_STATE).all():
            raise ArtifactError(f"{path}: {name} has values that are not finite numbers, or far too large.")


def _load_state(objective: Objective, tensors: dict[str, Any], path: Path) -> None:
    own, weights = _saved_state(objective), dict(objective.named_parameters())
    if own.keys() != tensors.keys():
        raise ArtifactError(f"{path} holds {sorted(tensors)}, expected {sorted(own)}.")
    for name, value in tensors.items():
        expected, tensor = tuple(own[name].shape), torch.from_numpy(value)
        if tensor.dtype != own[name].dtype:
            raise ArtifactError(f"{path}: {name} has the type {tensor.dtype}, expected {own[name].dtype}.")
        if not tensor.isfinite().all():
            raise ArtifactError(f"{path}: {name} has values that are not finite numbers.")
        if expected[:1] == (0,) and value.shape[1:] == expected[1:]:  # its length depends on the training texts
            module, _, own_name = name.rpartition(".")
            setattr(objective.get_submodule(module), own_name, nn.Parameter(tensor) if name in weights else tensor)
        elif expected != value.shape:
            raise ArtifactError(f"{path}: {name} has shape {value.shape}, expected {expected}.")
    objective.load_state_dict({name: torch.from_numpy(value) for name, value in tensors.items()}, strict=False)


def _saved_state(objective: Objective) -> dict[str, torch.Tensor]:
    """Return the trained state without what only training needs."""
    transient = objective.transient
    return {
        name: value
        for name, value in objective.trained_state().items()
        if name not in transient and name.partition(".")[0] not in transient
    }
