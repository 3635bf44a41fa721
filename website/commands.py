"""The page about the command line: every command with its options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer.main

from coterie.cli.main import app


def command_page() -> str:
    """Return the page."""
    parts = [
        "# Commands\n",
        "`coterie COMMAND --help` prints the same. Data goes to stdout or files, messages to stderr. Exit codes: 0, 1",
        "(failure), 2 (wrong input), 130 (Ctrl-C).\n",
    ]
    for name, command in _commands(typer.main.get_command(app)):
        parts += [f"## `coterie {name}`\n", _text(command.help) + "\n", _usage(name, command), _options(command)]
    return "\n".join(parts)


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield before + name, command


def _usage(name: str, command: Any) -> str:
    arguments = " ".join(p.metavar or p.name.upper() for p in command.params if p.param_type_name == "argument")
    return f"```\ncoterie {name} {arguments} [OPTIONS]\n```\n"


def _options(command: Any) -> str:
    """Return the table of the arguments and options of a command."""
    from website.generated import table

    rows = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        is_option = parameter.param_type_name == "option"
        names = [*parameter.opts, *parameter.secondary_opts] if is_option else [parameter.metavar or parameter.name]
        rows.append([", ".join(f"`{name}`" for name in names), _text(parameter.help), _default(parameter)])
    return table(["option", "meaning", "default"], rows)


def _default(parameter: Any) -> str:
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return shown
    value = parameter.default
    if value is None or isinstance(value, bool | list) or callable(value) or not str(value).strip():
        return ""
    return f"`{getattr(value, 'value', value)}`"


def _text(help_text: str | None) -> str:
    return inspect.cleandoc(help_text or "").replace("\b", "")
