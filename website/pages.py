"""Changes to a page between the repository, where it is read as a file, and the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from latex2mathml.converter import convert

_FENCE = re.compile(r"^```math\n(.*?)^```$", flags=re.S | re.M)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|`[^`]*`)+)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def with_mathml(text: str) -> str:
    """Return the page with its equations as MathML, which browsers show without any script."""
    return _FENCE.sub(lambda fence: _equation(fence[1]), text)


def _equation(latex: str) -> str:
    number = re.search(r"\\tag\{([^}]*)\}", latex)
    latex = re.sub(r"\\tag\{[^}]*\}", "", latex).replace(r"\arg", r"\operatorname{arg}")
    shown = f'<span class="number">({number[1]})</span>' if number else ""
    return f'\n<div class="equation">{convert(latex.strip(), display="block")}{shown}</div>\n'


def with_site_links(text: str, place: str, root: Path, moved: Mapping[str, str]) -> str:
    """Return the page with links that work on the site; a link to a file that the site has not becomes plain text.

    ``place`` is the path of the page in the repository; ``moved`` maps paths in the repository to pages of the site.
    """

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
        if not (root / path).exists() and path not in moved.values():
            return found[0]  # a mistake, or a generated page: the build checks it
        page = moved.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
        if page is None or (root / path).is_dir():
            return words
        here = posixpath.dirname(moved.get(place) or place.removeprefix("docs/"))
        return f"[{words}]({posixpath.relpath(page, here or '.')}{anchor})"

    return _LINK.sub(link, text)
