"""Read synonyms from the WordNet database files (index.* and data.*, see wndb(5WN)).

The files are Princeton's and not part of this package. Debian has them in the package wordnet-base.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from coterie.augmenters.word_tokens import is_word, match_case, split_punctuation
from coterie.errors import InputError
from coterie.words.stop_words import FUNCTION_WORDS

_USUAL_FOLDERS = ("/usr/share/wordnet", "/usr/local/WordNet-3.0/dict", "/opt/homebrew/opt/wordnet/dict")
_PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
# Endings of inflected words, and what replaces them in the base form: morphy(7WN).
_ENDINGS = {
    "noun": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
             ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip


def find_wordnet(folder: str, *, needed_by: str) -> WordNet:
    """Return the WordNet in ``folder``; if that is empty, the one in COTERIE_WORDNET or in a usual folder.

    Raises :class:`InputError` with instructions if the files are not there; ``needed_by`` begins the message.
    """
    folders = _candidates(folder)
    for candidate in filter(_is_complete, folders):
        return _load(candidate)
    raise InputError(
        f"{needed_by} needs the WordNet files (index.noun, data.noun, ...), which are not in {', '.join(folders)}. "
        "Install them (Debian, Ubuntu: apt-get install wordnet-base; macOS: brew install wordnet). Or download them "
        "from wordnet.princeton.edu and set the environment variable COTERIE_WORDNET to their folder, or write "
        "wordnet(wordnet_folder=FOLDER). Without them there is eda(operation=plain), which swaps and deletes words."
    )


def has_wordnet() -> bool:
    """Whether WordNet is in COTERIE_WORDNET or in a usual folder."""
    return any(map(_is_complete, _candidates("")))


def _candidates(folder: str) -> list[str]:
    chosen = folder or os.environ.get("COTERIE_WORDNET", "") or os.environ.get("WNSEARCHDIR", "")
    return [chosen] if chosen else list(_USUAL_FOLDERS)


def _is_complete(folder: str) -> bool:
    return all((Path(folder) / f"{kind}.{pos}").is_file() for kind in ("index", "data") for pos in _PARTS_OF_SPEECH)


class Entry(NamedTuple):
    """A token whose word has synonyms."""

    before: str  # punctuation
    after: str  # punctuation
    synonyms: tuple[str, ...]  # capitalized like the word


class WordNet:
    """The synonyms of English words."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._index = {pos: _read_index(folder / f"index.{pos}") for pos in _PARTS_OF_SPEECH}
        self._data = {pos: (folder / f"data.{pos}").read_bytes() for pos in _PARTS_OF_SPEECH}
        self._exceptions = {pos: _read_exceptions(folder / f"{pos}.exc") for pos in _PARTS_OF_SPEECH}
        self._entries: dict[str, Entry | None] = {}

    def lookup(self, token: str) -> Entry | None:
        """Return the synonyms of the word in ``token``; None for function words, numbers and unknown words."""
        try:
            return self._entries[token]
        except KeyError:
            before, word, after = split_punctuation(token)
            replaceable = is_word(word) and word.lower() not in FUNCTION_WORDS
            synonyms = self.synonyms(word) if replaceable else ()
            entry = Entry(before, after, tuple(match_case(s, word) for s in synonyms)) if synonyms else None
            self._entries[token] = entry
            return entry

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Return the words that share a meaning with ``word``, most frequent meanings first."""
        word = word.lower()
        base_forms = [(form, pos) for pos in _PARTS_OF_SPEECH for form in self._base_forms(word, pos)]
        excluded = {word, *(form for form, _ in base_forms)}
        members = (member for form, pos in base_forms for member in self._synset_members(form, pos))
        return tuple(dict.fromkeys(member for member in members if member.lower() not in excluded))

    @cached_property
    def sha256(self) -> str:
        """A hash of the files."""
        digest = hashlib.sha256()
        for pos in _PARTS_OF_SPEECH:
            digest.update((self.folder / f"index.{pos}").read_bytes())
            digest.update(self._data[pos])
        return digest.hexdigest()

    def _base_forms(self, word: str, pos: str) -> Iterator[str]:
        """Yield ``word`` and the base forms that it may be an inflection of, if WordNet has them."""
        index = self._index[pos]
        if word in index:
            yield word
        if word in self._exceptions[pos]:
            yield from (form for form in self._exceptions[pos][word] if form in index)
            return
        for ending, replacement in _ENDINGS[pos]:
            form = word.removesuffix(ending) + replacement
            if form != word and word.endswith(ending) and form in index:
                yield form

    def _synset_members(self, form: str, pos: str) -> Iterator[str]:
        """Yield the words of all synonym sets that contain ``form``."""
        fields = self._index[pos][form].split()
        data = self._data[pos]
        for offset in fields[-int(fields[2]) :]:
            start = int(offset)
            if data[start : start + len(offset)] != offset.encode():
                raise InputError(
                    f"index.{pos} and data.{pos} in {self.folder} are not from the same version of WordNet. "
                    "Install the files again."
                )
            line = data[start : data.index(b"\n", start)].decode().split()
            members = line[4 : 4 + 2 * int(line[3], 16) : 2]
            yield from (member.partition("(")[0].replace("_", " ") for member in members)  # some end in (a), (p), (ip)


@cache
def _load(folder: str) -> WordNet:
    return WordNet(Path(folder))


def _read_index(path: Path) -> dict[str, str]:
    """Return the lines of an index file by their first word; lines of the license begin with a space."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line[: line.index(" ")]: line for line in lines if line and line[0] != " "}


def _read_exceptions(path: Path) -> dict[str, list[str]]:
    """Return irregular inflections, ``{"mice": ["mouse"]}``; empty if the file is missing."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {inflected: base_forms for inflected, *base_forms in map(str.split, lines)}
