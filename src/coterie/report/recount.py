"""The table of a model's clusters for other items: names and keywords stay, sizes and confidence are theirs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coterie.describe.cluster_table import ClusterTable
from coterie.fitting import Assignment


def recount(table: ClusterTable, assignment: Assignment) -> ClusterTable:
    """Return ``table`` with the sizes of ``assignment``, the largest cluster first."""
    labels = assignment.labels
    n_clustered = max(int((labels >= 0).sum()), 1)
    rows = []
    for row in table:
        members = labels == row.cluster
        size = int(members.sum())
        confidence = float(np.mean(assignment.confidence[members])) if size else 0.0
        rows.append(replace(row, size=size, share=size / n_clustered, confidence=confidence))
    return ClusterTable(sorted(rows, key=lambda row: -row.size))
