"""A loaded data set, the description of a data set, and the registry of all descriptions."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie.datasets.download import RemoteFile, fetch, is_local
from coterie.datasets.readers import LabeledImages, LabeledTexts
from coterie.errors import InputError
from coterie.wording import count, did_you_mean

InputType = Literal["texts", "images"]
_PACKAGE = "coterie.datasets"


@dataclass(frozen=True, repr=False)
class Dataset:
    """Texts or images with true labels 0..K-1. The labels are for evaluation only."""

    name: str
    items: list[str] | NDArray[np.uint8]  # N texts, or images (N, S, S, C)
    true_labels: NDArray[np.int64]  # (N,)
    label_names: list[str]  # (K,) names of the classes

    @property
    def texts(self) -> list[str]:
        """The texts; an error for a data set of images."""
        if not isinstance(self.items, list):
            raise InputError(f"The data set {self.name!r} has images, not texts: use its `items`.")
        return self.items

    def __repr__(self) -> str:
        noun = "texts" if isinstance(self.items, list) else "images"
        size, clusters = count(len(self.items), noun), count(len(self.label_names), "clusters")
        return f"Dataset({self.name!r}, {size}, {clusters})"


@dataclass(frozen=True, kw_only=True, repr=False)
class DatasetEntry(ABC):
    """The description of a data set: its content, its files and its terms of use."""

    input_type: ClassVar[InputType]

    name: str
    title: str
    terms: str
    n_items: int
    n_clusters: int
    files: tuple[RemoteFile, ...] = ()
    label_names: tuple[str, ...] = ()  # names of the classes, if they are not in the files
    in_papers: bool = False  # whether it is one of the eight data sets that the papers share
    order: int = 1000  # position in listings

    @abstractmethod
    def load(self) -> Dataset:
        """Fetch the files and return the data set."""

    @property
    def is_local(self) -> bool:
        """Whether :meth:`load` needs no network."""
        return all(map(is_local, self.files))

    def __repr__(self) -> str:
        size, clusters = count(self.n_items, self.input_type), count(self.n_clusters, "clusters")
        return f"{type(self).__name__}({self.name!r}, {size}, {clusters})"


@dataclass(frozen=True, kw_only=True, repr=False)
class TextEntry(DatasetEntry):
    """A data set of texts."""

    input_type = "texts"

    read: Callable[..., LabeledTexts]  # from the bytes of each file

    def load(self) -> Dataset:
        """Fetch the files and return the texts. Labels that are numbers are sorted by value."""
        rows = self.read(*(fetch(file) for file in self.files))
        classes = sorted({label for label, _ in rows}, key=_label_order)
        number = {label: i for i, label in enumerate(classes)}
        labels = np.array([number[label] for label, _ in rows], dtype=np.int64)
        return Dataset(self.name, [text for _, text in rows], labels, list(self.label_names or classes))


@dataclass(frozen=True, kw_only=True, repr=False)
class ImageEntry(DatasetEntry):
    """A data set of images."""

    input_type = "images"

    read: Callable[..., LabeledImages]  # from the bytes of each file

    def load(self) -> Dataset:
        """Fetch the files and return the images."""
        images, labels = self.read(*(fetch(file) for file in self.files))
        return Dataset(self.name, images, labels, list(self.label_names))


def _label_order(label: str) -> tuple[int, str]:
    return (int(label) if label.isdigit() else 0, label)


class DatasetRegistry(Mapping[str, DatasetEntry]):
    """Names to entries, in the order of listings. All modules of the package are imported at the first lookup."""

    def __init__(self) -> None:
        self._entries: dict[str, DatasetEntry] = {}
        self._complete = False

    def register(self, entry: DatasetEntry) -> None:
        """Add an entry, or raise :class:`InputError` if another data set has its name."""
        if self._entries.setdefault(entry.name, entry) != entry:
            raise InputError(f"Two data sets are called {entry.name!r}.")

    def __getitem__(self, name: str) -> DatasetEntry:
        """Return the entry, or raise :class:`InputError` with the names of all data sets."""
        self._import_all()
        if name not in self._entries:
            hint = did_you_mean(name, self._entries)
            raise InputError(f"There is no data set called {name!r}.{hint} There are: {', '.join(self)}.")
        return self._entries[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the entry, or ``default`` if there is none."""
        return self[name] if name in self else default

    def __repr__(self) -> str:
        return f"<data set registry: {', '.join(self)}>"

    def __iter__(self) -> Iterator[str]:
        self._import_all()
        return iter(sorted(self._entries, key=lambda name: self._entries[name].order))

    def __len__(self) -> int:
        self._import_all()
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        self._import_all()
        return name in self._entries

    def _import_all(self) -> None:
        if self._complete:
            return
        package = importlib.import_module(_PACKAGE)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{_PACKAGE}.{module.name}")
        for entry_point in entry_points(group=_PACKAGE):
            entry_point.load()
        self._complete = True  # set last, so that a failed import fails again at the next lookup


DATASETS = DatasetRegistry()
"""All data sets by name."""


def load(name: str) -> Dataset:
    """Return a data set by name; ``coterie datasets`` lists the names."""
    return DATASETS[name].load()
