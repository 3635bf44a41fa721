"""Load models of the transformers library from a hub or a folder, and batch texts for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from coterie.encoders.engine.loading import loading_options, reading_weights, without_progress_bars
from coterie.encoders.engine.tokens import Tokens
from coterie.errors import InputError

BATCH_SIZE = 32


def load_tokenizer_and_model(source: str, tokenizer_class: Any, model_class: Any, advice: str) -> tuple[Any, Any]:
    """Return tokenizer and model of a hub id or folder, or raise :class:`InputError` that ends with ``advice``."""
    try:
        with without_progress_bars(), reading_weights():
            tokenizer = tokenizer_class.from_pretrained(source, **loading_options(source))
            model = model_class.from_pretrained(source, dtype=torch.float32, **loading_options(source))
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"Cannot load the model {source!r}: {reason} {advice}") from error
    return tokenizer, model


def equal_length_batches(tokens: Tokens) -> Iterator[Tensor]:
    """Yield the rows (B,) of texts with equally many tokens, so that no padding is needed."""
    for length in sorted(set(tokens.lengths.tolist())):
        yield from torch.split((tokens.lengths == length).nonzero()[:, 0], BATCH_SIZE)
