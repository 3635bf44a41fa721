"""Sentence embeddings from any transformer of the transformers library: a local folder or a hub id."""

from __future__ import annotations

from coterie.encoders.engine.transformer import Pooling, Transformer
from coterie.hyper import hyper


class TransformerEncoder(Transformer, name="transformer"):
    """Any model that transformers' AutoModel can load."""

    main_setting = "model"

    model: str = hyper(
        "sentence-transformers/all-MiniLM-L6-v2", "a local folder or a hub id; also given as transformer:MODEL"
    )
    pooling: Pooling = hyper("auto", "mean of the token states, the first token's (cls), or as the model says (auto)")

    def source(self) -> str:
        """Return the setting ``model``."""
        return self.model

    def outside_sources(self) -> list[str]:
        """Return the same."""
        return [self.model]
