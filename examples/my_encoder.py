"""MyEncoder: counts of character n-grams, which need neither training nor a vocabulary."""

from __future__ import annotations

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from coterie.contracts import Items, Vectors
from coterie.encoders.encoder import Encoder
from coterie.hyper import hyper


class MyEncoder(Encoder, name="my_encoder"):
    """Hashed counts of character n-grams; rows have length one."""

    main_setting = "n_features"

    n_features: int = hyper(256, "width of the embeddings; also my_encoder:WIDTH", symbol="D", ge=1)
    length: int = hyper(3, "characters of an n-gram", symbol="n", ge=1)

    @property
    def dim(self) -> int:
        """The width of the embeddings."""
        return self.n_features

    def embed(self, items: Items) -> Vectors:
        """Return hashed n-gram counts (N, D)."""
        ngrams = (self.length, self.length)
        vectorizer = HashingVectorizer(analyzer="char_wb", ngram_range=ngrams, n_features=self.n_features)
        return np.asarray(vectorizer.transform(items).toarray(), dtype=np.float32)
