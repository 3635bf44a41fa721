"""The page about the Python interface: signatures and docstrings of what is public."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import coterie
from coterie.hyper import summary

_ROLE = re.compile(r":\w+:`~?([^`]+)`")


def python_page() -> str:
    """Return the page."""
    parts = [
        "# Python\n",
        "Everything here is `coterie.NAME`. Names that are not here may change in any version.\n",
        "## Methods\n",
    ]
    parts += [f"- [`{cls.__name__}`](../methods/{name}.md): {_first_line(cls)}" for name, cls in _methods()]
    parts += ["", "All methods have the interface of `Clusterer`; those that train also that of `DeepClusterer`.\n"]
    for name in coterie.__all__:
        value = getattr(coterie, name)
        if inspect.isclass(value):
            parts += _class(name, value)
        elif inspect.isfunction(value):
            parts += [f"## `{name}`\n", _signature(name, value), markdown(inspect.getdoc(value) or "") + "\n"]
        elif isinstance(value, ModuleType):
            parts += _module(name, value)
    return "\n".join(parts)


def _methods() -> Iterator[tuple[str, type]]:
    return ((name, coterie.METHODS[name]) for name in sorted(coterie.METHODS))


def _first_line(value: Any) -> str:
    return markdown(summary(value)).split("\n")[0]


def _class(name: str, cls: type) -> list[str]:
    parts = [f"## `{name}`\n", markdown(summary(cls)) + "\n"]
    for member, value in inspect.getmembers(cls):
        inherited = next((base for base in cls.__mro__ if member in vars(base)), object)
        if member.startswith("_") or member.endswith("_request") or not inherited.__module__.startswith("coterie"):
            continue
        if name == "DeepClusterer" and member in dir(coterie.Clusterer) and inherited is not cls:
            continue
        if isinstance(value, property):
            parts += [f"### `{member}`\n", markdown(inspect.getdoc(value) or "") + "\n"]
        elif callable(value) and inspect.getdoc(value):
            parts += [f"### `{member}`\n", _signature(member, value), markdown(inspect.getdoc(value) or "") + "\n"]
    return parts


def _module(name: str, module: ModuleType) -> list[str]:
    parts = [f"## `{name}`\n", markdown(inspect.getdoc(module) or "") + "\n"]
    for member, value in vars(module).items():
        is_public = not member.startswith("_") and getattr(value, "__module__", "").startswith("coterie")
        if is_public and (inspect.isclass(value) or inspect.isfunction(value)):
            parts.append(f"- `{name}.{member}`: {_first_line(value)}")
    return [*parts, ""]


def _signature(name: str, value: Any) -> str:
    try:
        signature = str(inspect.signature(value))
    except (TypeError, ValueError):
        signature = "(...)"
    return f"```python\n{name}{signature.replace(chr(39), '')}\n```\n"


def markdown(docstring: str) -> str:
    """Return a docstring as Markdown."""
    text = _ROLE.sub(r"`\1`", inspect.cleandoc(docstring)).replace("``", "`")
    text = re.sub(r"^((?:Paper|Symbols|Departure): )", r"\n\1", text, flags=re.M)
    text = re.sub(r"^\.\. math::\s*(.*(?:\n[ \t]+\S.*)*)", r"```math\n\1\n```", text, flags=re.M)
    return re.sub(r"^(Args|Returns|Raises|Attributes):$", r"**\1**\n", text, flags=re.M)
