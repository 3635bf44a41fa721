"""What is known of texts before anything is trained: the encoder's vectors, and the words where they agree."""

from __future__ import annotations

import numpy as np

from coterie.contracts import Items, Labels, Vectors
from coterie.graph.information import known_by
from coterie.graph.nearest import Links, nearest
from coterie.graph.sample import is_large, stand_ins
from coterie.graph.smoothing import unit_rows
from coterie.graph.words import fuse, word_vectors

WORD_WEIGHT = 0.3  # share of the words in the evidence
WORD_AGREEMENT = 0.45  # of what vectors know about groups, what words must know to be believed
_LINKS = 10  # nearest by which that is judged


def words_of(items: Items, n_clusters: int, *, seed: int | None) -> Vectors | None:
    """Return word vectors (N, 100 to 300); None when the items are no texts or share no words."""
    if not isinstance(items, list):
        return None
    return word_vectors(items, width=int(np.clip(2 * n_clusters, 100, 300)), seed=seed)


def words_agree(e: Vectors, words: Vectors, links: Links, labels: Labels, n_clusters: int, *, least: float) -> bool:
    """Whether the nearest by words know enough of the groups ``labels`` that vectors make.

    ``links`` are the nearest by the vectors ``e``; of very many texts both are looked up in a sample.
    """
    if is_large(len(e)):
        rows = stand_ins(len(e))
        links, words, labels = nearest(e[rows], _LINKS), words[rows], labels[rows]
    by_words = known_by(nearest(words, _LINKS), labels, n_clusters)
    return by_words >= least * known_by(links.first(_LINKS), labels, n_clusters)


def neighbourhood(h: Vectors, items: Items, labels: Labels, n_clusters: int, *, k: int, seed: int | None) -> Links:
    """Return the ``k`` nearest texts of each, by vectors and, where they agree, by words too."""
    e = unit_rows(h)
    links = nearest(e, max(k, _LINKS))
    words = words_of(items, n_clusters, seed=seed)
    if words is None or not words_agree(e, words, links, labels, n_clusters, least=WORD_AGREEMENT):
        return links.first(k)
    return nearest(fuse(e, words, WORD_WEIGHT), k)
