"""Find classes by name. A class registers when its module is imported: from our package or from an entry point."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from coterie.errors import InputError
from coterie.wording import did_you_mean

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """Maps names to classes; all modules are imported at the first lookup."""

    def __init__(self, kind: str, package: str) -> None:
        self.kind, self.package = kind, package
        self._classes: dict[str, type[T]] = {}
        self._complete = False

    def register(self, name: str, cls: type[T]) -> None:
        """Add a class; two classes with one name are an error."""
        known = self._classes.setdefault(name, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise InputError(f"Two {self.kind}s are called {name!r}: {known} and {cls}.")
        self._classes[name] = cls

    def __getitem__(self, name: str) -> type[T]:
        """Return the class, or raise an error that lists the names."""
        self._load()
        if name not in self._classes:
            hint = did_you_mean(name, self._classes)
            raise InputError(
                f"There is no {self.kind} called {name!r}.{hint} There are: {', '.join(sorted(self._classes))}."
            )
        return self._classes[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the class, or ``default``."""
        return self[name] if name in self else default

    def __repr__(self) -> str:
        return f"<{self.kind} registry: {', '.join(self)}>"

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._classes))

    def __len__(self) -> int:
        self._load()
        return len(self._classes)

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._classes

    def _load(self) -> None:
        if self._complete:
            return
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self.package}.{module.name}")
        for entry in entry_points(group=self.package):  # importing a plug-in registers its class
            entry.load()
        self._complete = True  # last, so that a failed import fails again instead of leaving the registry incomplete
