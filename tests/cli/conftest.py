"""Run commands in this process, which is fast, or as the installed program."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coterie.cli.main import app

PROGRAM = Path(sys.executable).parent / "coterie"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path_factory, monkeypatch):
    """Commands that are not told where to write do not write here."""
    monkeypatch.chdir(tmp_path_factory.mktemp("current"))


@pytest.fixture(scope="session")
def invoke():
    """Run a command in this process; an exception that a user would see as a traceback is raised."""

    def run(*arguments, code=0, stdin=None):
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)  # the command prints those of coterie
            result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return run


@pytest.fixture(scope="session")
def execute():
    """Run the installed program."""

    def run(*arguments, code=0):
        command = [PROGRAM, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, done.stderr
        return done

    return run
