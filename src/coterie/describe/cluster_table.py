"""The table of clusters: size, confidence, keywords and typical examples of every cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from coterie.describe.json_values import check_kind, check_texts
from coterie.describe.keywords import keywords
from coterie.describe.names import cluster_names, fallback_name
from coterie.describe.quality import Quality
from coterie.describe.terms import join_words
from coterie.errors import CoterieError
from coterie.printable import printable

_N_NAME_TERMS = 8  # keywords that names are chosen from, however many are shown
_N_TYPICAL = 5  # typical texts that names are chosen from
_QUALITY = ("cohesion", "stability", "nearest")
_COLUMNS = ("cluster", "name", "size", "share", "confidence", *_QUALITY, "keywords", "examples")
_KINDS: dict[str, type] = {
    "name": str, "size": int, "share": float, "confidence": float, "cohesion": float, "stability": float, "nearest": int
}  # fmt: skip


class TopicLike(Protocol):
    """A topic of a cluster: its share of the cluster's texts, and its most probable words."""

    @property
    def weight(self) -> float: ...  # noqa: D102

    @property
    def words(self) -> Sequence[str]: ...  # noqa: D102


@dataclass(frozen=True)
class TopicSummary:
    """A topic of a cluster, as the table stores it."""

    weight: float
    words: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"weight": self.weight, "words": self.words}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TopicSummary:
        """Return the topic that :meth:`as_dict` was called on."""
        check_kind(values, "weight", float)
        check_texts(values, "words")
        return cls(values["weight"], values["words"])


@dataclass(frozen=True)
class ClusterRow:
    """The description of one cluster."""

    cluster: int
    name: str  # short, and unique in its table
    size: int
    share: float  # of all items that have a cluster
    confidence: float  # mean over the cluster
    keywords: list[str]  # best first; empty for images and vectors
    examples: list[str]  # distinct, most confident first
    topics: list[TopicSummary] = field(default_factory=list)  # empty for methods without topics
    cohesion: float | None = None  # mean cosine of an item with the mean of the cluster
    stability: float | None = None  # share of items that keep the cluster when half of all items vote on them
    nearest: int | None = None  # the most similar other cluster
    has_given_name: bool = False  # by the user or a language model: not replaced by keywords

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the keys ``topics`` and ``has_given_name`` only if they say something."""
        values: dict[str, Any] = {name: getattr(self, name) for name in _COLUMNS}
        if self.topics:
            values["topics"] = [topic.as_dict() for topic in self.topics]
        return values | ({"has_given_name": True} if self.has_given_name else {})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ClusterRow:
        """Return the row that :meth:`as_dict` was called on; older models stored neither name nor quality."""
        check_kind(values, "cluster", int)
        for name in ("keywords", "examples"):
            check_texts(values, name)
        missing = dict.fromkeys(_QUALITY)
        values = {"name": fallback_name(values["cluster"], values["keywords"])} | missing | values
        for name, kind in _KINDS.items():
            check_kind(values, name, kind, optional=name in _QUALITY)
        topics = [TopicSummary.from_dict(topic) for topic in values.get("topics", [])]
        given = values.get("has_given_name") is True
        return cls(**{name: values[name] for name in _COLUMNS}, topics=topics, has_given_name=given)


class ClusterTable(Sequence[ClusterRow]):
    """The descriptions of all clusters, largest cluster first. Notebooks show it as an HTML table."""

    def __init__(self, rows: Iterable[ClusterRow]) -> None:
        self._rows = list(rows)

    @classmethod
    def from_dicts(cls, rows: Iterable[dict[str, Any]]) -> ClusterTable:
        """Return the table that :meth:`as_dicts` was called on."""
        return cls(ClusterRow.from_dict(row) for row in rows)

    @property
    def columns(self) -> list[str]:
        """Names of the columns; ``topics`` only if a cluster has topics."""
        return [*_COLUMNS, "topics"] if any(row.topics for row in self._rows) else list(_COLUMNS)

    @property
    def names(self) -> dict[int, str]:
        """The name of each cluster."""
        return {row.cluster: row.name for row in self._rows}

    @property
    def given_names(self) -> dict[int, str]:
        """The names that the user or a language model gave."""
        return {row.cluster: row.name for row in self._rows if row.has_given_name}

    def renamed(self, names: Mapping[int, str]) -> ClusterTable:
        """Return the table with given names of some clusters; another cluster of such a name gets its number."""
        taken = {name.casefold() for name in names.values()}
        rows = []
        for row in self._rows:
            if row.cluster in names:
                rows.append(replace(row, name=names[row.cluster], has_given_name=True))
            else:
                rows.append(replace(row, name=f"{row.name} ({row.cluster})") if row.name.casefold() in taken else row)
        return ClusterTable(rows)

    def without(self, clusters: Collection[int]) -> ClusterTable:
        """Return the table without the rows of some clusters."""
        return ClusterTable(row for row in self._rows if row.cluster not in clusters)

    def check(self, n_clusters: int) -> None:
        """Raise :class:`ValueError` if this is not the table of ``n_clusters`` clusters."""
        numbers = [row.cluster for row in self._rows]
        named = numbers + [row.nearest for row in self._rows if row.nearest is not None]
        if len(set(numbers)) < len(numbers) or any(number >= n_clusters for number in named):
            raise ValueError(f"it is not the table of {n_clusters} clusters")

    def quality(self, n_clusters: int) -> list[Quality | None]:
        """Return the quality of each cluster (K); None where it is not known."""
        known: dict[int, Quality] = {}
        for row in self._rows:
            if row.cohesion is not None and row.stability is not None:
                known[row.cluster] = Quality(row.cohesion, row.nearest, row.stability)
        return [known.get(cluster) for cluster in range(n_clusters)]

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return plain values for JSON, one dictionary for each cluster."""
        return [row.as_dict() for row in self._rows]

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row for each cluster."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise CoterieError("ClusterTable.to_frame() needs pandas. Run: pip install pandas") from None
        return pd.DataFrame([self._cells(row) for row in self._rows], columns=self.columns)

    @overload
    def __getitem__(self, index: int) -> ClusterRow: ...

    @overload
    def __getitem__(self, index: slice) -> ClusterTable: ...

    def __getitem__(self, index: int | slice) -> ClusterRow | ClusterTable:
        return ClusterTable(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[ClusterRow]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return self._rows == other._rows if isinstance(other, ClusterTable) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        lines = [
            printable(f"{row.cluster} {row.name}: {row.size} ({row.share:.1%}) {', '.join(row.keywords)}", max_word=40)
            for row in self._rows
        ]
        return "\n".join([f"ClusterTable of {len(self)} clusters", *lines])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in self.columns)
        lines = []
        for row in self._rows:
            cells = "".join(f"<td>{_html_cell(name, value)}</td>" for name, value in self._cells(row).items())
            lines.append(f"<tr>{cells}</tr>")
        body = "\n".join(lines)
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"

    def _cells(self, row: ClusterRow) -> dict[str, Any]:
        """Return the values of a row, for every column."""
        values = row.as_dict()
        return {name: values.get(name, []) for name in self.columns}


