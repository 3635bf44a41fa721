import os
import re
import subprocess
import sys

import pytest
import typer

from coterie.cli.main import app


def commands(group=None, path=()):
    """Yield the name and the click object of every command."""
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = {"-".join(path): (path, command) for path, command in commands()}


@pytest.mark.parametrize(("path", "command"), COMMANDS.values(), ids=COMMANDS.keys())
def test_help_shows_every_word_of_the_help_texts(path, command, invoke, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")  # wide enough that nothing is wrapped
    monkeypatch.setenv("TERMINAL_WIDTH", "500")
    shown = re.sub(r"\s+", " ", invoke(*path, "-h").stdout)
    assert "[default: ]" not in shown
    for parameter in command.params:
        if text := getattr(parameter, "help", None):
            assert text in shown


def processor_seconds(*command):
    """Return the least processor time of three runs; unlike wall time it hardly depends on other programs."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    durations = []
    for _ in range(3):
        before = os.times()
        subprocess.run(command, capture_output=True, check=True, env=environment)
        after = os.times()
        durations.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(durations)


def test_help_takes_hardly_longer_than_importing_typer():
    importing = processor_seconds(sys.executable, "-c", "import typer, typer.rich_utils, rich.table")
    assert processor_seconds(sys.executable, "-m", "coterie", "--help") < 2.5 * importing


def test_help_imports_no_large_package():
    code = "import sys; sys.argv = ['coterie', '--help']; from coterie.cli.main import main; main()"
    run = subprocess.run([sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in run.stderr.splitlines()}
    assert "typer" in imported
    assert not imported & {"torch", "sklearn", "scipy", "numpy", "transformers", "pandas"}


def test_options_and_commands_are_in_groups(invoke):
    shown = invoke("-h").stdout
    places = [shown.index(f"─ {name} ─") for name in ("Clusters", "Encoders", "What there is", "Experiments")]
    assert places == sorted(places)
    shown = invoke("cluster", "-h").stdout
    assert shown.index("─ Output ─") < shown.index("--no-save") < shown.index("─ Input ─") < shown.index("--column")
    assert "[[" not in invoke("datasets", "-h").stdout
