"""The clusters as a tree: similar clusters are merged into groups, and groups into larger groups, each with a name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import chain, count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

from coterie.arrays import unit_rows
from coterie.contracts import Labels, Vectors
from coterie.describe.cluster_table import ClusterTable
from coterie.describe.json_values import check_kind, check_texts
from coterie.describe.keywords import Pairs, Words, choose_keywords, count_words
from coterie.errors import CoterieError
from coterie.printable import printable

_WORD_WEIGHT = 0.3  # of the words in the similarity of two clusters
_GROUP_SIZE = 3  # clusters of a group, on average
_N_KEYWORDS = 5
_ROOT = "All"
_MAX_LEVELS = 50  # each has a third of the groups of the one below
_Counts = tuple[list[Words], list[Pairs]]
_Term = TypeVar("_Term")


@dataclass(frozen=True)
class TreeNode:
    """A cluster, a part of a cluster, or a group of the nodes below it."""

    name: str
    size: int
    keywords: list[str] = field(default_factory=list)
    cluster: int | None = None  # the number of a cluster; None for groups, and for parts of a cluster
    children: tuple[TreeNode, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own = {"name": self.name, "size": self.size, "keywords": self.keywords, "cluster": self.cluster}
        return own | {"children": [child.as_dict() for child in self.children]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], level: int = 0) -> TreeNode:
        """Return the node that :meth:`as_dict` was called on."""
        if level > _MAX_LEVELS:
            raise ValueError(f"the tree has more than {_MAX_LEVELS} levels")
        for name, kind in (("name", str), ("size", int), ("children", list)):
            check_kind(values, name, kind)
        check_kind(values, "cluster", int, optional=True)
        check_texts(values, "keywords")
        children = tuple(cls.from_dict(child, level + 1) for child in values["children"])
        return cls(values["name"], values["size"], values["keywords"], values["cluster"], children)

    def walk(self, level: int = 0) -> Iterator[tuple[int, TreeNode]]:
        """Yield this node and all nodes below it, each with its level."""
        yield level, self
        for child in self.children:
            yield from child.walk(level + 1)

    @property
    def clusters(self) -> list[int]:
        """The numbers of all clusters in this node."""
        return [node.cluster for _, node in self.walk() if node.cluster is not None]


class ClusterTree:
    """All clusters of a model below one root. Notebooks show it as nested lists that fold."""

    def __init__(self, root: TreeNode) -> None:
        self.root = root

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: name, size, keywords, cluster, children."""
        return self.root.as_dict()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ClusterTree:
        """Return the tree that :meth:`as_dict` was called on."""
        return cls(TreeNode.from_dict(values))

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row for each node, parents before their children."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise CoterieError("ClusterTree.to_frame() needs pandas. Run: pip install pandas") from None
        rows = []
        path: list[str] = []
        for level, node in self.root.walk():
            path[level:] = [node.name]
            parent = path[level - 1] if level else None
            rows.append((level, node.name, node.cluster, node.size, node.keywords, parent))
        frame = pd.DataFrame(rows, columns=["level", "name", "cluster", "size", "keywords", "parent"])
        return frame.astype({"cluster": "Int64"})

    def renamed(self, names: Mapping[int, str]) -> ClusterTree:
        """Return the tree with other names of clusters; groups are named after their members anew."""
        nodes = [node for _, node in self.root.walk()]
        taken = {_name(node, names) for node in nodes if node.cluster is not None}
        if all(_name(node, names) == node.name for node in nodes):
            return self
        children = [_renamed(child, names, taken) for child in self.root.children]
        return ClusterTree(replace(self.root, children=tuple(children)))

    def with_parts(self, parts: Mapping[int, Sequence[TreeNode]]) -> ClusterTree:
        """Return the tree with ``parts`` below clusters."""
        return ClusterTree(_with_parts(self.root, parts))

    def draw(self) -> str:
        """Return the tree as lines of text."""
        return "\n".join(_lines(self.root))

    def __eq__(self, other: object) -> bool:
        return self.root == other.root if isinstance(other, ClusterTree) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return self.draw()

    def _repr_html_(self) -> str:
        return f"<ul>{_html(self.root)}</ul>"


def cluster_tree(
    centers: Vectors, table: ClusterTable, texts: Sequence[str] = (), labels: Labels | None = None
) -> ClusterTree:
    """Return the tree of the clusters in ``table``, whose centers are (K, D).

    Groups are merged by average linkage; the similarity of two clusters is the cosine of their centers, with that of
    their words where there are ``texts`` (N) with ``labels`` (N,). The levels have about a third as many groups as
    there are clusters, a ninth, and so on. A group is named after its largest members.
    """
    rows = {row.cluster: row for row in table if row.size}
    nodes = [TreeNode(row.name, row.size, row.keywords, k) for k, row in sorted(rows.items())]
    if len(nodes) > 2:
        counts = None if labels is None or not len(texts) else count_words(texts, labels, len(centers))
        nodes = _grouped(nodes, centers, counts)
    return ClusterTree(TreeNode(_ROOT, sum(node.size for node in nodes), [], None, _largest_first(nodes)))


