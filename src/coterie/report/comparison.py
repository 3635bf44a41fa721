"""Two clusterings of the same items: which clusters correspond, what moved, and how well they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.clustering.matching import contingency, match
from coterie.contracts import Labels
from coterie.errors import InputError
from coterie.evaluation.metrics import agreement

_N_EXAMPLES = 3


@dataclass(frozen=True)
class Clustering:
    """One of the two: a name for people, the cluster of each item, and the names of its clusters."""

    title: str
    labels: Labels  # (N,), -1 for items without a cluster
    names: Mapping[int, str]

    def name(self, cluster: int) -> str:
        """Return the name of a cluster."""
        return self.names.get(cluster) or f"Cluster {cluster}"


@dataclass(frozen=True)
class Flow:
    """Items that are in cluster ``source`` of the first and in cluster ``target`` of the second."""

    source: int
    target: int
    size: int
    examples: Sequence[str] = ()


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found. Only items that have a cluster in both count."""

    first: Clustering
    second: Clustering
    n: int
    pairs: Mapping[int, int]  # clusters of the first and the clusters of the second that correspond to them
    flows: Sequence[Flow]  # largest first
    scores: Mapping[str, float]  # nmi, ari, ami

    @property
    def moved(self) -> list[Flow]:
        """The flows between clusters that do not correspond."""
        return [flow for flow in self.flows if self.pairs.get(flow.source) != flow.target]

    @property
    def share_moved(self) -> float:
        """Share of items whose two clusters do not correspond."""
        return sum(flow.size for flow in self.moved) / max(self.n, 1)

    def sizes(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return the sizes of the clusters of the first and of the second, the largest first."""
        sources: dict[int, int] = {}
        targets: dict[int, int] = {}
        for flow in self.flows:
            sources[flow.source] = sources.get(flow.source, 0) + flow.size
            targets[flow.target] = targets.get(flow.target, 0) + flow.size
        return _by_size(sources), _by_size(targets)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "first": self.first.title,
            "second": self.second.title,
            "n": self.n,
            "share_moved": self.share_moved,
            **self.scores,
            "pairs": [{"first": a, "second": b} for a, b in self.pairs.items()],
            "flows": [
                {"first": flow.source, "second": flow.target, "size": flow.size, "examples": list(flow.examples)}
                for flow in self.flows
            ],
        }


def compare(first: Clustering, second: Clustering, texts: Sequence[Any] = ()) -> Comparison:
    """Compare two clusterings of the same items; ``texts`` (N) are shown as examples of what moved."""
    if len(first.labels) != len(second.labels):
        raise InputError(
            f"{first.title} has {len(first.labels):,} rows and {second.title} has {len(second.labels):,}. "
            "Compare clusterings of the same items."
        )
    both = np.flatnonzero((first.labels >= 0) & (second.labels >= 0))
    if not len(both):
        raise InputError(f"No item has a cluster in both {first.title} and {second.title}.")
    a, b = first.labels[both], second.labels[both]
    table = contingency(a, b)
    rows, columns = match(table)
    pairs = {int(i): int(j) for i, j in zip(rows, columns, strict=True) if table[i, j]}
    flows = [_flow(i, j, both[(a == i) & (b == j)], texts, is_pair=pairs.get(i) == j) for i, j in _used(table)]
    scores = agreement(a, b)
    return Comparison(
        first, second, len(both), pairs,
        flows=sorted(flows, key=lambda flow: -flow.size),
        scores={name: scores[name] for name in ("ari", "nmi", "ami")},
    )  # fmt: skip


def _used(table: NDArray[Any]) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in zip(*table.nonzero(), strict=True)]


def _flow(source: int, target: int, rows: NDArray[np.int64], texts: Sequence[Any], *, is_pair: bool) -> Flow:
    shown = [] if is_pair or not len(texts) else [str(texts[row]) for row in rows[:_N_EXAMPLES].tolist()]
    return Flow(source, target, len(rows), shown)


def _by_size(sizes: dict[int, int]) -> dict[int, int]:
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))
