"""Every command, option, method, encoder and setting that a document names exists."""

import re
import shlex
from pathlib import Path

import pytest
import typer

import coterie
from coterie.cli.main import app
from coterie.hyper import settings

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("docs/**/*.md")]
COMMANDS = typer.main.get_command(app)
SETTINGS = {setting.name for name in coterie.METHODS for setting in settings(coterie.METHODS[name])}


def commands_of(text):
    """Return what stands behind `coterie` in the blocks of code of a document, and between its backticks."""
    blocks = re.sub(r"\\\n\s*", " ", "".join(re.findall(r"^```\w*\n(.*?)^```$", text, flags=re.S | re.M)))
    lines = [part for line in blocks.splitlines() for part in re.split(r" \| |&&", line.split(" #")[0])]
    quoted = re.findall(r"(?<!`)`([^`]+)`(?!`)", re.sub(r"```.*?```", "", text, flags=re.S).replace("\n", " "))
    found = (re.match(r"\s*(?:\$ )?(?:python -m |torchrun .* -m )?coterie (\S.*)", part) for part in [*lines, *quoted])
    return [match[1] for match in found if match]


def problems_of(command):
    """Return what of a command does not exist."""
    words, node = shlex.split(command.split("&&")[0]), COMMANDS
    while words and hasattr(node, "commands") and not words[0].startswith("-"):
        if words[0] not in node.commands:
            return [f"no command {words[0]}"]
        node = node.commands[words.pop(0)]
    known = {option: param.name for param in node.params for option in (*param.opts, *param.secondary_opts)}
    known |= {"-h": "help", "--help": "help"}
    wrong = []
    for word, value in zip(words, [*words[1:], ""], strict=False):
        if re.match(r"--?[a-z]", word):
            wrong += [] if word in known else [f"no option {word}"]
            wrong += [f"no {name}" for name in unknown_values(known.get(word), value)]
    return wrong


def unknown_values(option, value):
    if value.isupper() or value.startswith("NAME"):  # to be replaced by the reader
        return []
    if option in ("method", "methods"):
        return [name for name in value.split(",") if name not in coterie.METHODS]
    if option == "encoder":
        return [name for name in re.findall(r"^[a-z0-9]+", value) if name not in coterie.ENCODERS]
    if option == "settings":
        return [value] if value.split("=")[0] not in SETTINGS else []
    return []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_commands_of_a_document_exist(path):
    wrong = {
        command: problems
        for command in commands_of(path.read_text(encoding="utf-8"))
        if (problems := problems_of(command))
    }
    assert not wrong


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_settings_of_methods_in_a_document_exist(path):
    text = path.read_text(encoding="utf-8")
    for name, arguments in re.findall(r"coterie\.([A-Z]\w+)\(([^()]*)\)", text):
        method = getattr(coterie, name)
        known = {setting.name for setting in settings(method)} if name.lower() in coterie.METHODS else None
        for argument in re.findall(r"(\w+)=", arguments if known is not None else ""):
            assert argument in known, f"{name}({arguments})"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("clutser x.csv", "no command clutser"),
        ("cluster x.csv --colum text", "no option --colum"),
        ("cluster x.csv -m sccll", "no sccll"),
        ("cluster x.csv -e 'bundeld(precision=int8)'", "no bundeld"),
        ("cluster x.csv --set epoch=3", "no epoch=3"),
    ],
)
def test_wrong_commands_are_found(command, problem):
    (found,) = commands_of(f"```console\n$ coterie {command}   # a comment\n```")
    assert problems_of(found) == [problem]
    assert commands_of(f"see `coterie {command}`.") == [command]
