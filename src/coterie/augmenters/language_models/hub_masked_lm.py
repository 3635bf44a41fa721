"""Any masked language model that the transformers library can load from a hub id or a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coterie.augmenters.language_models.fill_mask import Candidates, CandidateSelector
from coterie.augmenters.language_models.hub import BATCH_SIZE, equal_length_batches, load_tokenizer_and_model
from coterie.encoders.engine.device import choose_device
from coterie.encoders.engine.tokens import tokenize
from coterie.errors import InputError

MAX_LENGTH = 128  # tokens of a text that are read
_WORD_START_MARKS = ("Ġ", "▁")  # how byte-level BPE and SentencePiece mark the first token of a word
_ADVICE = (
    "Give a folder with a masked language model, or a hub id on a machine that can reach the hub; or use "
    "contextual(model=corpus), which trains one on your texts."
)


class HubMaskedLM:
    """Fills mask tokens with whole words of the model's vocabulary."""

    def __init__(self, source: str, device: str) -> None:
        self.device = choose_device(device)
        self.tokenizer, model = load_masked_lm(source)
        self.model = model.eval().to(self.device)
        self.mask_token: str = self.tokenizer.mask_token
        self.vocabulary = whole_words(self.tokenizer, model.config.vocab_size)
        self.selector = CandidateSelector(self.vocabulary)
        limit = getattr(model.config, "max_position_embeddings", MAX_LENGTH + 2) - 2  # RoBERTa's positions begin at 2
        self.max_length = min(MAX_LENGTH, limit, self.tokenizer.model_max_length)

    @torch.inference_mode()
    def fill(self, texts: Sequence[str], original_words: Sequence[str], top_k: int) -> Candidates:
        """Return candidates for the mask token of each text."""
        tokens = tokenize(self.tokenizer, texts, self.max_length)
        k = min(top_k, len(self.vocabulary))
        word_ids = np.zeros((len(texts), k), dtype=np.int64)
        probabilities = np.zeros((len(texts), k))
        for rows in equal_length_batches(tokens):
            ids = tokens[rows].values.view(len(rows), -1)
            is_mask = ids == self.tokenizer.mask_token_id  # (B, T)
            has_mask = is_mask.any(dim=1)  # (B,); False where truncation removed the mask token
            if not has_mask.any():
                continue
            masked_rows = rows[has_mask]
            logits = self._logits(ids)[has_mask, is_mask[has_mask].int().argmax(dim=1)]
            best_ids, best_probabilities = self.selector.select(
                logits, [original_words[row] for row in masked_rows], top_k
            )
            word_ids[masked_rows] = best_ids.cpu().numpy()
            probabilities[masked_rows] = best_probabilities.cpu().numpy()
        return Candidates(word_ids, probabilities)

    def _logits(self, ids: Tensor) -> Tensor:
        """Return logits (B, T, V) of token ids (B, T).

        Rows are repeated to a fixed batch size, so that rounding does not depend on the other texts.
        """
        repeated = ids[torch.arange(BATCH_SIZE) % len(ids)].to(self.device)
        logits: Tensor = self.model(input_ids=repeated, attention_mask=torch.ones_like(repeated)).logits
        return logits[: len(ids)]


def whole_words(tokenizer: Any, vocab_size: int) -> list[str]:
    """Return the word of each token id; empty for parts of words and special tokens."""
    tokens: list[str] = tokenizer.convert_ids_to_tokens(list(range(min(vocab_size, len(tokenizer)))))
    special_tokens = set(tokenizer.all_special_tokens)
    marks = tuple(mark for mark in _WORD_START_MARKS if any(token.startswith(mark) for token in tokens))
    words = []
    for token in tokens:
        starts_word = token.startswith(marks) if marks else not token.startswith("##")
        is_whole_word = starts_word and token not in special_tokens
        words.append(tokenizer.convert_tokens_to_string([token]).strip() if is_whole_word else "")
    return words + [""] * (vocab_size - len(words))


def load_masked_lm(source: str) -> tuple[Any, Any]:
    """Return tokenizer and model of a hub id or folder, or raise :class:`InputError`."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, model = load_tokenizer_and_model(source, AutoTokenizer, AutoModelForMaskedLM, _ADVICE)
    if not tokenizer.is_fast or tokenizer.mask_token is None:
        raise InputError(f"The model {source!r} has no fast tokenizer with a mask token. {_ADVICE}")
    return tokenizer, model
