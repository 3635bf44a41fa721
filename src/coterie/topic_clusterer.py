"""The base class of methods whose clusters have topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Corpus, Objective
from coterie.deep import DeepClusterer
from coterie.errors import InputError
from coterie.fitting import Fit
from coterie.heads.topic_model import Topic, TopicModel
from coterie.words.vocabulary import Vocabulary


class TopicClusterer(DeepClusterer):
    """Clusters short texts and describes each cluster, and each text, by topics.

    Its objective has a :class:`TopicModel` called ``topics``. A saved model stores the vocabulary and the topics.
    """

    def topics(self, n_words: int = 10) -> list[list[Topic]]:
        """Return the topics of each cluster; empty when the texts share no words."""
        return self._topic_model.topics(self.objective_.centers, n_words)

    def proportions(self, X: Any, *, column: str | None = None) -> NDArray[np.float64]:  # noqa: N803
        """Return the topic proportions of each text (N, T); rows sum to one.

        They are uniform for a text without any known word, and NaN for a blank text.
        """
        topic_model = self._topic_model  # raises NotFittedError
        rows = self._check(X, column, self.encoder_, reset=False)
        return topic_model.proportions(rows)

    def _train(self, objective: Objective, corpus: Corpus, fit: Fit) -> Corpus:
        if fit.encoder.input_type == "images":
            raise InputError(
                f"{type(self).__name__} describes clusters by words, and images have none. Use another method, e.g. "
                "sccl."
            )
        return super()._train(objective, corpus, fit)

    @property
    def _topic_model(self) -> TopicModel:
        topics = self.fitted_objective().get_submodule("topics")
        assert isinstance(topics, TopicModel)
        return topics

    def _topics_of_clusters(self) -> Sequence[Any]:
        return self.topics()

    def saved_notes(self) -> dict[str, Any]:
        """Return the notes of a training, the topics and the vocabulary."""
        topics = [[asdict(topic) for topic in of_cluster] for of_cluster in self.topics()]
        return super().saved_notes() | {"topics": topics, "words": self._topic_model.vocabulary.words}

    def restore_notes(self, notes: dict[str, Any]) -> None:
        """Load the notes of a training and the vocabulary."""
        super().restore_notes(notes)
        self._topic_model.vocabulary = Vocabulary(notes["words"])
