"""The promises of ARCHITECTURE.md that no linter keeps."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "coterie"
FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_and_functions_stay_small(path):
    text = path.read_text(encoding="utf-8")
    limit = 150 if path.parent.name == "methods" else 40 if path.name == "__init__.py" else 300
    assert len(text.splitlines()) <= limit
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < (75 if path.parent.name == "cli" else 45), node.name


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_file_is_called_after_nothing(path):
    assert path.stem not in {"utils", "common", "misc", "helpers", "core", "base"}


def test_importing_coterie_opens_no_socket_and_loads_no_torch():
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise SystemExit('a socket was opened')\n"
        "socket.socket.connect = refuse\n"
        "import coterie\n"
        "assert 'torch' not in sys.modules, 'torch was loaded'\n"
        "assert all(hasattr(coterie, name) for name in coterie.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_public_name_is_an_attribute_error():
    import coterie

    assert "KMeans" in dir(coterie)
    with pytest.raises(AttributeError, match="no attribute 'Kmeans'"):
        coterie.Kmeans  # noqa: B018
