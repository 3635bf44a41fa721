"""The settings of the mixture: the defaults of `neighbors`, which the guard and the calibration use for all methods."""

from __future__ import annotations

from scipy.sparse import csr_matrix

from coterie.contracts import Items
from coterie.words.vocabulary import Vocabulary

N_NEIGHBORS = 15
SIMILARITY_POWER = 3.0  # exponent of the cosine in the weight of a neighbor
SMOOTHING_ROUNDS = 3
EVENNESS_PENALTY = 0.7  # in the choice of a start, times log(K/3)
MIN_CLUSTER_SIZE = 0.05  # of a linkage cluster, relative to the mean size
MIN_DF, MAX_DF, MAX_WORDS = 3, 0.2, 4.0


def words_of(items: Items) -> csr_matrix | None:
    """Return the words (N, V) of texts; None if the items are no texts, or share no words."""
    if not isinstance(items, list):
        return None
    vocabulary = Vocabulary.from_texts(items, min_df=MIN_DF, max_df=MAX_DF)
    return vocabulary.incidence(items, max_sum=MAX_WORDS) if vocabulary.words else None
