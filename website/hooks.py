"""What MkDocs calls while it builds the site: pages are generated from the code, and every page finds its section."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from website.generated import method_appendix, method_pages, reference_pages  # noqa: E402
from website.navigation import navigation  # noqa: E402
from website.pages import with_mathml, with_site_links  # noqa: E402

MOVED = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""Files above docs/ that are pages of the site, too."""


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the generated pages, and sort all pages into sections."""
    pages = reference_pages() | method_pages(list(files.src_uris))
    pages |= {page: (ROOT / name).read_text(encoding="utf-8") for name, page in MOVED.items() if page != "index.md"}
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    names = [file.src_uri for file in files.documentation_pages()]
    for name in names:
        _check_title(name, pages.get(name) or (ROOT / "docs" / name).read_text(encoding="utf-8"))
    config.nav = navigation(names)
    return files


def _check_title(name: str, text: str) -> None:
    if not re.search(r"^# \S", text, flags=re.M):
        raise PluginError(f"docs/{name} has no title. Begin it with a line '# Title'.")


def on_page_markdown(text: str, page: Page, **_: Any) -> str:
    """Return a page as the site shows it."""
    name = page.file.src_uri
    place = next((place for place, moved in MOVED.items() if moved == name and place != "README.md"), f"docs/{name}")
    if name.startswith("methods/"):
        text += method_appendix(Path(name).stem)
    return with_mathml(with_site_links(text, place, ROOT, MOVED))
