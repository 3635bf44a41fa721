"""Declare a setting once: default, help, paper symbol, equation and bounds in one line.

The same line gives scikit-learn's parameters, the command-line flag, the row in the
documentation, the check in ``fit`` and the entry in a saved model's config.json.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from coterie.errors import InputError

T = TypeVar("T")
_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "gt": (">", operator.gt),
    "ge": (">=", operator.ge),
    "lt": ("<", operator.lt),
    "le": ("<=", operator.le),
}


def hyper(default: T, help: str, *, symbol: str = "", eq: str = "", **bounds: float) -> T:  # noqa: A002
    """Return a dataclass field that also carries its help, symbol, equation and bounds (gt, ge, lt, le)."""
    if unknown := set(bounds) - set(_BOUNDS):
        raise TypeError(f"hyper: unknown bounds {sorted(unknown)}; there are {sorted(_BOUNDS)}.")
    meta = {"help": help, "symbol": symbol, "eq": eq, "bounds": bounds}
    return field(default=default, metadata=meta)


@dataclass(frozen=True)
class Setting:
    """A declared setting, as help pages, flags and checks see it."""

    name: str
    type: Any
    default: Any
    help: str
    symbol: str
    eq: str
    bounds: dict[str, float]

    @property
    def types(self) -> tuple[Any, ...]:
        """The alternatives of a union, or the type alone."""
        union = get_origin(self.type) in (Union, types.UnionType)
        return get_args(self.type) if union else (self.type,)

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed words where the type is a Literal."""
        return tuple(c for t in self.types if get_origin(t) is Literal for c in get_args(t))

    @property
    def rule(self) -> str:
        """What a value must be, in words."""
        kinds = ["one of " + ", ".join(map(repr, self.choices))] if self.choices else []
        others = (t for t in self.types if get_origin(t) is not Literal)
        kinds += [_KIND_NAMES.get(t, getattr(t, "__name__", str(t))) for t in others]
        bounds = [f"{_BOUNDS[key][0]} {limit:.12g}" for key, limit in self.bounds.items()]
        return " and ".join([" or ".join(kinds), *bounds])

    def parse(self, text: str) -> Any:
        """Return the value that ``text`` stands for, where a value must be written as a word: none, true, 1e-5."""
        words: dict[str, bool | None] = {"none": None} if type(None) in self.types else {}
        if bool in self.types:
            words |= {"true": True, "yes": True, "false": False, "no": False}
        if text.lower() in words:
            return words[text.lower()]
        for kind in (int, float):
            if kind in self.types:
                try:
                    return kind(text)
                except ValueError:
                    continue
        if str in self.types or text in self.choices:
            return text
        raise InputError(f"{self.name}={text}: must be {self.rule}.")

    def accepts(self, value: Any) -> bool:
        """Whether ``value`` has the right kind and lies within the bounds."""
        if value is None or isinstance(value, str):
            return (type(None) in self.types if value is None else str in self.types) or (value in self.choices)
        if not any(_is_kind(value, t) for t in self.types if get_origin(t) is not Literal):
            return False
        if not isinstance(value, Real):  # a generator, say, has no size
            return True
        return all(_BOUNDS[key][1](value, limit) for key, limit in self.bounds.items())


_KIND_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", type(None): "none"}


def _is_kind(value: Any, kind: Any) -> bool:
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is int:
        return isinstance(value, Integral)
    if kind is float:
        return isinstance(value, Real)
    return isinstance(kind, type) and isinstance(value, kind)


def settings(cls: type) -> tuple[Setting, ...]:
    """Return the declared settings of a method, encoder or augmenter, in order."""
    hints = get_type_hints(cls)
    return tuple(
        Setting(name=f.name, type=hints[f.name], default=f.default, **f.metadata)
        for f in fields(cls)
        if f.default is not MISSING and "help" in f.metadata
    )


def check_settings(owner: Any) -> None:
    """Raise :class:`InputError` naming the first setting of ``owner`` that breaks its rule."""
    for setting in settings(type(owner)):
        value = getattr(owner, setting.name)
        if not setting.accepts(value):
            raise InputError(f"{type(owner).__name__}: `{setting.name}` must be {setting.rule}, got {value!r}.")
