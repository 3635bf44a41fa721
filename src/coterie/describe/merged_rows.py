"""The table of clusters after some were merged, where the items are not known: what the rows say is joined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from coterie.describe.cluster_table import ClusterRow, ClusterTable, TopicSummary
from coterie.probabilities import Merges


def merge_rows(
    table: ClusterTable, merges: Merges, labels: NDArray[np.int64], confidence: NDArray[np.float64]
) -> ClusterTable:
    """Return one row for each cluster that is left, the largest first.

    ``labels`` and ``confidence`` (N,) are those of the items after the merge. Keywords and examples are taken from the
    members in turn, the name is that of the largest. Quality is known only where a cluster stayed as it was.
    """
    rows = {row.cluster: row for row in table}
    merged = []
    for cluster in sorted({merges.target[row.cluster] for row in table}):
        members = sorted((rows[k] for k in merges.members(cluster) if k in rows), key=lambda row: -row.size)
        inside = labels == cluster
        row = members[0] if len(members) == 1 else _joined(members)
        nearest = None if row.nearest is None else merges.target[row.nearest]
        mean = float(confidence[inside].mean()) if inside.any() else 0.0
        merged.append(replace(row, cluster=cluster, confidence=mean, nearest=nearest))
    return ClusterTable(sorted(merged, key=lambda row: -row.size))


def join_topics(members: Iterable[tuple[int, Iterable[TopicSummary]]]) -> list[TopicSummary]:
    """Return the topics of a merged cluster, whose members are given by their sizes and topics."""
    members = [(size, list(topics)) for size, topics in members]
    total = max(sum(size for size, _ in members), 1)
    joined = [TopicSummary(topic.weight * size / total, topic.words) for size, topics in members for topic in topics]
    return sorted(joined, key=lambda topic: -topic.weight)


def _joined(members: list[ClusterRow]) -> ClusterRow:
    """Return the row of a merged cluster; ``members`` are sorted, the largest first."""
    named = next((row for row in members if row.has_given_name), members[0])
    return replace(
        members[0],
        name=named.name,
        has_given_name=named.has_given_name,
        size=sum(row.size for row in members),
        share=sum(row.share for row in members),
        keywords=_in_turn([row.keywords for row in members]),
        examples=_in_turn([row.examples for row in members]),
        topics=join_topics((row.size, row.topics) for row in members),
        cohesion=None,
        stability=None,
        nearest=None,
    )


def _in_turn(lists: list[list[str]]) -> list[str]:
    """Return as many distinct values as the longest list has: the first of each list, the second of each, ..."""
    values = [value for group in zip_longest(*lists) for value in group if value is not None]
    return list(dict.fromkeys(values))[: max(map(len, lists))]
