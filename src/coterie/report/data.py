"""What a report shows, as plain data. Optional parts appear on the page when they are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class WordCount:
    """How often a word occurs in a cluster, and in all texts."""

    word: str
    count: int
    total: int


@dataclass(frozen=True)
class Neighbor:
    """Another cluster, and the cosine similarity of the two centers."""

    cluster: int
    similarity: float


@dataclass(frozen=True)
class ClusterCard:
    """One cluster. ``typical`` and ``doubtful`` are positions in the arrays of :class:`Points`."""

    cluster: int
    name: str
    size: int
    share: float
    confidence: float
    keywords: Sequence[str]
    typical: Sequence[int] = ()
    doubtful: Sequence[int] = ()
    nearest: Sequence[Neighbor] = ()
    words: Sequence[WordCount] = ()  # candidates for keywords
    n_words: int = 0  # words of all texts of the cluster, stop words left out
    topics: Sequence[dict[str, Any]] = ()
    color: int = 0  # position in the palette
    cohesion: float | None = None  # how similar its texts are to each other
    stability: float | None = None  # how much of it stays together when the texts are resampled


@dataclass(frozen=True)
class Column:
    """A column of the user's table: numbers, or a few different values (``codes`` into ``values``)."""

    name: str
    numbers: NDArray[np.float64] | None = None  # (n,), NaN where there is none
    codes: NDArray[np.int64] | None = None  # (n,), -1 where there is none
    values: Sequence[str] = ()


@dataclass(frozen=True)
class ContactSheets:
    """Thumbnails in rows of ``columns``, ``per_sheet`` on each sheet, in the order of the points."""

    files: Sequence[bytes]  # JPEG
    side: int  # of a thumbnail, in pixels
    columns: int
    per_sheet: int


@dataclass(frozen=True)
class Points:
    """The items on the map: arrays of equal length n."""

    rows: NDArray[np.int64]  # row numbers in the user's file, from 1
    xy: NDArray[np.float32]  # (n, 2)
    cluster: NDArray[np.int64]
    confidence: NDArray[np.float64]
    second: NDArray[np.int64] | None = None  # the second most probable cluster
    margin: NDArray[np.float64] | None = None  # its probability is so much smaller
    texts: Sequence[str] | None = None
    images: ContactSheets | None = None
    columns: Sequence[Column] = ()

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class TreeNode:
    """A cluster (``cluster`` is its number), or a group of the nodes below it."""

    name: str
    size: int
    cluster: int | None = None
    children: Sequence[TreeNode] = ()


@dataclass(frozen=True)
class Training:
    """The records of every epoch, and what the guard kept."""

    history: Sequence[dict[str, Any]]
    kept: int | None = None  # the epoch, counted over all stages; 0 is the state before training; None: no guard
    baseline: float | None = None  # the guard's score without training


@dataclass(frozen=True)
class Curve:
    """Scores of different numbers of clusters, and the one that was chosen."""

    n_clusters: Sequence[int]
    scores: Mapping[str, Sequence[float]]  # by name
    chosen: int
    remarks: Sequence[str] = ()  # a sentence for each number on the shortlist


@dataclass(frozen=True)
class Report:
    """All parts of a report."""

    title: str
    noun: Literal["texts", "images"]
    n_rows: int
    n_blank: int
    clusters: Sequence[ClusterCard]  # the largest first
    points: Points
    method: str
    layout: str  # the algorithm that placed the points
    sentences: Sequence[str] = ()  # the summary in plain words
    notes: Sequence[str] = ()  # what the reader should know: sampled, shortened, without texts
    tree: TreeNode | None = None
    training: Training | None = None
    curve: Curve | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)  # encoder, hash of the texts, ...
