"""Read synonyms from the files of WordNet (index.* and data.*, see wndb(5WN)).

The files are Princeton's and are not part of this package; Debian ships them as wordnet-base.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from coterie.augmenters.words import STOP_WORDS, edges, is_spelt, like
from coterie.errors import InputError

_PLACES = ("/usr/share/wordnet", "/usr/local/WordNet-3.0/dict", "/opt/homebrew/opt/wordnet/dict")
_CLASSES = ("noun", "verb", "adj", "adv")
_ENDINGS = {  # of inflected words, and what stands there in the dictionary: morphy(7WN)
    "noun": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
             ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip


def find_wordnet(folder: str, *, need: str) -> WordNet:
    """Return WordNet from ``folder``, else from where it usually is, or say how to get it."""
    named = folder or os.environ.get("COTERIE_WORDNET", "") or os.environ.get("WNSEARCHDIR", "")
    places = [named] if named else list(_PLACES)
    for place in places:
        if all((Path(place) / f"{kind}.{name}").is_file() for kind in ("index", "data") for name in _CLASSES):
            return _open(place)
    raise InputError(
        f"{need} needs the files of WordNet (index.noun, data.noun, ...), which are not in {', '.join(places)}. "
        "Install them (Debian, Ubuntu: apt-get install wordnet-base; macOS: brew install wordnet), or unpack them from "
        "wordnet.princeton.edu and name their folder in the environment variable COTERIE_WORDNET, or in brackets: "
        "wordnet(folder=FOLDER)."
    )


class Entry(NamedTuple):
    """A token whose word has synonyms: the marks around it, and the synonyms with the word's capitals."""

    before: str
    after: str
    synonyms: tuple[str, ...]


class WordNet:
    """The synonyms of English words."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._index = {name: _lines(folder / f"index.{name}") for name in _CLASSES}
        self._data = {name: (folder / f"data.{name}").read_bytes() for name in _CLASSES}
        self._exceptions = {name: _exceptions(folder / f"{name}.exc") for name in _CLASSES}
        self._entries: dict[str, Entry | None] = {}

    def entry(self, token: str) -> Entry | None:
        """Return what can stand for ``token``; None for stop words, numbers and words that WordNet does not know."""
        try:
            return self._entries[token]
        except KeyError:
            before, word, after = edges(token)
            usable = is_spelt(word) and word.lower() not in STOP_WORDS
            synonyms = self.synonyms(word) if usable else ()
            found = Entry(before, after, tuple(like(s, word) for s in synonyms)) if synonyms else None
            self._entries[token] = found
            return found

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Return the words that share a meaning with ``word``, the most usual meanings first."""
        word = word.lower()
        forms = [(form, name) for name in _CLASSES for form in self._forms(word, name)]
        itself = {word, *(form for form, _ in forms)}
        found = (s for form, name in forms for s in self._same(form, name))
        return tuple(dict.fromkeys(s for s in found if s.lower() not in itself))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the files."""
        digest = hashlib.sha256()
        for name in _CLASSES:
            digest.update((self.folder / f"index.{name}").read_bytes())
            digest.update(self._data[name])
        return digest.hexdigest()

    def _forms(self, word: str, name: str) -> Iterator[str]:
        """Yield ``word`` and what it may be an inflection of, as far as the dictionary has it."""
        known, endings = self._index[name], _ENDINGS[name]
        if word in known:
            yield word
        if word in self._exceptions[name]:
            yield from (form for form in self._exceptions[name][word] if form in known)
            return
        for ending, instead in endings:
            form = word.removesuffix(ending) + instead
            if form != word and word.endswith(ending) and form in known:
                yield form

    def _same(self, form: str, name: str) -> Iterator[str]:
        """Yield the members of all sets of synonyms that ``form`` is in."""
        fields = self._index[name][form].split()
        data = self._data[name]
        for place in fields[-int(fields[2]) :]:
            start = int(place)
            if data[start : start + len(place)] != place.encode():
                raise InputError(
                    f"index.{name} and data.{name} in {self.folder} do not belong together. Install again."
                )
            line = data[start : data.index(b"\n", start)].decode().split()
            members = line[4 : 4 + 2 * int(line[3], 16) : 2]
            yield from (member.partition("(")[0].replace("_", " ") for member in members)  # some end in (a), (p), (ip)


@cache
def _open(folder: str) -> WordNet:
    return WordNet(Path(folder))


def _lines(path: Path) -> dict[str, str]:
    """Return the lines of an index by their first word; those of the licence begin with a space."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line[: line.index(" ")]: line for line in lines if line and line[0] != " "}


def _exceptions(path: Path) -> dict[str, list[str]]:
    """Return irregular inflections: ``{"mice": ["mouse"]}``; the file may be missing."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {first: rest for first, *rest in map(str.split, lines)}
