"""Parse the short text by which a user selects an encoder or an augmenter and sets its settings.

A spec is ``name``, ``name:value`` or ``name(setting=value,...)``, e.g. ``eda``, ``eda:0.2``, ``eda(operation=swap)``.
``name:value`` sets the class's ``main_setting``, also after brackets: ``transformer(pooling=cls):FOLDER``. A class with
a ``list_setting`` gets everything between the brackets as the value of that setting: ``chain(eda:0.2,chars:0.1)``.
Encoders are joined by a plus: ``bundled+e5``.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from coterie.errors import InputError
from coterie.hyper import Setting, settings
from coterie.wording import did_you_mean


def parse(spec: str, classes: Mapping[str, type[Any]], kind: str = "augmenter") -> tuple[str, dict[str, Any]]:
    """Return the name in ``spec`` and its settings as keyword arguments for the class of that name.

    Values are converted to the types that the class declares with :func:`coterie.hyper.hyper`. Bounds are not checked:
    :func:`coterie.hyper.check_settings` does that.

    Args:
        spec: ``name``, ``name:value``, ``name(setting=value,...)`` or ``name(setting=value,...):value``.
        classes: the registered classes by name.
        kind: "augmenter" or "encoder", for error messages.

    Raises:
        InputError: if the name, a setting or a value is unknown, or the spec cannot be parsed.
    """
    name, mark, rest = _split_name(spec.strip())
    cls = classes[name]
    if not mark:
        return name, {}
    declared = {setting.name: setting for setting in settings(cls)}
    list_setting = _list_setting(cls)
    if mark == ":":
        values = {cls.main_setting: _main_value(spec, name, rest, cls, kind)}
    elif list_setting:
        values = {list_setting: _between_brackets(spec, name, rest)}
    else:
        inner, main = _split_brackets(rest)
        values = _named_values(spec, name, _between_brackets(spec, name, inner), declared, kind)
        if main:
            values |= {cls.main_setting: _main_value(spec, name, main[1:].strip(), cls, kind, given=values)}
    return name, {key: _convert(text, declared[key], spec) for key, text in values.items()}


def split(text: str, spec: str) -> list[str]:
    """Return the parts of ``text`` between commas; commas inside inner brackets do not separate.

    ``split("a(x=1,y=2),b", ...)`` returns ``["a(x=1,y=2)", "b"]``. ``spec`` is the whole spec, for error messages.
    """
    parts = [""]
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    if depth != 0 or not all(part.strip() for part in parts):
        raise InputError(f"{spec!r}: brackets do not match, or nothing stands before or after a comma.")
    return [part.strip() for part in parts]


def split_joined(spec: str, names: Container[str]) -> list[str]:
    """Return the specs that ``+`` joins: ``split_joined("bundled+tfidf(max_features=500)", ...)`` returns both.

    A ``+`` in brackets does not separate. In ``name:value`` it belongs to the value, unless one of ``names`` follows.
    """
    parts = [""]
    depth = 0
    for at, char in enumerate(spec):
        depth += (char == "(") - (char == ")")
        separates = char == "+" and depth == 0
        if separates and _has_value(parts[-1]):
            separates = _split_name(spec[at + 1 :])[0].partition("+")[0].strip() in names
        if separates:
            parts.append("")
        else:
            parts[-1] += char
    if not all(part.strip() for part in parts):
        raise InputError(f"{spec!r}: nothing stands before or after a +.")
    return [part.strip() for part in parts]


def format_spec(owner: Any) -> str:
    """Return the shortest spec of an encoder or augmenter: :func:`parse` returns the same settings from it."""
    changed = {
        setting.name: getattr(owner, setting.name)
        for setting in settings(type(owner))
        if getattr(owner, setting.name) != setting.default
    }
    list_setting = _list_setting(type(owner))
    if not changed:
        return str(owner.name)
    main = str(changed.get(owner.main_setting, ""))
    if list_setting:
        return f"{owner.name}({changed[list_setting]})"
    if set(changed) == {owner.main_setting} and "+" not in main:  # a plus after a colon might join another encoder
        return f"{owner.name}:{main}"
    needs_colon = any(char in ",()" for char in main)
    values = [f"{key}={value}" for key, value in changed.items() if key != owner.main_setting or not needs_colon]
    return f"{owner.name}({','.join(values)})" + (f":{main}" if needs_colon else "")


def _has_value(spec: str) -> bool:
    """Whether ``spec`` ends with a value after a colon."""
    _, mark, rest = _split_name(spec)
    return mark == ":" or (mark == "(" and _split_brackets(rest)[1] != "")


def _list_setting(cls: type[Any]) -> str:
    """Return the setting that takes everything between the brackets; empty for most classes and all encoders."""
    return str(getattr(cls, "list_setting", ""))


def _split_name(text: str) -> tuple[str, str, str]:
    """Return what stands before the first ``:`` or ``(``, that character, and what follows it."""
    end = min((text.index(mark) for mark in ":(" if mark in text), default=len(text))
    return text[:end].strip(), text[end : end + 1], text[end + 1 :].strip()


def _split_brackets(rest: str) -> tuple[str, str]:
    """Return ``rest`` up to the bracket that closes, and ``:value`` if that follows it."""
    depth = 1
    for at, char in enumerate(rest):
        depth += (char == "(") - (char == ")")
        if depth == 0 and rest[at + 1 :].lstrip().startswith(":"):
            return rest[: at + 1], rest[at + 1 :].lstrip()
        if depth == 0:
            break
    return rest, ""


def _main_value(spec: str, name: str, rest: str, cls: type[Any], kind: str, *, given: Container[str] = ()) -> str:
    if not cls.main_setting:
        raise InputError(f"The {kind} {name!r} takes nothing after a colon, got {spec!r}.")
    if cls.main_setting in given:
        raise InputError(f"{spec!r} sets `{cls.main_setting}` twice, in the brackets and after the colon.")
    if not rest:
        raise InputError(f"{spec!r}: nothing follows the colon. Write {name!r} alone, or {name}:VALUE.")
    return rest


def _between_brackets(spec: str, name: str, rest: str) -> str:
    if not rest.endswith(")"):
        raise InputError(f"{spec!r}: the bracket after {name!r} is not closed. Write {name}(...).")
    return rest[:-1]


def _named_values(spec: str, name: str, text: str, declared: dict[str, Setting], kind: str) -> dict[str, str]:
    """Return the values in ``setting=value,setting=value`` by setting, still as text."""
    values = {}
    for part in split(text, spec):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in declared:
            hint = did_you_mean(key, declared)
            raise InputError(
                f"{spec!r}: {part!r} is not a setting.{hint} The {kind} {name!r} has the settings "
                f"{', '.join(declared) or '(none)'}; write {name}(SETTING=VALUE)."
            )
        values[key] = value
    return values


def _convert(text: str, setting: Setting, spec: str) -> Any:
    """Return ``text`` in the type of ``setting``."""
    try:
        return setting.parse(text)
    except InputError:
        raise InputError(f"{spec!r}: `{setting.name}` must be {setting.rule}, got {text!r}.") from None
