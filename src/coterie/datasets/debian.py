"""Debian 12: one-line descriptions of packages by section of the archive, and the same descriptions in nine groups.

Sections that name the form of a package instead of its subject (libs, libdevel, doc, oldlibs, debug, metapackages,
tasks, introspection, localization, misc), and sections of fewer than 100 packages, are left out. Each distinct
description counts once, and a fixed sample is taken by a hash of the text.
"""

from __future__ import annotations

import lzma

from coterie.datasets.dataset import DATASETS, TextEntry
from coterie.datasets.download import RemoteFile
from coterie.datasets.readers import LabeledTexts, sample_texts

_PACKAGES = RemoteFile(
    "debian-12.15-Packages.xz",
    "http://deb.debian.org/debian/dists/bookworm/main/binary-amd64/Packages.xz",
    "9e0b5aabb2465b3d2e7a7fe27f9913846277833f7a2826e7767acccff5b588c5",  # Debian 12.15, 11 July 2026
)
_TERMS = "each description under the license of its package"
_SAMPLE = 6000

_GROUPS = {
    "programming": (
        "cli-mono", "devel", "golang", "haskell", "interpreters", "java", "javascript", "lisp", "ocaml", "perl", "php",
        "python", "ruby", "rust", "vcs",
    ),
    "science": ("electronics", "gnu-r", "hamradio", "math", "science"),
    "media": ("graphics", "sound", "video"),
    "internet": ("comm", "httpd", "mail", "net", "web"),
    "desktop": ("gnome", "kde", "x11"),
    "system": ("admin", "otherosfs", "utils"),
    "text": ("editors", "fonts", "tex", "text"),
    "games": ("games",),
    "databases": ("database",),
}  # fmt: skip
_GROUP_OF = {section: group for group, sections in _GROUPS.items() for section in sections}


def read_descriptions(data: bytes) -> LabeledTexts:
    """Return a sample of the descriptions with the section of their package."""
    return sample_texts(parse_descriptions(lzma.decompress(data).decode("utf-8")), _SAMPLE)


def parse_descriptions(packages: str) -> LabeledTexts:
    """Return section and description of the packages in a list of packages, one paragraph of fields for each."""
    rows = []
    for paragraph in packages.split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in paragraph.split("\n") if not line.startswith(" "))
        section, description = fields.get("Section", ""), fields.get("Description", "").strip()
        if section in _GROUP_OF and description:
            rows.append((section, description))
    return rows


def read_groups(data: bytes) -> LabeledTexts:
    """Return the same sample with the group of each section."""
    return [(_GROUP_OF[section], text) for section, text in read_descriptions(data)]


DATASETS.register(
    TextEntry(
        name="debian",
        title="Debian 12, descriptions of packages by section",
        terms=_TERMS,
        n_items=_SAMPLE,
        n_clusters=len(_GROUP_OF),
        files=(_PACKAGES,),
        order=76,
        read=read_descriptions,
    )
)
DATASETS.register(
    TextEntry(
        name="debian-coarse",
        title="Debian 12, the same descriptions in nine groups",
        terms=_TERMS,
        n_items=_SAMPLE,
        n_clusters=len(_GROUPS),
        files=(_PACKAGES,),
        order=77,
        read=read_groups,
    )
)
