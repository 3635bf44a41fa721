"""Declare a hyper-parameter once: default, help, symbol, equation and bounds in one line.

The same line defines the parameter of scikit-learn, the command-line flag, the row in the documentation, the check in
``fit`` and the entry in a saved model's config.json.
"""

from __future__ import annotations

import inspect
import math
import operator
import textwrap
import types
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from coterie.errors import InputError
from coterie.printable import shorten

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
    """A declared hyper-parameter."""

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
        """The allowed values, in words."""
        kinds = ["one of " + ", ".join(map(repr, self.choices))] if self.choices else []
        others = (t for t in self.types if get_origin(t) is not Literal)
        kinds += [_TYPE_NAMES.get(t, getattr(t, "__name__", str(t))) for t in others]
        bounds = [f"{_BOUNDS[key][0]} {limit:.12g}" for key, limit in self.bounds.items()]
        return " and ".join([" or ".join(kinds), *bounds])

    def parse(self, text: str) -> Any:
        """Return the value of a string such as ``none``, ``true`` or ``1e-5``."""
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
        """Whether ``value`` has the right type and lies within the bounds."""
        if value is None or isinstance(value, str):
            return (type(None) in self.types if value is None else str in self.types) or (value in self.choices)
        if not any(_has_type(value, t) for t in self.types if get_origin(t) is not Literal):
            return False
        if not isinstance(value, Real):  # a random generator has no size
            return True
        within = all(_BOUNDS[key][1](value, limit) for key, limit in self.bounds.items())
        return within and math.isfinite(value) and not self.is_huge(value)

    def is_huge(self, value: Any) -> bool:
        """Whether ``value`` is a whole number that no library takes as a size, and no bound says so."""
        return isinstance(value, Integral) and abs(int(value)) >= _HUGE and not self.bounds.keys() & {"lt", "le"}


_SECTION = "Args:"
_HUGE = 2**63
_TYPE_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", type(None): "none"}


def _has_type(value: Any, kind: Any) -> bool:
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is int:
        return isinstance(value, Integral)
    if kind is float:
        return isinstance(value, Real)
    kind = get_origin(kind) or kind  # list[str]: a list
    return isinstance(kind, type) and isinstance(value, kind)


def settings(cls: type) -> tuple[Setting, ...]:
    """Return the declared settings of a method, encoder or augmenter, in order."""
    if cls not in _settings:  # evaluating type hints is slow
        _settings[cls] = _declared(cls, get_type_hints(cls))
    return _settings[cls]


_settings: WeakKeyDictionary[type, tuple[Setting, ...]] = WeakKeyDictionary()


def document_settings(cls: type) -> None:
    """Add every setting with its rule, default and help to the docstring of ``cls``, for `help` and editors."""
    try:
        declared = settings(cls)
    except NameError:  # a type that its module defines only after the class: shown as it is written
        declared = _declared(cls, {f.name: f.type for f in fields(cls)})
    if declared:
        own = inspect.cleandoc(cls.__doc__ or "")
        cls.__doc__ = "\n".join([own, "", _SECTION, *map(_described, declared), ""])


def summary(cls: type) -> str:
    """Return the docstring of ``cls`` without the settings that :func:`document_settings` added."""
    return inspect.cleandoc(cls.__doc__ or "").partition(f"\n\n{_SECTION}\n")[0]


def _declared(cls: type, hints: dict[str, Any]) -> tuple[Setting, ...]:
    return tuple(
        Setting(name=f.name, type=hints[f.name], default=f.default, **f.metadata)
        for f in fields(cls)
        if f.default is not MISSING and "help" in f.metadata
    )


def _described(setting: Setting) -> str:
    """Return the lines of one setting in a docstring."""
    symbol = f" ({setting.symbol})" if setting.symbol else ""
    text = f"{setting.name}: {setting.help.rstrip('.')}{symbol}. Must be {setting.rule}; default {setting.default!r}."
    return textwrap.fill(text, 100, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False)


def check_settings(owner: Any) -> None:
    """Raise :class:`InputError` naming the first setting of ``owner`` that breaks its rule."""
    for setting in settings(type(owner)):
        value = getattr(owner, setting.name)
        if not setting.accepts(value):
            rule = f"{setting.rule} and < 2**63" if setting.is_huge(value) else setting.rule
            raise InputError(
                f"{type(owner).__name__}: `{setting.name}` must be {rule}, got {shorten(repr(value), 200)}."
            )