def cluster_table(  # noqa: PLR0913
    items: Sequence[Any],
    labels: NDArray[np.int64],
    confidence: NDArray[np.float64],
    n_clusters: int,
    *,
    n_examples: int = 2,
    n_keywords: int = 5,
    topics: Sequence[Sequence[TopicLike]] = (),
    with_keywords: bool = True,
    quality: Sequence[Quality | None] = (),
) -> ClusterTable:
    """Return the descriptions of all clusters, largest cluster first.

    Args:
        items: The texts, or the names of images (N); empty for a table without examples.
        labels: The cluster of each item (N,); -1 for items without a cluster.
        confidence: The confidence of each label (N,).
        n_clusters: The number of clusters K.
        n_examples: The number of typical items of each cluster.
        n_keywords: The number of keywords of each cluster.
        topics: The topics of each cluster (K), or nothing.
        with_keywords: Whether the items are texts, so that their words can be keywords.
        quality: The quality of each cluster (K), or nothing.
    """
    valid = _sorted_rows(np.flatnonzero(labels >= 0), items, confidence)
    members = [valid[labels[valid] == cluster] for cluster in range(n_clusters)]
    typical = [_typical(items, rows[np.argsort(-confidence[rows], kind="stable")], n_examples) for rows in members]
    words: list[list[str]] = [[] for _ in range(n_clusters)]
    names = [fallback_name(cluster) for cluster in range(n_clusters)]
    if with_keywords:
        texts = [str(items[i]) for i in valid.tolist()]
        words = keywords(texts, labels[valid], n_clusters, n_words=max(n_keywords, _N_NAME_TERMS))
        names = cluster_names(texts, labels[valid], words, typical)
    rows = [
        ClusterRow(
            cluster=cluster,
            name=names[cluster],
            size=len(rows),
            share=len(rows) / max(len(valid), 1),
            confidence=float(confidence[rows].mean()) if len(rows) else 0.0,
            keywords=[join_words(term.split(" ")) for term in words[cluster][:n_keywords]],
            examples=typical[cluster][:n_examples],
            topics=[TopicSummary(topic.weight, list(topic.words)) for topic in topics[cluster]] if topics else [],
            **(asdict(known) if quality and (known := quality[cluster]) else {}),
        )
        for cluster, rows in enumerate(members)
    ]
    return ClusterTable(sorted(rows, key=lambda row: -row.size))


def _sorted_rows(rows: NDArray[np.int64], items: Sequence[Any], confidence: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows in the order of their items, so that a table does not depend on the order of the rows."""
    if not len(items):
        return rows[np.argsort(confidence[rows], kind="stable")]
    return np.array(sorted(rows.tolist(), key=lambda row: str(items[row])), dtype=np.int64)


def _typical(items: Sequence[Any], rows: NDArray[np.int64], n_examples: int) -> list[str]:
    """Return distinct items, in the order of ``rows``: as many as are shown, and enough to choose a name."""
    return _first_distinct((str(items[i]) for i in rows.tolist()), max(n_examples, _N_TYPICAL)) if len(items) else []


def _first_distinct(values: Iterable[str], n: int) -> list[str]:
    """Return the first ``n`` distinct values."""
    distinct: dict[str, None] = {}
    for value in values:
        if len(distinct) == n:
            break
        distinct[value] = None
    return list(distinct)


def _html_cell(name: str, value: Any) -> str:
    """Return the content of a cell as escaped HTML."""
    if name == "share":
        return f"{value:.1%}"
    if isinstance(value, float):
        return f"{value:.2f}"
    if name == "keywords":
        return escape(", ".join(value))
    if name == "examples":
        return "<br>".join(map(escape, value))
    if name == "topics":
        return "<br>".join(escape(f"{topic['weight']:.2f} {', '.join(topic['words'][:5])}") for topic in value)
    return "" if value is None else escape(str(value))
