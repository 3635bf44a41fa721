"""From the answer of a language model to a name: cleaned, short, unique, and closer to its own cluster than to others.

An answer is untrusted: the texts in the prompt are of others, and may tell the model what to write.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence

from coterie.arrays import unit_rows
from coterie.contracts import Vectors
from coterie.describe.terms import is_content_word

Nearest = Callable[[Sequence[str]], Sequence[int]]
"""Returns the cluster that each title is most similar to."""

_MAX_LENGTH = 60
_MAX_WORDS = 7
_STEM = 4  # letters by which two forms of a word are compared: sharing, shared
_MAX_LINE = 500  # characters of a line that are looked at
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_PREFIX = re.compile(r"^(?:title|name|topic)\s*:\s*", re.IGNORECASE)
_ADDRESS = re.compile(r"://|\bwww\.|\S@\S")
_PUNCTUATION = set("&'\u2019-/.,+#()%:!?")
_EDGES = " &'\u2019-/.,+:!?"  # a name neither begins nor ends with these


def clean_title(answer: str) -> str:
    """Return the first line of an answer as a plain title; empty if it is no title.

    Only letters, digits, spaces and some punctuation stay: no markup, no control characters, no formula.
    """
    lines = [line.strip() for line in _THOUGHTS.sub("", answer).splitlines()]
    line = unicodedata.normalize("NFC", next(filter(None, lines), "")[:_MAX_LINE])
    if _ADDRESS.search(line):
        return ""
    title = " ".join("".join(map(_kept, line)).split())
    title = _PREFIX.sub("", title).strip(_EDGES)
    words = title.split()
    is_list = title.count(",") > 1  # keywords, repeated
    if is_list or len(title) > _MAX_LENGTH or len(words) > _MAX_WORDS or not any(map(str.isalpha, title)):
        return ""
    return title[:1].upper() + title[1:] if words[0].islower() else title


def _kept(char: str) -> str:
    """Return a character that a title may have, a space in place of white space, or nothing."""
    category = unicodedata.category(char)
    if category[0] in "LMN" or char in _PUNCTUATION:
        return char
    return " " if category[0] == "Z" or char in "\t_" else ""


def accepted_titles(
    titles: Mapping[int, str], names: Mapping[int, str], nearest: Nearest
) -> tuple[dict[int, str], dict[int, str]]:
    """Return the titles that become names, and why the others do not, by cluster.

    ``names`` are those of all clusters by keywords. A title counts if it is most similar to its own cluster, and if no
    other cluster has this name.
    """
    accepted: dict[int, str] = {}
    refused = {cluster: "no short title" for cluster, title in titles.items() if not title}
    proposed = {cluster: title for cluster, title in titles.items() if title}
    closest = dict(zip(proposed, nearest(list(proposed.values())) if proposed else [], strict=True))
    for cluster, title in proposed.items():
        others = [name for other, name in (dict(names) | accepted).items() if other != cluster]
        if closest[cluster] != cluster:
            refused[cluster] = f"{title!r} is closer to another cluster"
        elif title.casefold() in {name.casefold() for name in others}:
            refused[cluster] = f"another cluster is called {title!r}"
        else:
            accepted[cluster] = title
    return accepted, refused


def has_words_of(text: str, title: str) -> bool:
    """Return whether all words of a title, function words aside, have the first letters of a word of ``text``."""
    known = {word[:_STEM] for word in _words(text)}
    return all(word[:_STEM] in known for word in _words(title) if is_content_word(word))


def nearest_by_vectors(embed: Callable[[list[str]], Vectors], centers: Vectors) -> Nearest:
    """Return a check by the cosine of embeddings of titles with ``centers`` (K, D)."""

    def nearest(titles: Sequence[str]) -> list[int]:
        e = unit_rows(embed(list(titles)))
        clusters: list[int] = (e @ unit_rows(centers).T).argmax(axis=1).tolist()
        return [cluster if row.any() else -1 for cluster, row in zip(clusters, e, strict=True)]

    return nearest


def nearest_by_words(keywords: Mapping[int, Iterable[str]]) -> Nearest:
    """Return a check by shared words, for vectors that come from elsewhere: no encoder can embed a title."""
    vocabulary = {cluster: _words(" ".join(words)) for cluster, words in keywords.items()}

    def nearest(titles: Sequence[str]) -> list[int]:
        return [_most_shared(_words(title), vocabulary) for title in titles]

    return nearest


def _most_shared(words: set[str], vocabulary: Mapping[int, set[str]]) -> int:
    """Return the cluster that shares most words; -1 if none shares any."""
    shared = {cluster: len(words & own) for cluster, own in vocabulary.items()}
    best = max(shared, key=lambda cluster: shared[cluster], default=-1)
    return best if best >= 0 and shared[best] else -1


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in re.findall(r"\w+", text.casefold()) if len(word) > 1}
