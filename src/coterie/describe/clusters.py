"""The cluster table: size, share, keywords and typical texts of every cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Labels
from coterie.describe.keywords import keywords
from coterie.heads.topics import Topic


@dataclass(frozen=True)
class ClusterRow:
    """One row of the table."""

    cluster: int
    size: int
    share: float
    confidence: float
    keywords: list[str]
    examples: list[str]
    topics: list[Topic] = field(default_factory=list)  # of methods that have them

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; topics only where there are some."""
        values = asdict(self)
        return values if self.topics else {name: value for name, value in values.items() if name != "topics"}


def describe(  # noqa: PLR0913
    texts: Sequence[str],
    labels: Labels,
    confidence: NDArray[np.float64],
    n_clusters: int,
    *,
    n_examples: int = 2,
    topics: Sequence[list[Topic]] = (),
    with_words: bool = True,
) -> list[ClusterRow]:
    """Return the table, largest cluster first. ``labels`` may hold -1 for blank texts.

    Without words, ``texts`` are names, of images say: a cluster has no keywords, and typical ones are named.
    """
    told = np.flatnonzero(labels >= 0)
    words: list[list[str]] = [[] for _ in range(n_clusters)]
    if with_words:
        words = keywords([texts[i] for i in told.tolist()], labels[told], n_clusters)
    rows = []
    for cluster in range(n_clusters):
        members = told[labels[told] == cluster]
        surest = members[np.argsort(-confidence[members], kind="stable")]
        rows.append(
            ClusterRow(
                cluster=cluster,
                size=len(members),
                share=len(members) / max(len(told), 1),
                confidence=float(confidence[members].mean()) if len(members) else 0.0,
                keywords=words[cluster],
                examples=list(dict.fromkeys(texts[i] for i in surest.tolist()))[:n_examples],
                topics=topics[cluster] if topics else [],
            )
        )
    return sorted(rows, key=lambda row: -row.size)
