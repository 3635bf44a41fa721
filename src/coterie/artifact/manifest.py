"""The manifest of a model folder: the schema version, and the size and the SHA-256 of every file.

It finds damaged and altered files. It is no proof of origin: whoever alters a file can also alter the manifest.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coterie
from coterie.artifact.files import check_size, read_json, sha256_of, write_json
from coterie.data.ownership import is_from_file_manager
from coterie.errors import ArtifactError

SCHEMA_VERSION = 2
MANIFEST = "manifest.json"
_MAX_BYTES = 2**20
_SIGNATURE = f"{MANIFEST}."  # manifest.json.minisig, .asc, ...: never read here, made by a user's own tool
_REQUIRED = ("config.json", "weights.safetensors")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")  # a plain file name: no folder, no `..`, not hidden
_SHA256 = re.compile(r"[0-9a-f]{64}")


def write_manifest(folder: Path) -> None:
    """Write the manifest of all files in ``folder``."""
    paths = sorted(folder.iterdir())
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "files": {path.name: sha256_of(path) for path in paths},
        "sizes": {path.name: path.stat().st_size for path in paths},
    }
    write_json(folder / MANIFEST, manifest)


@dataclass(frozen=True)
class Manifest:
    """What a manifest says about the files of its folder."""

    folder: Path
    schema: int
    sha256: dict[str, str]
    sizes: dict[str, int]  # empty in models that were saved before sizes were recorded

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Return the manifest of ``folder``, or raise :class:`ArtifactError` if it is not well formed."""
        if not folder.is_dir():
            raise ArtifactError(f"There is no model folder {folder}.")
        path = folder / MANIFEST
        value = read_json(path, max_bytes=_MAX_BYTES)
        schema: Any = value.get("schema_version") if isinstance(value, dict) else None
        if not _is_count(schema) or schema < 1 or not isinstance(value.get("files"), dict):
            raise ArtifactError(f"{path} is not a coterie manifest. Save the model again.")
        if schema > SCHEMA_VERSION:
            raise ArtifactError(
                f"{path} has schema version {schema}; this coterie ({coterie.__version__}) reads up to "
                f"{SCHEMA_VERSION}. Upgrade: pip install --upgrade coterie"
            )
        manifest = cls(folder, schema, value["files"], value.get("sizes", {}))
        manifest._check_entries()
        return manifest

    def _check_entries(self) -> None:
        """Refuse names outside the folder, missing names, and values that are no hash or size."""
        path = self.folder / MANIFEST
        for name, digest in self.sha256.items():
            if not _NAME.fullmatch(name) or name == MANIFEST:
                raise ArtifactError(f"{path} lists {name!r:.80}, which is not the name of a file in this folder.")
            if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
                raise ArtifactError(f"{path} has no SHA-256 of {name}. Save the model again.")
        if missing := [name for name in _REQUIRED if name not in self.sha256]:
            raise ArtifactError(f"{path} does not list {missing[0]}, which every model has.")
        sizes: Any = self.sizes
        if not isinstance(sizes, dict) or (sizes and sizes.keys() != self.sha256.keys()):
            raise ArtifactError(f"{path} does not list the size of every file. Save the model again.")
        if wrong := [name for name, size in sizes.items() if not _is_count(size)]:
            raise ArtifactError(f"{path} has no size of {wrong[0]}. Save the model again.")

    def check_folder(self) -> None:
        """Check names and sizes: cheap, and before any file is read."""
        for name in self.sha256:
            check_size(self.folder / name, self.sizes.get(name))
        known = {MANIFEST, *self.sha256}
        found = {name for name in os.listdir(self.folder) if not is_from_file_manager(name)} - known
        if unlisted := sorted(name for name in found if not name.startswith(_SIGNATURE)):
            raise ArtifactError(
                f"{self.folder / unlisted[0]} is not listed in {MANIFEST}, so this is not a folder as coterie saved "
                "it. Move the file away if you know it."
            )

    def check_contents(self) -> None:
        """Compare every file with its SHA-256."""
        for name, expected in self.sha256.items():
            path = self.folder / name
            if sha256_of(path) != expected:
                raise ArtifactError(f"{path} is damaged or was altered: its SHA-256 differs from the manifest.")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
