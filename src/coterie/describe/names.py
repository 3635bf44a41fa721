"""A short, readable and unique name for each cluster, from its own words and phrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import log1p

import numpy as np
from numpy.typing import NDArray

from coterie.arrays import subsample
from coterie.describe.keywords import SAMPLE_FACTOR, is_form_of
from coterie.describe.terms import is_content_word, join_words, normalize_word, phrases_of

_Phrase = tuple[str, ...]
_Key = tuple[str, ...]

_N_TERMS = 4  # keywords that a name is made of
_MAX_WORDS = 4  # of a phrase, function words included
_MIN_SHARE = 0.02  # share of the texts of a cluster that have its phrase
_TYPICAL_FACTOR = 1.5  # a phrase of a typical text counts this much more
_BREAKS = frozenset(  # function words that begin another clause: API although the token is no name
    "after although because before but how if or since than that though unless until what when where whether which "
    "while who why".split()
)
_LIGHT_VERBS = frozenset(  # verbs that say nothing alone: Tidewater keeps is no name
    "become becomes came come comes gave get gets getting give gives go goes going got keep keeping keeps kept let "
    "lets made make makes making put puts seem seems take takes took went".split()
)
_MAX_TERM = 30  # characters; longer words are identifiers, not names
_MAX_NAME = 48  # characters


def cluster_names(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    terms: Sequence[Sequence[str]],
    typical: Sequence[Sequence[str]],
) -> list[str]:
    """Return a unique name for each of K clusters.

    Args:
        texts: The texts (N).
        labels: The cluster of each text (N,).
        terms: The keywords of each cluster (K), best first.
        typical: The typical texts of each cluster (K), most typical first.

    A name is the most frequent phrase that has several of the first keywords, preferably one of a typical text:
    Reset my password. Without such a phrase it is the first two keywords: Calendar & meeting.
    """
    rows = subsample(len(texts), factor=SAMPLE_FACTOR)
    collected = [_Cluster(of_cluster) for of_cluster in terms]
    for text, cluster in zip((texts[row] for row in rows.tolist()), labels[rows].tolist(), strict=True):
        collected[cluster].add(text)
    taken: set[str] = set()
    names = [""] * len(terms)
    for cluster in sorted(range(len(terms)), key=lambda k: -collected[k].n_texts):
        own = collected[cluster].names(typical[cluster])
        names[cluster] = next(name for name in _with_fallback(own, cluster) if name.casefold() not in taken)
        taken.add(names[cluster].casefold())
    return names


def fallback_name(cluster: int, keywords: Sequence[str] = ()) -> str:
    """Return the name of a cluster without texts, e.g. of images, or of a model that was saved without names."""
    return _capitalize(" & ".join(keywords[:2])) or f"Cluster {cluster}"


def _with_fallback(names: Iterator[str], cluster: int) -> Iterator[str]:
    """Yield the names that are not blank, and then names that are certainly free."""
    first = ""
    for name in names:
        if name:
            first = first or name
            yield name
    if first:
        yield f"{first} ({cluster})"
    yield fallback_name(cluster)


class _Cluster:
    """The phrases of a cluster that are made of its first keywords, and how its words are written."""

    def __init__(self, terms: Sequence[str]) -> None:
        named = [term for term in terms if len(term) <= _MAX_TERM]
        self.terms = (list(filter(None, map(_without_light_verbs, named))) or named)[:_N_TERMS]
        self.words = [word for term in self.terms for word in _words_of(term)]
        self.n_texts = 0
        self.surfaces: dict[str, Counter[str]] = {}
        self.phrases: dict[_Key, Counter[_Phrase]] = {}
        self._rank_of: dict[str, int | None] = {}

    def add(self, text: str) -> None:
        """Count the phrases of a text, each once."""
        self.n_texts += 1
        found: dict[_Key, _Phrase] = {}
        for run in phrases_of(text):
            words = _normalized(run)
            for position, (word, surface) in enumerate(zip(words, run, strict=True)):
                # A capital letter at the beginning of a sentence says nothing.
                if self._rank(word) is not None and (position > 0 or surface[1:] != word[1:]):
                    self.surfaces.setdefault(word, Counter())[surface] += 1
            for phrase in self._phrases_in(words):
                found.setdefault(_content(phrase), phrase)
        for key, phrase in found.items():
            self.phrases.setdefault(key, Counter())[phrase] += 1

    def _phrases_in(self, words: list[str]) -> Iterator[_Phrase]:
        """Yield phrases that begin and end with different keywords, and have only function words between them."""
        at = [position for position, word in enumerate(words) if self._rank(word) is not None]
        pairs = ((first, last) for i, first in enumerate(at) for last in at[i + 1 : i + _MAX_WORDS])  # no other is near
        for first, last in pairs:
            inner = words[first + 1 : last]
            if last - first < _MAX_WORDS and not any(self._ends_phrase(word) for word in inner):
                phrase = tuple(words[first : last + 1])
                if len(self._ranks(phrase)) > 1:
                    yield phrase

    def _ends_phrase(self, word: str) -> bool:
        return word in _BREAKS or (is_content_word(word) and self._rank(word) is None)

    def _rank(self, word: str) -> int | None:
        """Return the index of the keyword that ``word`` is a form of."""
        if word not in self._rank_of:
            ranks = (i for i, keyword in enumerate(self.words) if is_form_of(word, keyword))
            self._rank_of[word] = next(ranks, None) if is_content_word(word) else None
        return self._rank_of[word]

    def _ranks(self, words: Sequence[str]) -> set[int]:
        return {rank for word in words if (rank := self._rank(word)) is not None}

    def names(self, typical: Sequence[str]) -> Iterator[str]:
        """Yield names, best first."""
        for phrase in self._best_phrases(typical):
            yield self._written(phrase)
        for pair in combinations(self.terms, 2):
            yield self._written(" & ".join(pair).split(" "))
        yield from map(self._written, ([term] for term in self.terms))
        yield from (_capitalize(" ".join(text.split())[:_MAX_NAME]) for text in typical)

    def _best_phrases(self, typical: Sequence[str]) -> list[_Phrase]:
        """Return the phrases with the first keyword, best first: in many texts, and with the first keywords.

        Phrases of the same words are one, in the form that most texts or a typical text use.
        """
        own = {phrase for text in typical for run in phrases_of(text) for phrase in self._phrases_in(_normalized(run))}
        least = max(2, _MIN_SHARE * self.n_texts)
        values: dict[_Phrase, float] = {}
        for key, forms in self.phrases.items():
            ranks = self._ranks(key)
            if forms.total() >= least and 0 in ranks:
                phrase = min(forms, key=lambda form: (-forms[form] * (_TYPICAL_FACTOR if form in own else 1), form))
                weight = sum(1 / (1 + rank) for rank in ranks) * (_TYPICAL_FACTOR if phrase in own else 1)
                values[phrase] = weight * log1p(forms.total())
        return sorted(values, key=lambda phrase: (-values[phrase], len(phrase), phrase))

    def _written(self, words: Sequence[str]) -> str:
        """Return the words as the texts write them: VPN, iPhone; the first letter is a capital."""
        written = []
        for word in words:
            surfaces = self.surfaces.get(word)
            surface = max(surfaces, key=lambda s: (surfaces[s], s == word, s)) if surfaces else word
            written.append(surface)
        return _capitalize(join_words(written))


def _without_light_verbs(term: str) -> str:
    return " ".join(word for word in term.split(" ") if word not in _LIGHT_VERBS)


def _words_of(term: str) -> list[str]:
    """Return the words of a phrase like direct debit; a hyphenated word, or a verb with its particle, is one word."""
    words = term.split(" ")
    return words if all(map(is_content_word, words)) else words[:1]


def _content(phrase: _Phrase) -> _Key:
    """Return the content words of a phrase in a fixed order: one key for reset my password and password reset."""
    return tuple(sorted(word for word in phrase if is_content_word(word)))


def _normalized(run: Sequence[str]) -> list[str]:
    return [normalize_word(word) for word in run]


def _capitalize(name: str) -> str:
    """Return the name with a capital first letter, unless its first word has capitals elsewhere (iPhone)."""
    first = name.split(" ")[0]
    return name if any(char.isupper() for char in first) else name[:1].upper() + name[1:]
