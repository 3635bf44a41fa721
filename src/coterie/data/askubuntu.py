"""AskUbuntu (Lei et al., NAACL 2016): questions, each with twenty candidates, some of which ask the same.

A folder holds the public files: ``text_tokenized.txt`` (or ``.gz``) with id, title and body, and ``dev.txt`` and
``test.txt`` with the id of a question, the ids of similar ones, the ids of all candidates, and their BM25 scores, each
between tabs. Titles are compared, as in sentence-transformers' evaluation.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from coterie.errors import InputError

_TEXTS = ("text_tokenized.txt", "text_tokenized.txt.gz")


@dataclass(frozen=True)
class Question:
    """A title, the titles of its candidates, and which of them ask the same."""

    title: str
    candidates: tuple[str, ...]
    similar: tuple[bool, ...]


def read_askubuntu(folder: Path, part: str) -> list[Question]:
    """Return the questions of ``dev`` or ``test`` as far as they have a similar one among their candidates."""
    path = folder / f"{part}.txt"
    texts = next((folder / name for name in _TEXTS if (folder / name).is_file()), None)
    if texts is None or not path.is_file():
        lacking = path if texts else folder / _TEXTS[0]
        raise InputError(
            f"There is no {lacking}. AskUbuntu's files are text_tokenized.txt (or .gz), dev.txt and test.txt."
        )
    titles = _titles(texts)
    questions = [_question(line, titles, f"{path}, line {n}") for n, line in enumerate(_lines(path), start=1)]
    return [question for question in questions if any(question.similar)]


def _titles(path: Path) -> dict[str, str]:
    titles = {}
    for number, line in enumerate(_lines(path), start=1):
        name, tab, rest = line.partition("\t")
        if not tab:
            raise InputError(f"{path}, line {number}: expected an id, a title and a body between tabs.")
        titles[name.strip()] = rest.partition("\t")[0].strip()
    return titles


def _question(line: str, titles: dict[str, str], where: str) -> Question:
    cells = line.split("\t")
    if len(cells) < 3:
        raise InputError(f"{where}: expected an id, similar ids, candidate ids and scores between tabs.")
    name, similar, candidates = cells[0].strip(), set(cells[1].split()), cells[2].split()
    if unknown := [key for key in (name, *candidates) if key not in titles]:
        raise InputError(f"{where}: the question {unknown[0]} is not in the file of texts. Are both of one version?")
    return Question(titles[name], tuple(titles[key] for key in candidates), tuple(key in similar for key in candidates))


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read {path} ({error}).") from None
    return [line for line in text.split("\n") if line.strip()]
