"""The sections of the documentation, and which page belongs to which."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch
from typing import Any

SECTIONS = {
    "Start": ["index.md", "start.md"],
    "Tutorials": [
        *(f"tutorials/{name}.md" for name in ("tickets", "number-of-clusters", "training", "own-embeddings", "images")),
        "tutorials/*.md",
    ],
    "How to": ["how-to/*.md", "files.md", "encoders.md", "augmenters.md"],
    "Methods": ["choosing.md", "when-to-train.md", "methods/*.md"],
    "Understand": ["how-it-works.md", "faq.md", "other-tools.md", "from-bertopic.md", "notation.md", "reliability.md"],
    "Results": ["results.md", "measured.md", "benchmarks.md", "comparison.md", "scale.md"],
    "Reference": ["reference/*.md"],
    "More": ["*.md"],
    "Project": ["project/*.md"],
    "Decisions": ["adr/*.md"],
}
"""A page is in the first section that has a pattern for it, so a new page always has a place."""


def navigation(pages: Iterable[str]) -> list[dict[str, list[Any]]]:
    """Return the pages of every section; those without a page are left out.

    The first page is called Overview. Decisions are many, so they are a part of Project that opens on a click.
    """
    left = sorted(pages)
    sections: dict[str, list[Any]] = {}
    for section, patterns in sorted(SECTIONS.items(), key=lambda item: item[0] == "More"):
        for pattern in patterns:
            found = [page for page in left if fnmatch(page, pattern)]
            sections.setdefault(section, []).extend(found)
            left = [page for page in left if page not in found]
    if "index.md" in sections["Start"]:
        sections["Start"][0] = {"Overview": "index.md"}
    if decisions := sections.pop("Decisions"):
        sections["Project"].append({"Decisions": decisions})
    return [{section: sections[section]} for section in SECTIONS if sections.get(section)]
