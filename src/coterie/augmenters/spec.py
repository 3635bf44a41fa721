"""Read what a user writes for an augmenter: ``eda``, ``eda:0.2``, ``eda(operation=swap)``, ``chain(a:0.1,b)``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coterie.errors import InputError
from coterie.hyper import Setting, settings


def parse(spec: str, classes: Mapping[str, type[Any]]) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings, in the types that the class of that name declares."""
    name, mark, rest = _cut(spec.strip())
    cls = classes[name]
    if not mark:
        return name, {}
    declared = {setting.name: setting for setting in settings(cls)}
    if mark == ":":
        pairs = {cls.after_colon: _after_colon(spec, name, rest, cls)}
    else:
        inside = _inside(spec, name, rest)
        pairs = {cls.in_brackets: inside} if cls.in_brackets else _pairs(spec, name, inside, declared)
    return name, {key: _read(text, declared[key], spec) for key, text in pairs.items()}


def split(inside: str, spec: str) -> list[str]:
    """Return the parts of ``inside`` between commas, but not between the commas of inner brackets."""
    parts, depth = [""], 0
    for char in inside:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    if depth != 0 or not all(part.strip() for part in parts):
        raise InputError(f"{spec!r}: brackets or commas do not match. Write e.g. chain(eda:0.2,chars:0.1).")
    return [part.strip() for part in parts]


def _cut(text: str) -> tuple[str, str, str]:
    """Return what stands before the first ``:`` or ``(``, that mark, and what follows it."""
    place = min((text.index(mark) for mark in ":(" if mark in text), default=len(text))
    return text[:place].strip(), text[place : place + 1], text[place + 1 :].strip()


def _after_colon(spec: str, name: str, rest: str, cls: type[Any]) -> str:
    if not cls.after_colon:
        raise InputError(f"The augmenter {name!r} takes nothing after a colon, got {spec!r}.")
    if not rest:
        raise InputError(f"{spec!r}: nothing follows the colon. Write {name!r} alone, or a value.")
    return rest


def _inside(spec: str, name: str, rest: str) -> str:
    if not rest.endswith(")"):
        raise InputError(f"{spec!r}: the bracket after {name!r} is not closed. Write {name}(...).")
    return rest[:-1]


def _pairs(spec: str, name: str, inside: str, declared: dict[str, Setting]) -> dict[str, str]:
    pairs = {}
    for part in split(inside, spec):
        key, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals or key not in declared:
            raise InputError(
                f"{spec!r}: {part!r} is not a setting. The augmenter {name!r} has the settings "
                f"{', '.join(declared) or '(none)'}; write {name}(NAME=VALUE)."
            )
        pairs[key] = text
    return pairs


def _read(text: str, setting: Setting, spec: str) -> Any:
    try:
        return setting.parse(text)
    except InputError:
        raise InputError(f"{spec!r}: `{setting.name}` must be {setting.rule}, got {text!r}.") from None
