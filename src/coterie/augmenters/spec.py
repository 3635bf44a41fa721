"""Read what a user writes for an augmenter: ``eda``, ``eda:0.2``, ``eda(operation=swap)``, ``chain(a:0.1,b)``."""

from __future__ import annotations

from coterie.errors import InputError


def parse(spec: str) -> tuple[str, str, list[str]]:
    """Return the name, what follows the colon, and the parts between the brackets; ``chain`` gets one part, its steps.

    What follows a colon may hold anything; brackets are looked for only right after the name.
    """
    name, mark, rest = _cut(spec.strip())
    if mark == "(":
        if not rest.endswith(")"):
            raise InputError(f"{spec!r}: the bracket after {name!r} is not closed. Write {name}(...).")
        parts = split(rest[:-1], spec)
        return name, "", [f"steps={','.join(parts)}"] if name == "chain" and "=" not in _cut(parts[0])[0] else parts
    if mark == ":" and not rest:
        raise InputError(f"{spec!r}: nothing follows the colon. Write {name!r} alone, or a value.")
    return name, rest, []


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
