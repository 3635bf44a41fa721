"""The interface of masked language models for augmenters: candidate words for the mask token of each text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.augmenters.word_tokens import is_word


class Candidates(NamedTuple):
    """The k candidates for the mask token of each of N texts, in the order of their ids."""

    word_ids: NDArray[np.int64]  # (N, k) positions in the model's vocabulary
    probabilities: NDArray[np.float64]  # (N, k); 0 where there is no candidate


class MaskFiller(Protocol):
    """A masked language model that predicts whole words."""

    mask_token: str
    vocabulary: list[str]

    def fill(self, texts: Sequence[str], original_words: Sequence[str], top_k: int) -> Candidates:
        """Return candidates for the one mask token of each text, without the original word that it replaces."""
        ...


class CandidateSelector:
    """Selects the most probable words of a vocabulary that may replace a word."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.usable = torch.tensor([len(word) > 1 and is_word(word) for word in vocabulary])  # (V,)
        self.ids_by_lowercase: dict[str, list[int]] = defaultdict(list)
        for word_id, word in enumerate(vocabulary):
            self.ids_by_lowercase[word.lower()].append(word_id)

    def select(self, logits: Tensor, original_words: Sequence[str], top_k: int) -> tuple[Tensor, Tensor]:
        """Return the ids (B, k) of the best usable words by logits (B, V), and their probabilities (B, k).

        The original word is excluded, in lower and upper case. The probabilities of the k words sum to one; they are
        zero if there is no usable word.
        """
        logits = logits.double().masked_fill(~self.usable.to(logits.device), -torch.inf)
        for row, word in enumerate(original_words):
            logits[row, self.ids_by_lowercase.get(word.lower(), [])] = -torch.inf
        best, word_ids = logits.topk(min(top_k, logits.shape[1]), dim=1)
        probabilities = torch.nan_to_num(best.softmax(dim=1))  # a row without a usable word has only -inf
        word_ids, order = word_ids.sort(dim=1)
        return word_ids, probabilities.gather(1, order)
