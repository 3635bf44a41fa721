"""The part of every model that a user may edit after the fit: clusters are merged and renamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np

from coterie.data.rows import Rows
from coterie.describe.merged_rows import merge_rows
from coterie.describe.tree import cluster_tree
from coterie.description import Described
from coterie.errors import InputError
from coterie.fitting import Assignment

_MAX_NAME = 80  # characters


class Editable(Described):
    """Clusters of a fitted model that can be merged and renamed. A base class of every method."""

    n_texts_: int

    def _assign_and_describe(self, rows: Rows[Any], h: Any) -> None:
        raise NotImplementedError

    def merge(self, clusters: Sequence[int] | Sequence[Sequence[int]], items: Any = None) -> Self:
        """Make one cluster of several: ``merge([3, 7])``, or ``merge([[3, 7], [1, 4]])``. Returns the model.

        The merged cluster has the smallest of the numbers. All other clusters keep theirs, and no item moves between
        them. New items follow: the merged cluster is as probable as its members together, and the columns of the others
        in ``predict_proba`` are 0.

        ``items`` are the training items, in their order. With them, all that is known about the merged cluster is
        computed anew. Without them, keywords and examples are taken from its members, its quality is not known,
        ``confidence_`` is a lower bound and ``margin_`` an estimate.
        """
        groups = self._groups(clusters)
        found = None if items is None else self._training_items(items)
        objective = self.fitted_objective()
        sizes = np.bincount(self.labels_[self.labels_ >= 0], minlength=self.n_clusters_)
        for group in groups:
            objective.merges = objective.merges.merge(group, sizes.tolist())
        if found is None:
            self._merge_assignment()
        else:
            self._assign_and_describe(*found)
        return self

    def rename(self, names: Mapping[int, str]) -> Self:
        """Give clusters names of your own: ``rename({2: "Billing"})``. Returns the model.

        They stay when the model is saved, described again, or merged further.
        """
        self.fitted_objective()
        cleaned = {self._existing(cluster): _checked_name(cluster, name) for cluster, name in names.items()}
        after = self.clusters_.names | cleaned
        folded = [name.casefold() for name in after.values()]
        for cluster, name in cleaned.items():
            if folded.count(name.casefold()) > 1:
                other = next(k for k in after if k != cluster and after[k].casefold() == name.casefold())
                raise InputError(f"Clusters {cluster} and {other} would both be named {name!r}; names are unique.")
        tree = self.tree()
        self.clusters_ = self.clusters_.renamed(cleaned)
        self.tree_ = tree.renamed(cleaned)
        return self

    def _groups(self, clusters: Sequence[int] | Sequence[Sequence[int]]) -> list[list[int]]:
        """Return the groups of clusters to merge, after a check that they exist and do not overlap."""
        self.fitted_objective()
        nested: Any = [clusters] if any(isinstance(value, Integral) for value in clusters) else clusters
        groups = [[self._existing(cluster) for cluster in group] for group in nested]
        if not groups or any(len(set(group)) < 2 for group in groups):
            raise InputError("Name at least two different clusters to merge, e.g. merge([3, 7]).")
        numbers = [cluster for group in groups for cluster in set(group)]
        if twice := [cluster for cluster in numbers if numbers.count(cluster) > 1]:
            raise InputError(f"Cluster {twice[0]} is in two groups. Put all that belongs together into one group.")
        return groups

    def _existing(self, cluster: int) -> int:
        """Return the number of a cluster that exists."""
        if not isinstance(cluster, Integral) or isinstance(cluster, bool):
            raise InputError(f"A cluster is named by its number, not by {cluster!r}.")
        if not 0 <= cluster < self.n_clusters_:
            raise InputError(f"There is no cluster {cluster}: they are numbered from 0 to {self.n_clusters_ - 1}.")
        merges = self.fitted_objective().merges
        if cluster in merges.removed:
            raise InputError(f"There is no cluster {cluster} any more: it was merged into {merges.target[cluster]}.")
        return int(cluster)

    def _merge_assignment(self) -> None:
        """Let the stored assignment and descriptions follow a merge, as far as they are known without the items."""
        found, merges = self.assignment_, self.fitted_objective().merges
        labels, second = merges.labels(found.labels), merges.labels(found.second)
        of_second = found.confidence - found.margin
        is_joined = (labels >= 0) & (labels == second)
        confidence = np.where(is_joined, found.confidence + of_second, found.confidence)
        # Of a third cluster it is known only that it is no more probable than the second, and than what is left.
        margin = np.where(is_joined, confidence - np.minimum(of_second, 1 - confidence), found.margin)
        self._store_assignment(Assignment(labels, confidence, np.where(is_joined, -1, second), margin))
        self.clusters_ = merge_rows(self.clusters_, merges, self.labels_, self.confidence_)
        self.tree_ = cluster_tree(self.cluster_centers_, self.clusters_)

    def _training_items(self, items: Any) -> tuple[Rows[Any], Any]:
        """Return the training items with the embeddings of the distinct ones, after a check of their number."""
        rows, h = self._embed(items, None)
        self._check_number(rows.n_rows)
        return rows, h


def _checked_name(cluster: int, name: str) -> str:
    """Return a name on one line, or raise :class:`InputError`."""
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"The name of cluster {cluster} must be a text that is not blank, got {name!r}.")
    cleaned = " ".join(name.encode("utf-8", "replace").decode("utf-8").split())  # half a surrogate pair is no text
    if len(cleaned) > _MAX_NAME:
        raise InputError(f"The name of cluster {cluster} has {len(cleaned)} characters, more than {_MAX_NAME}.")
    return cleaned
