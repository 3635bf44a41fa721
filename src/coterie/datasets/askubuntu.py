"""AskUbuntu (Lei et al., NAACL 2016): questions, each with twenty candidates, some of which are similar questions.

A folder has the public files. ``text_tokenized.txt`` (or ``.gz``) has id, title and body of every question.
``dev.txt`` and ``test.txt`` have the id of a question, the ids of similar questions, the ids of all candidates, and
their BM25 scores. Cells are separated by tabs. Only titles are used, as in the evaluation of sentence-transformers.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from coterie.errors import InputError

_TEXTS = ("text_tokenized.txt", "text_tokenized.txt.gz")


@dataclass(frozen=True)
class Question:
    """A title, the titles of its candidates, and which candidates are similar questions."""

    title: str
    candidates: tuple[str, ...]
    similar: tuple[bool, ...]


def read_askubuntu(folder: Path, part: str) -> list[Question]:
    """Return the questions of ``dev`` or ``test`` that have a similar question among their candidates."""
    path = folder / f"{part}.txt"
    texts = next((folder / name for name in _TEXTS if (folder / name).is_file()), None)
    if texts is None or not path.is_file():
        missing = path if texts else folder / _TEXTS[0]
        raise InputError(
            f"There is no {missing}. The files of AskUbuntu are text_tokenized.txt (or .gz), dev.txt and test.txt."
        )
    titles = _read_titles(texts)
    questions = [_parse(line, titles, f"{path}, line {n}") for n, line in enumerate(_read_lines(path), start=1)]
    return [question for question in questions if any(question.similar)]


def _read_titles(path: Path) -> dict[str, str]:
    titles = {}
    for number, line in enumerate(_read_lines(path), start=1):
        key, tab, rest = line.partition("\t")
        if not tab:
            raise InputError(f"{path}, line {number}: expected an id, a title and a body, separated by tabs.")
        titles[key.strip()] = rest.partition("\t")[0].strip()
    return titles


def _parse(line: str, titles: dict[str, str], location: str) -> Question:
    cells = line.split("\t")
    if len(cells) < 3:
        raise InputError(f"{location}: expected an id, similar ids, candidate ids and scores, separated by tabs.")
    key = cells[0].strip()
    similar = set(cells[1].split())
    candidates = cells[2].split()
    if unknown := [other for other in (key, *candidates) if other not in titles]:
        raise InputError(
            f"{location}: the question {unknown[0]} is not in the file of texts. Are both files of the same version?"
        )
    return Question(
        titles[key],
        tuple(titles[candidate] for candidate in candidates),
        tuple(candidate in similar for candidate in candidates),
    )


def _read_lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read {path} ({error}).") from None
    return [line for line in text.split("\n") if line.strip()]