def _grouped(nodes: list[TreeNode], centers: Vectors, counts: _Counts | None) -> list[TreeNode]:
    """Return the nodes of the highest level: groups of groups of the clusters ``nodes``."""
    numbers = [node.cluster for node in nodes if node.cluster is not None]
    merges = _merges(centers[numbers], None if counts is None else _word_vectors([counts[0][k] for k in numbers]))
    taken = {node.name for node in nodes}
    level = nodes
    position = np.arange(len(nodes))  # of each cluster in `level`
    n_groups = round(len(nodes) / _GROUP_SIZE)
    while n_groups > 1:
        merged = fcluster(merges, n_groups, criterion="maxclust") - 1
        members: list[list[TreeNode]] = [[] for _ in range(merged.max() + 1)]
        for i in np.unique(position):
            members[merged[np.flatnonzero(position == i)[0]]].append(level[i])
        words = _keywords(members, counts)
        level = [_group(of_group, own, taken) for of_group, own in zip(members, words, strict=True)]
        position = merged
        n_groups = round(n_groups / _GROUP_SIZE)
    return level


def _keywords(members: list[list[TreeNode]], counts: _Counts | None) -> list[list[str]]:
    """Return the keywords of each group; none where words are not counted."""
    if counts is None:
        return [[] for _ in members]
    clusters = [[k for node in nodes for k in node.clusters] for nodes in members]
    words = [total_counts(counts[0][k] for k in own) for own in clusters]
    pairs = [total_counts(counts[1][k] for k in own) for own in clusters]
    return choose_keywords(words, pairs, n_words=_N_KEYWORDS)


def total_counts(counters: Iterable[Counter[_Term]]) -> Counter[_Term]:
    """Return the sum of counters; the builtin ``sum`` would copy it for each of them."""
    total: Counter[_Term] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def _group(members: Sequence[TreeNode], words: list[str], taken: set[str]) -> TreeNode:
    """Return a node above ``members``, named after the largest of them; a single member stays as it is."""
    children = _largest_first(members)
    if len(children) == 1:
        return children[0]
    heads = list(dict.fromkeys(child.name.split(" & ")[0] for child in children))
    names = [" & ".join(heads[:n]) for n in range(2, len(heads) + 1)] or heads
    numbered = (f"{names[0]} ({n})" for n in count(2))
    name = next(name for name in chain(names[:2], numbered) if name not in taken)
    taken.add(name)
    return TreeNode(name, sum(child.size for child in children), words, None, children)


def _merges(centers: Vectors, words: Vectors | None) -> NDArray[np.float64]:
    """Return scipy's linkage matrix of the clusters."""
    similarity = _cosines(centers - centers.mean(axis=0))
    if words is not None:
        similarity = (1 - _WORD_WEIGHT) * similarity + _WORD_WEIGHT * _cosines(words)
    distance = 1 - similarity[np.triu_indices(len(centers), 1)]
    return np.asarray(linkage(np.maximum(distance, 0), "average"))


def _cosines(x: Vectors) -> NDArray[np.float64]:
    e = unit_rows(np.nan_to_num(x)).astype(np.float64)
    return np.asarray(e @ e.T)


def _word_vectors(words: Sequence[Words]) -> Vectors:
    """Return a TF-IDF vector of each cluster; a word that all clusters have weighs nothing."""
    n_clusters = Counter(word for of_cluster in words for word in of_cluster)
    shared = {word: i for i, word in enumerate(word for word, n in n_clusters.items() if n > 1)}
    vectors = np.zeros((len(words), len(shared)), dtype=np.float32)
    for position, of_cluster in enumerate(words):
        for word, n in of_cluster.items():
            if word in shared:
                vectors[position, shared[word]] = np.log1p(n) * np.log(len(words) / n_clusters[word])
    return vectors


def _largest_first(nodes: Sequence[TreeNode]) -> tuple[TreeNode, ...]:
    return tuple(sorted(nodes, key=lambda node: -node.size))


def _name(node: TreeNode, names: Mapping[int, str]) -> str:
    return node.name if node.cluster is None else names.get(node.cluster, node.name)


def _renamed(node: TreeNode, names: Mapping[int, str], taken: set[str]) -> TreeNode:
    """Return a cluster with its name in ``names``, or a group that is named after its renamed members."""
    if node.cluster is not None:
        return replace(node, name=_name(node, names))  # parts of a cluster keep their names
    if not node.children:
        return node
    return _group([_renamed(child, names, taken) for child in node.children], node.keywords, taken)


def _with_parts(node: TreeNode, parts: Mapping[int, Sequence[TreeNode]]) -> TreeNode:
    if node.cluster is not None and node.cluster in parts:
        return replace(node, children=_largest_first(parts[node.cluster]))
    return replace(node, children=tuple(_with_parts(child, parts) for child in node.children))


def _title(node: TreeNode) -> str:
    number = "" if node.cluster is None else f"{node.cluster} "
    return f"{number}{printable(node.name, max_length=80)} ({node.size:,})"


def _lines(node: TreeNode) -> Iterator[str]:
    yield _title(node)
    for i, child in enumerate(node.children):
        is_last = i == len(node.children) - 1
        first, *others = _lines(child)
        yield f"{'└─' if is_last else '├─'} {first}"
        yield from (f"{'  ' if is_last else '│ '} {line}" for line in others)


def _html(node: TreeNode) -> str:
    title = f"{escape(_title(node))} <small>{escape(', '.join(node.keywords))}</small>"
    if not node.children:
        return f"<li>{title}</li>"
    inner = "".join(map(_html, node.children))
    return f"<li><details open><summary>{title}</summary><ul>{inner}</ul></details></li>"
