"""The part of every model that knows the clusters of the training items, and describes them in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Labels, Objective, Vectors
from coterie.data.rows import Rows
from coterie.data.sample import Sample
from coterie.data.texts import Texts
from coterie.describe.cluster_table import ClusterTable, cluster_table
from coterie.describe.merged_rows import join_topics
from coterie.describe.quality import Quality
from coterie.describe.tree import ClusterTree, TreeNode, cluster_tree
from coterie.encoders.encoder import Encoder
from coterie.errors import InputError
from coterie.fitting import Assignment, most_probable
from coterie.naming.naming import LanguageModel, Naming, ask_names, language_model
from coterie.naming.prompt import NamingPlan, naming_plan, typical_texts
from coterie.naming.titles import Nearest, nearest_by_vectors, nearest_by_words
from coterie.parts import cluster_parts


class Described:
    """Describes the clusters of a fitted model. A base class of every method."""

    n_clusters_: int
    labels_: Labels
    confidence_: NDArray[np.float64]
    second_labels_: Labels
    margin_: NDArray[np.float64]
    clusters_: ClusterTable
    encoder_: Encoder

    sample_: Sample
    naming_: Naming

    @property
    def cluster_centers_(self) -> Vectors:
        """Centers (K, D)."""
        raise NotImplementedError

    def fitted_objective(self) -> Objective:
        """Return the fitted objective, or raise an error."""
        raise NotImplementedError

    def _embed(self, X: Any, column: str | None) -> tuple[Rows[Any], Vectors]:  # noqa: N803
        raise NotImplementedError

    @property
    def assignment_(self) -> Assignment:
        """The assignment of the training items; older models know no second cluster."""
        self.fitted_objective()
        second = getattr(self, "second_labels_", np.full(len(self.labels_), -1))
        margin = getattr(self, "margin_", np.full(len(self.labels_), np.nan))
        return Assignment(self.labels_, self.confidence_, second, margin)

    def _store_assignment(self, found: Assignment) -> None:
        self.labels_, self.confidence_ = found.labels, found.confidence
        self.second_labels_, self.margin_ = found.second, found.margin

    def describe(self, items: Sequence[Any] | None = None, *, n_examples: int = 2, n_keywords: int = 5) -> ClusterTable:
        """Return name, size, confidence, keywords and typical texts of every cluster, the largest first.

        Without ``items`` this is the table that ``fit`` made. ``items`` are the training items as people read them,
        row by row: the texts behind precomputed vectors, or the file names of images.
        """
        self.fitted_objective()
        if items is None:
            return self.clusters_
        table = cluster_table(
            self._row_texts(items), self.labels_, self.confidence_, self.n_clusters_,
            n_examples=n_examples, n_keywords=n_keywords, topics=self._merged_topics(),
            with_keywords=self.encoder_.input_type != "images", quality=self.clusters_.quality(self.n_clusters_),
        )  # fmt: skip
        return self._as_edited(table)

    def describe_by(self, items: Sequence[Any]) -> ClusterTable:
        """Describe the clusters by the training items as people read them, and keep the table and the tree of names."""
        self.clusters_ = table = self.describe(items)
        if self.encoder_.input_type != "images":
            self.tree_ = cluster_tree(self.cluster_centers_, table, self._row_texts(items), self.labels_)
        return table

    def _row_texts(self, items: Sequence[Any]) -> list[str]:
        """Return the training items as texts."""
        self._check_number(len(items))
        return ["" if item is None else str(item) for item in items]

    def _check_number(self, n_rows: int) -> None:
        """Refuse items that cannot be the training items."""
        if n_rows != len(self.labels_):
            raise InputError(
                f"The model was fitted to {len(self.labels_):,} items, and here are {n_rows:,}. Give the same ones, in "
                "their order."
            )

    def naming_plan(self, items: Sequence[Any] | None = None, *, n_texts: int = 8) -> NamingPlan:
        """Return what :meth:`name_clusters` would send: the keywords and some texts of every cluster.

        The texts are training texts, of a loaded model its examples. ``items`` are as in :meth:`describe`.
        """
        self.fitted_objective()
        return naming_plan(self.clusters_, self._typical_texts(items, n_texts))

    def name_clusters(
        self,
        source: str | LanguageModel,
        model: str | None = None,
        *,
        items: Sequence[Any] | None = None,
        n_texts: int = 8,
    ) -> Naming:
        """Name the clusters by a language model, and return what it named; keywords name the others.

        ``source`` is an OpenAI-compatible address (``http://localhost:8080/v1``), which serves ``model``, or
        ``"local"``: a small model on this machine (extra ``names``). Up to ``n_texts`` texts of every cluster are
        sent there: :meth:`naming_plan` shows them. A title becomes a name if its embedding is closer to its cluster
        than to any other. Answers are kept in the user's cache.
        """
        plan = self.naming_plan(items, n_texts=n_texts)
        if not plan.questions:
            raise InputError("Only clusters of texts can be named by a language model, and there are no texts.")
        chosen = language_model(source, model) if isinstance(source, str) else source
        named = ask_names(plan, self.clusters_, chosen, self._nearest_cluster())
        tree = self.tree()
        self.clusters_ = self.clusters_.renamed(named.names)
        self.tree_ = tree.renamed(named.names)
        self.naming_ = named
        return named

    def _typical_texts(self, items: Sequence[Any] | None, n_texts: int) -> dict[int, list[str]]:
        """Return some texts of each cluster: of ``items``, of the sample, or the examples of the table."""
        if self.encoder_.input_type == "images":
            return {}
        if items is not None:
            return typical_texts(self._row_texts(items), self.labels_, self.confidence_, n_texts)
        if hasattr(self, "sample_") and self.sample_.texts is not None:
            rows = self.sample_.rows
            return typical_texts(self.sample_.texts, self.labels_[rows], self.confidence_[rows], n_texts)
        return {row.cluster: row.examples[:n_texts] for row in self.clusters_}

    def _nearest_cluster(self) -> Nearest:
        """Return the check of titles: by their embeddings, or by words if the vectors are of another program."""
        if self.encoder_.input_type != "texts":
            return nearest_by_words({row.cluster: row.keywords for row in self.clusters_})
        network = self.fitted_objective().network
        return nearest_by_vectors(network.embed, self.cluster_centers_)

    def tree(
        self,
        X: Any = None,  # noqa: N803
        *,
        split: int | Sequence[int] = (),
        n_parts: int | None = None,
    ) -> ClusterTree:
        """Return the clusters as a tree: groups of similar clusters, with names at every level.

        The clusters in ``split`` are divided further, into ``n_parts`` parts each, or as many as separate best. The
        parts are those of the training items, or of other items ``X``, which a loaded model needs.
        """
        self.fitted_objective()
        tree: ClusterTree = getattr(self, "tree_", None) or cluster_tree(self.cluster_centers_, self.clusters_)
        chosen = [int(split)] if isinstance(split, int | np.integer) else list(split)
        if not chosen:
            return tree
        h, texts, labels = self._items_to_split(X)
        return tree.with_parts({k: self._divided(k, h, texts, labels, n_parts) for k in chosen})

    def _items_to_split(self, X: Any) -> tuple[Vectors, Sequence[str], Labels]:  # noqa: N803
        """Return embeddings, texts and clusters of ``X``, or of a sample of the training items."""
        if X is not None:
            rows, h = self._embed(X, None)
            texts = rows.unique if isinstance(rows, Texts) else []
            return h, texts, most_probable(self.fitted_objective(), h, rows.unique).labels
        if not hasattr(self, "sample_"):
            raise InputError(
                "A loaded model has no texts. Give those whose clusters are divided: tree(texts, split=...)"
            )
        return self.sample_.h, self.sample_.texts or [], self.labels_[self.sample_.rows]

    def _divided(
        self, cluster: int, h: Vectors, texts: Sequence[str], labels: Labels, n_parts: int | None
    ) -> list[TreeNode]:
        if not 0 <= cluster < self.n_clusters_:
            raise InputError(f"There is no cluster {cluster}: they are numbered from 0 to {self.n_clusters_ - 1}.")
        rows = np.flatnonzero(labels == cluster)
        return cluster_parts(h[rows], [texts[row] for row in rows.tolist()] if len(texts) else [], n_parts, cluster)

    def _describe_rows(self, rows: Rows[Any], quality: Sequence[Quality | None]) -> ClusterTable:
        """Return the table of the training items, and store their tree, at the end of ``fit``."""
        texts: Sequence[str] = []
        if isinstance(rows, Texts):
            texts = [rows.unique[i] if i >= 0 else "" for i in rows.inverse.tolist()]
        table = cluster_table(
            texts, self.labels_, self.confidence_, self.n_clusters_,
            topics=self._merged_topics(), with_keywords=bool(texts), quality=quality,
        )  # fmt: skip
        table = self._as_edited(table)
        self.tree_ = cluster_tree(self.cluster_centers_, table, texts, self.labels_)
        return table

    def _as_edited(self, table: ClusterTable) -> ClusterTable:
        """Return a new table with the user's edits: without merged clusters, and with the names that were given."""
        return table.without(self.fitted_objective().merges.removed).renamed(self.clusters_.given_names)

    def _merged_topics(self) -> Sequence[Any]:
        """Return the topics of each cluster, where a merged cluster has those of its members."""
        topics, merges = self._topics_of_clusters(), self.fitted_objective().merges
        if not topics or not merges.target:
            return topics
        members = [merges.members(k) for k in range(len(topics))]
        return [join_topics((merges.sizes[k], topics[k]) for k in of_cluster) for of_cluster in members]

    def _topics_of_clusters(self) -> Sequence[Any]:
        """Return the topics of each cluster; empty for methods without topics."""
        return ()
