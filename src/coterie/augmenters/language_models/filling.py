"""What a masked language model is to an augmenter: likely words for one gap in each text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coterie.augmenters.words import is_spelt


class Likely(NamedTuple):
    """For each gap k candidates in the order of their numbers: which words, and how probable; 0 where there is none."""

    words: NDArray[np.int64]  # (N, k)
    p: NDArray[np.float64]  # (N, k)


class Filler(Protocol):
    """Fills gaps. ``gap`` is the text that stands for one."""

    gap: str
    vocabulary: list[str]

    def fill(self, texts: Sequence[str], instead_of: Sequence[str], top_k: int) -> Likely:
        """Return likely words for the one gap of each text, other than the word that stood there."""
        ...


class Choices:
    """The words that may fill a gap, and where each is spelt alike but for its capitals."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.usable = torch.tensor([len(word) > 1 and is_spelt(word) for word in vocabulary])  # (V,)
        self.alike: dict[str, list[int]] = defaultdict(list)
        for number, word in enumerate(vocabulary):
            self.alike[word.lower()].append(number)

    def best(self, logits: Tensor, instead_of: Sequence[str], top_k: int) -> tuple[Tensor, Tensor]:
        """Return the ``top_k`` best usable words (B, k) of logits (B, V) and their probabilities among themselves."""
        logits = logits.double().masked_fill(~self.usable.to(logits.device), -torch.inf)
        for row, word in enumerate(instead_of):
            logits[row, self.alike.get(word.lower(), [])] = -torch.inf
        best, numbers = logits.topk(min(top_k, logits.shape[1]), dim=1)
        p = torch.nan_to_num(best.softmax(dim=1))  # a row without a usable word has none
        numbers, order = numbers.sort(dim=1)
        return numbers, p.gather(1, order)
