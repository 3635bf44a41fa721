"""What every method shares whose clusters have topics."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Objective, Vectors
from coterie.data.images import Images
from coterie.data.rows import Rows
from coterie.data.vocabulary import Vocabulary
from coterie.deep import DeepClusterer
from coterie.encoders.encoder import Encoder
from coterie.errors import InputError
from coterie.heads.topics import Topic, TopicModel


class TopicalClusterer(DeepClusterer):
    """Groups short texts, and says in topics what each group, and each text, is about.

    Its objective has a :class:`TopicModel` called ``topics``. A saved model keeps the words and the topics.
    """

    def topics(self, n_words: int = 10) -> list[list[Topic]]:
        """Return the topics of each cluster, topic t being of one kind in all; none where there were no words."""
        return self._topics.top(self.objective_.centers, n_words)

    def proportions(self, X: Any, *, column: str | None = None) -> NDArray[np.float64]:  # noqa: N803
        """Return how much each text has of each topic of its cluster (N, T), rows summing to one.

        A text without any known word has the same of each; a blank text is NaN.
        """
        return self._topics.spread(self._check(X, column, self.encoder_, reset=False))

    def _learn(self, encoder: Encoder, items: Rows[Any] | Vectors, **options: Any) -> tuple[Objective, Vectors]:
        if isinstance(items, Images):
            raise InputError(f"{type(self).__name__} explains clusters by words, and images have none. Use e.g. sccl.")
        return super()._learn(encoder, items, **options)

    @property
    def _topics(self) -> TopicModel:
        topics = self._fitted().get_submodule("topics")
        assert isinstance(topics, TopicModel)
        return topics

    def _notes(self) -> dict[str, Any]:
        topics = [[asdict(topic) for topic in of_cluster] for of_cluster in self.topics()]
        return super()._notes() | {"topics": topics, "words": self._topics.vocabulary.words}

    def _recall(self, notes: dict[str, Any]) -> None:
        super()._recall(notes)
        self._topics.vocabulary = Vocabulary(notes["words"])
