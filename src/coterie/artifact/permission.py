"""A saved model may name an encoder that is not part of it. Such an encoder is read only if the user allows it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from coterie.encoders.encoder import Encoder
from coterie.errors import ArtifactError

Allow = bool | str | Path | Collection[str | Path]
"""True: any encoder that the model names; folders, files or hub ids: these only; False: none."""


def check_permission(encoder: Encoder, allow: Allow, place: Path) -> None:
    """Raise :class:`ArtifactError` if the encoder reads something outside the model that is not allowed."""
    if allow is True:
        return
    allowed = [allow] if isinstance(allow, str | Path) else allow or ()
    for source in encoder.outside_sources():
        if not any(_is_same(source, str(name)) for name in allowed):
            kind = "the file or folder" if Path(source).exists() else "the Hugging Face hub id (it would be downloaded)"
            raise ArtifactError(
                f"{place}: this model needs the encoder {encoder.name!r} from {kind} {source!r}, which is not part of "
                f"the model. If you trust it, allow it: --allow-encoder {source!r} on the command line, "
                f"coterie.load(folder, allow={source!r}) in Python."
            )


def _is_same(source: str, allowed: str) -> bool:
    if source == allowed:
        return True
    return Path(source).exists() and Path(source).resolve() == Path(allowed).resolve()
