"""The topics of a model's clusters, for methods that have them."""

from __future__ import annotations

from coterie.clusterer import Clusterer
from coterie.heads.topics import Topic
from coterie.topical import TopicalClusterer


def topics_of(model: Clusterer, *, n_words: int = 10) -> list[list[Topic]]:
    """Return the topics of each cluster; empty for a method, or texts, without any."""
    return model.topics(n_words) if isinstance(model, TopicalClusterer) else []


def top_words(model: Clusterer, *, n_words: int = 10) -> list[list[str]]:
    """Return the words of every topic of every cluster, as metrics take them."""
    return [topic.words for topics in topics_of(model, n_words=n_words) for topic in topics]
