"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

python .ci/lowest_versions.py [EXTRA ...] > lowest.txt
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lowest(requirements: list[str]) -> list[str]:
    """Return ``name==version`` for every requirement with a lower bound or an exact version."""
    found = (re.match(r"([\w.-]+)(?:\[[^]]*\])?\s*(?:>=|==)\s*([\w.]+)", text) for text in requirements)
    return [f"{match[1]}=={match[2]}" for match in found if match]


def main(extras: list[str]) -> None:
    """Print the pins of the package and of ``extras``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = list(project["dependencies"])
    for extra in extras:
        requirements += project["optional-dependencies"][extra]
    sys.stdout.write("\n".join(lowest(requirements)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
