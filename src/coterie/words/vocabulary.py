"""Split texts of any language into words, choose a vocabulary, and count its words in each text."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Literal, Self

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from torch import Tensor

from coterie.remembered import memory
from coterie.words.stop_words import STOP_WORDS

_REMEMBERED_TEXTS = 50_000  # their words take some 50 MB
_CharacterKind = Literal["letters", "unspaced", "emoji", "ignored", "separator"]

# Code points of scripts that put no spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han.
_UNSPACED = (
    (0x0E00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x3FFFF),
)  # fmt: skip
_ASCII_RUN = re.compile("[a-z0-9_+#]+")  # what `_kind` calls letters
_VARIATION_SELECTORS = (0xFE00, 0xFE0F)
_SKIN_TONES = (0x1F3FB, 0x1F3FF)


def split_words(text: str) -> list[str]:
    """Return the words of ``text`` in lower case and in order.

    A word has at least two characters, one of them a letter, and may end in # or + (c#, c++). Scripts without spaces
    are split into overlapping pairs of characters. Each emoji is a word. A fit splits each of its first texts once.
    """
    known = memory("words")
    if known is None:
        return _split(text)
    if text in known:
        words: list[str] = known[text]
        return words
    words = _split(text)
    if len(known) < _REMEMBERED_TEXTS:
        known[text] = words
    return words


def _split(text: str) -> list[str]:
    if not text.isascii():
        return _split_by_characters(text)
    words: list[str] = []
    for run in _ASCII_RUN.findall(text.lower()):
        if not run.isalnum():  # it has _, + or #
            words += _words_of_run(run, "letters")
        elif len(run) > 1 and not run.isdigit():
            words.append(run)
    return words


def _split_by_characters(text: str) -> list[str]:
    characters = (char for char in text.lower() if _kind(char) != "ignored")
    words: list[str] = []
    for kind, run in groupby(characters, _kind):
        words += _words_of_run("".join(run), kind)
    return words


@lru_cache(maxsize=1 << 16)
def _kind(char: str) -> _CharacterKind:
    category = unicodedata.category(char)
    point = ord(char)
    if category == "Cf" or _is_between(point, _VARIATION_SELECTORS) or _is_between(point, _SKIN_TONES):
        return "ignored"  # invisible joiners of letters or emoji, and the colors of emoji
    if is_unspaced(char):
        return "unspaced"
    if category[0] in "LMN" or char in "_+#":
        return "letters"
    return "emoji" if category == "So" else "separator"


def is_unspaced(char: str) -> bool:
    """Return whether ``char`` is a letter, mark or number of a script without spaces between words."""
    return unicodedata.category(char)[0] in "LMN" and any(_is_between(ord(char), block) for block in _UNSPACED)


def _is_between(point: int, block: tuple[int, int]) -> bool:
    first, last = block
    return first <= point <= last


def _words_of_run(run: str, kind: _CharacterKind) -> Iterator[str]:
    """Yield the words of ``run``, whose characters are all of ``kind``."""
    if kind == "unspaced":
        for i in range(max(len(run) - 1, 1)):
            yield run[i : i + 2]
    elif kind == "emoji":
        yield from run
    elif kind == "letters":
        spaced = run.replace("+", "+ ").replace("#", "# ").replace("+ +", "++")  # a word ends after #, + or ++
        for part in spaced.split():
            word = part.strip("_")
            if len(word) > 1 and any(char.isalpha() for char in word):
                yield word


@dataclass(frozen=True)
class BagOfWords:
    """Word counts of N texts in sparse form: text i has the entries ``offsets[i]`` to ``offsets[i + 1]``."""

    word_ids: Tensor  # (M,) indices into the vocabulary
    counts: Tensor  # (M,)
    offsets: Tensor  # (N + 1,)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return word indices (B, n) and counts (B, n) of the texts ``rows`` (B,), padded with count 0."""
        first = self.offsets[rows]
        end = self.offsets[rows + 1]
        longest = max(int((end - first).max()), 1) if len(rows) else 1
        entry = first[:, None] + torch.arange(longest)  # (B, n)
        padding = len(self.word_ids)  # index of the entry that is appended below
        entry = torch.where(entry < end[:, None], entry, padding)
        word_ids = torch.cat([self.word_ids, self.word_ids.new_zeros(1)])
        counts = torch.cat([self.counts, self.counts.new_zeros(1)])
        return word_ids[entry], counts[entry]

    def counts_by_cluster(self, labels: Tensor, weights: Tensor, shape: tuple[int, int]) -> Tensor:
        """Return the count of each word in each cluster, ``shape`` (K, V), with texts weighted by ``weights`` (N,)."""
        text = torch.repeat_interleave(torch.arange(len(self)), self.offsets.diff())  # (M,)
        weighted = self.counts * weights[text]
        return torch.zeros(shape).index_put_((labels[text], self.word_ids), weighted, accumulate=True)


@dataclass(frozen=True)
class Vocabulary:
    """V words; the index of a word is its position in ``words``."""

    words: list[str]

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        *,
        max_words: int = 20_000,
        min_df: int = 2,
        max_df: float = 0.5,
        stop_words: bool = True,
    ) -> Self:
        """Return the ``max_words`` most frequent words that occur in at least ``min_df`` texts.

        Words that occur in more than the share ``max_df`` of the texts are left out, and with ``stop_words`` the
        English stop words. The vocabulary is empty if no word is left.
        """
        left_out = STOP_WORDS if stop_words else frozenset()
        vectorizer = CountVectorizer(
            analyzer=lambda text: [word for word in split_words(text) if word not in left_out],
            max_features=max_words,
            min_df=min_df,
            max_df=float(max_df),
        )
        try:
            return cls(vectorizer.fit(texts).get_feature_names_out().tolist())
        except ValueError:  # scikit-learn raises it for an empty vocabulary
            return cls([])

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each word."""
        return {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text that are in the vocabulary, in order."""
        return [[word for word in split_words(text) if word in self.index] for text in texts]

    def bag_of_words(self, texts: Sequence[str]) -> BagOfWords:
        """Return the counts of the vocabulary's words in each text."""
        if not self.words:
            no_entries = torch.zeros(0, dtype=torch.long)
            return BagOfWords(no_entries, torch.zeros(0), torch.zeros(len(texts) + 1, dtype=torch.long))
        counts = CountVectorizer(analyzer=split_words, vocabulary=self.words).transform(texts)
        counts.sort_indices()
        return BagOfWords(
            word_ids=torch.from_numpy(counts.indices).long(),
            counts=torch.from_numpy(counts.data).float(),
            offsets=torch.from_numpy(counts.indptr).long(),
        )

    def incidence(self, texts: Sequence[str], *, max_sum: float = math.inf) -> csr_matrix:
        """Return a sparse matrix (N, V) that is 1 where a word is in a text; rows of a larger sum have ``max_sum``."""
        bag = self.bag_of_words(texts)
        n_words = bag.offsets.diff().numpy()  # (N,)
        weight = np.minimum(1, max_sum / np.maximum(n_words, 1)).astype(np.float32)
        weights = np.repeat(weight, n_words)
        return csr_matrix((weights, bag.word_ids.numpy(), bag.offsets.numpy()), shape=(len(texts), len(self)))
