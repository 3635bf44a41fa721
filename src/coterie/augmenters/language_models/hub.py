"""Any masked language model that transformers can load: a hub id or a local folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coterie.augmenters.language_models.filling import Choices, Likely
from coterie.encoders.tokens import Tokens, tokenize
from coterie.encoders.transformer import TransformerEncoder, without_bars
from coterie.errors import InputError

MAX_LENGTH = 128  # tokens of a text that are read
_ROWS = 32  # texts of every batch, so that rounding depends on no other text
_WORD_BEGINS = ("Ġ", "▁")  # how byte-pair and sentence pieces mark the first piece of a word


class HubMaskedLM:
    """Fills gaps with whole words of the model's own vocabulary."""

    def __init__(self, source: str, device: str) -> None:
        self.where = TransformerEncoder(device=device).where
        self.tokenizer, model = load_masked_lm(source)
        self.model = model.eval().to(self.where)
        self.gap: str = self.tokenizer.mask_token
        self.vocabulary = whole_words(self.tokenizer, model.config.vocab_size)
        self.choices = Choices(self.vocabulary)
        limit = getattr(model.config, "max_position_embeddings", MAX_LENGTH + 2) - 2  # RoBERTa's places begin at 2
        self.max_length = min(MAX_LENGTH, limit, self.tokenizer.model_max_length)

    @torch.inference_mode()
    def fill(self, texts: Sequence[str], instead_of: Sequence[str], top_k: int) -> Likely:
        """Return likely words for the gap of each text."""
        tokens = tokenize(self.tokenizer, texts, self.max_length)
        k = min(top_k, len(self.vocabulary))
        words, p = np.zeros((len(texts), k), dtype=np.int64), np.zeros((len(texts), k))
        for rows in equal_lengths(tokens):
            ids = tokens[rows].values.view(len(rows), -1)
            gap = ids == self.tokenizer.mask_token_id  # (B, T)
            there = gap.any(dim=1)
            if not there.any():  # the texts were cut before their gaps
                continue
            whose = rows[there]
            logits = self._logits(ids)[there, gap[there].int().argmax(dim=1)]
            best = self.choices.best(logits, [instead_of[row] for row in whose], top_k)
            words[whose], p[whose] = (part.cpu().numpy() for part in best)
        return Likely(words, p)

    def _logits(self, ids: Tensor) -> Tensor:
        """Return logits (B, T, V) from a batch that always has the same number of rows."""
        filled = ids[torch.arange(_ROWS) % len(ids)].to(self.where)
        logits: Tensor = self.model(input_ids=filled, attention_mask=torch.ones_like(filled)).logits
        return logits[: len(ids)]


def equal_lengths(tokens: Tokens) -> Iterator[Tensor]:
    """Yield rows of texts that have equally many tokens, so that nothing is padded."""
    for length in sorted(set(tokens.lengths.tolist())):
        yield from torch.split((tokens.lengths == length).nonzero()[:, 0], _ROWS)


def whole_words(tokenizer: Any, size: int) -> list[str]:
    """Return the word that each token is; empty for pieces of words and special tokens."""
    pieces: list[str] = tokenizer.convert_ids_to_tokens(list(range(min(size, len(tokenizer)))))
    special = set(tokenizer.all_special_tokens)
    marks = tuple(mark for mark in _WORD_BEGINS if any(piece.startswith(mark) for piece in pieces))
    words = []
    for piece in pieces:
        begins = piece.startswith(marks) if marks else not piece.startswith("##")
        usable = begins and piece not in special
        words.append(tokenizer.convert_tokens_to_string([piece]).strip() if usable else "")
    return words + [""] * (size - len(words))


def load_masked_lm(source: str) -> tuple[Any, Any]:
    """Return tokenizer and model, or raise :class:`InputError` in one sentence."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, model = load_pair(source, AutoTokenizer, AutoModelForMaskedLM, _ADVICE)
    if not tokenizer.is_fast or tokenizer.mask_token is None:
        raise InputError(f"The model {source!r} has no fast tokenizer with a mask token. {_ADVICE}")
    return tokenizer, model


_ADVICE = (
    "Give a folder with a masked language model, or a hub id on a machine that reaches the hub; or use "
    "contextual(model=own), which learns one from your texts."
)


def load_pair(source: str, tokenizers: Any, models: Any, advice: str) -> tuple[Any, Any]:
    """Return tokenizer and model of a folder or hub id, without transformers' own bars."""
    try:
        with without_bars():
            return tokenizers.from_pretrained(source), models.from_pretrained(source, dtype=torch.float32)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"Cannot load the model {source!r}: {reason} {advice}") from error
