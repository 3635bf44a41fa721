"""Rules of ARCHITECTURE.md that no linter checks."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import coterie

SOURCE = Path(__file__).parents[2] / "src" / "coterie"
FILES = sorted(SOURCE.rglob("*.py"))
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60  # a function fits a screen
MAX_COMMAND_LINES = 90  # a command of the command line has one parameter for each option
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))


@each_file
def test_files_and_functions_are_short(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_FILE_LINES
    limit = MAX_COMMAND_LINES if path.parent.name == "cli" else MAX_FUNCTION_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < limit, node.name


@each_file
def test_the_name_of_a_file_says_what_it_contains(path):
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


def test_every_method_is_a_public_name():
    for cls in coterie.METHODS.values():
        assert getattr(coterie, cls.__name__) is cls
        assert cls.__name__ in dir(coterie)


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Kmeans'"):
        coterie.Kmeans  # noqa: B018
