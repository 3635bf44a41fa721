"""The words of a corpus, in any language, and every text as a bag of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Self

import torch
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from torch import Tensor

# What a contraction leaves behind when it is cut at the apostrophe.
_LEFTOVERS = (
    "ain aren couldn didn doesn don hadn hasn haven im isn ive ll mustn needn re shouldn ve wasn weren won wouldn"
)
STOP_WORDS = ENGLISH_STOP_WORDS | frozenset(_LEFTOVERS.split())
"""English words that say nothing of what a text is about."""

# Scripts that put no spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han.
_UNSPACED = (
    (0x0E00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x3FFFF),
)  # fmt: skip


def split_words(text: str) -> list[str]:
    """Return the words of ``text`` in lower case and in order.

    A word has a letter and two characters or more, and may end in # or + (c#, c++). Scripts without spaces are cut
    into pairs of neighbouring characters; an emoji is a word.
    """
    visible = (char for char in text.lower() if _kind(char) != "joiner")
    return [word for kind, run in groupby(visible, _kind) for word in _words("".join(run), kind)]


@lru_cache(maxsize=1 << 16)
def _kind(char: str) -> str:
    category, point = unicodedata.category(char), ord(char)
    if category == "Cf" or 0xFE00 <= point <= 0xFE0F or 0x1F3FB <= point <= 0x1F3FF:
        return "joiner"  # of letters, or of the parts of an emoji; its colour
    if any(first <= point <= last for first, last in _UNSPACED) and category[0] in "LMN":
        return "unspaced"
    if category[0] in "LMN" or char in "_+#":
        return "letters"
    return "emoji" if category == "So" else "gap"


def _words(run: str, kind: str) -> Iterator[str]:
    if kind == "unspaced":
        yield from (run[i : i + 2] for i in range(max(len(run) - 1, 1)))
    elif kind == "emoji":
        yield from run
    elif kind == "letters":
        for part in run.replace("+", "+ ").replace("#", "# ").replace("+ +", "++").split():
            word = part.strip("_")
            if len(word) > 1 and any(map(str.isalpha, word)):
                yield word


@dataclass(frozen=True)
class Bags:
    """How often which words are in each of N texts. Indexed with rows (B,), the words of these texts, padded."""

    words: Tensor  # (M,) numbers of words, text by text
    counts: Tensor  # (M,)
    starts: Tensor  # (N + 1,) where each text begins

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return words (B, n) and counts (B, n), which are 0 where a text has fewer words than the longest of them."""
        first, end = self.starts[rows], self.starts[rows + 1]
        place = first[:, None] + torch.arange(max(int((end - first).max()), 1) if len(rows) else 1)  # (B, n)
        there = place < end[:, None]
        place = torch.where(there, place, len(self.words))
        words, counts = (torch.cat([x, x.new_zeros(1)]) for x in (self.words, self.counts))
        return words[place], counts[place]

    def by_group(self, labels: Tensor, times: Tensor, shape: tuple[int, int]) -> Tensor:
        """Return how often each word is in each group (K, V), each text counting ``times`` (N,)."""
        text = torch.repeat_interleave(torch.arange(len(self)), self.starts.diff())  # (M,)
        weight = self.counts * times[text]
        return torch.zeros(shape).index_put_((labels[text], self.words), weight, accumulate=True)


@dataclass(frozen=True)
class Vocabulary:
    """V words, each with a number."""

    words: list[str]

    @classmethod
    def of(
        cls, texts: Sequence[str], *, max_words: int = 20_000, min_texts: int = 2, max_share: float = 0.5,
        stop_words: bool = True,
    ) -> Self:  # fmt: skip
        """Return the most frequent words that are in ``min_texts`` texts or more, and in at most ``max_share`` of all.

        There may be none: texts that share no word still have vectors.
        """
        left_out = STOP_WORDS if stop_words else frozenset()
        counter = CountVectorizer(
            analyzer=lambda text: [word for word in split_words(text) if word not in left_out],
            max_features=max_words, min_df=min_texts, max_df=float(max_share),
        )  # fmt: skip
        try:
            return cls(counter.fit(texts).get_feature_names_out().tolist())
        except ValueError:  # scikit-learn's word for an empty vocabulary
            return cls([])

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each word."""
        return {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def sentences(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the known words of each text, in order."""
        return [[word for word in split_words(text) if word in self.number] for text in texts]

    def bags(self, texts: Sequence[str]) -> Bags:
        """Return the counts of the known words of each text."""
        if not self.words:
            return Bags(torch.zeros(0, dtype=torch.long), torch.zeros(0), torch.zeros(len(texts) + 1, dtype=torch.long))
        counts = CountVectorizer(analyzer=split_words, vocabulary=self.words).transform(texts)
        counts.sort_indices()
        words, starts = (torch.from_numpy(x).long() for x in (counts.indices, counts.indptr))
        return Bags(words, torch.from_numpy(counts.data).float(), starts)
