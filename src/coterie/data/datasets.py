"""The benchmark sets of the papers, and a demo set of our own.

A file comes from the folder in ``COTERIE_DATA``, else from the cache, else from its public address; in
every case its SHA-256 is checked. The sets are their authors' and are not part of this package.
"""

from __future__ import annotations

import csv
import hashlib
import http.client
import io
import os
import re
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from coterie.contracts import Labels
from coterie.data.atomic import atomic_file
from coterie.data.cache import user_cache
from coterie.errors import InputError
from coterie.progress import track


@dataclass(frozen=True)
class Dataset:
    """Texts with the true labels 0..K-1 that evaluation may look at."""

    name: str
    texts: list[str]
    true_labels: Labels
    label_names: list[str]  # the file's own names of classes 0..K-1


@dataclass(frozen=True)
class RemoteFile:
    """A public file and the bytes it must have."""

    name: str
    url: str
    sha256: str


@dataclass(frozen=True)
class Source:
    """Where a set is from, what is in it, and how it is read."""

    title: str
    files: tuple[RemoteFile, ...]
    terms: str
    n_texts: int
    n_clusters: int
    read: Callable[..., list[tuple[str, str]]]
    label_names: tuple[str, ...] = ()


def load(name: str) -> Dataset:
    """Return a set by name; ``coterie datasets`` lists them."""
    if name not in SOURCES:
        raise InputError(f"There is no data set called {name!r}. There are: {', '.join(SOURCES)}.")
    source = SOURCES[name]
    rows = source.read(*(fetch(file) for file in source.files))
    classes = sorted({label for label, _ in rows}, key=lambda label: (int(label) if label.isdigit() else 0, label))
    number = {label: i for i, label in enumerate(classes)}
    labels = np.array([number[label] for label, _ in rows], dtype=np.int64)
    return Dataset(name, [text for _, text in rows], labels, list(source.label_names or classes))


def fetch(file: RemoteFile) -> bytes:
    """Return the checked bytes of a public file, downloading it into the cache when it is nowhere else."""
    named = os.environ.get("COTERIE_DATA")
    for folder in [Path(named), cache_folder()] if named else [cache_folder()]:
        path = folder / file.name
        if path.is_file():
            return _checked(path.read_bytes(), file, str(path), "Remove it, and it is fetched again.")
    data = _checked(_download(file), file, file.url, "The download was cut short, or the file has changed: try again.")
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with atomic_file(cache_folder() / file.name) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise InputError(
            f"Cannot keep {file.name} in {cache_folder()} ({error}). Name another folder in COTERIE_CACHE."
        ) from None
    return data


def cache_folder() -> Path:
    """Return the folder that downloads are kept in: COTERIE_CACHE, else the user's cache."""
    return user_cache("datasets")


def _checked(data: bytes, file: RemoteFile, place: str, advice: str) -> bytes:
    found = hashlib.sha256(data).hexdigest()
    if found != file.sha256:
        raise InputError(
            f"{place} is not the published {file.name} (SHA-256 {found[:12]}..., expected "
            f"{file.sha256[:12]}...). {advice}"
        )
    return data


def _download(file: RemoteFile) -> bytes:
    parts = []
    try:
        with urllib.request.urlopen(file.url, timeout=60) as reply:
            size = int(reply.headers.get("Content-Length") or 0)
            with track(f"Downloading {file.name}", size) as advance:
                while part := reply.read(1 << 16):
                    parts.append(part)
                    advance(len(part))
    except (http.client.HTTPException, OSError) as error:
        raise InputError(
            f"Cannot download {file.url} ({error}). Fetch it by hand and put it into a folder named by the "
            f"environment variable COTERIE_DATA."
        ) from None
    return b"".join(parts)


# -- readers: bytes of the files -> (label, text) rows -----------------------------------------------------


def split_lines(data: bytes) -> list[str]:
    """Return the lines of a file, whatever ends them."""
    return [line.rstrip("\r") for line in data.decode("utf-8-sig").removesuffix("\n").split("\n")]


def _texts_and_labels(texts: bytes, labels: bytes) -> list[tuple[str, str]]:
    return list(zip((label.strip() for label in split_lines(labels)), split_lines(texts), strict=True))


def _label_tab_text(data: bytes) -> list[tuple[str, str]]:
    rows = (line.partition("\t") for line in split_lines(data))
    return [(label.strip(), text) for label, _, text in rows]


_SENTENCE_END = re.compile(r"(?<=[.!?])[\"']?\s+(?=[\"'A-Z0-9£$])")


def _bbc_sentences(data: bytes) -> list[tuple[str, str]]:
    """Split every article into sentences, each with its article's class, as ClusterBERT does."""
    rows = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in sorted(archive.namelist()):
            folder, _, file = name.removeprefix("bbc/").partition("/")
            if not file.endswith(".txt"):
                continue
            article = archive.read(name).decode("latin-1")
            paragraphs = filter(None, (" ".join(p.split()) for p in article.split("\n\n")))
            rows += [(folder, s.strip()) for p in paragraphs for s in _SENTENCE_END.split(p) if s.strip()]
    return rows


def _bbc_sample(data: bytes, *, n: int = 6000) -> list[tuple[str, str]]:
    """Return ``n`` different sentences, drawn by a hash of what they say, so that everybody draws the same."""
    rows = list({text: (label, text) for label, text in _bbc_sentences(data)}.values())
    return sorted(rows, key=lambda row: hashlib.sha256(row[1].encode()).digest())[:n]


def _helpdesk() -> list[tuple[str, str]]:
    text = (files("coterie.data") / "demo" / "helpdesk.csv").read_text(encoding="utf-8")
    return [(row["intent"], row["text"]) for row in csv.DictReader(io.StringIO(text))]


# -- the sets ----------------------------------------------------------------------------------------------

_STC2 = "https://github.com/jacoxu/STC2/raw/34a28c5/dataset/"
RAKIB = "https://github.com/rashadulrakib/short-text-clustering-enhancement/raw/f363b66/data/"
_RESEARCH = "no licence stated; published for research"
_BBC = RemoteFile(
    "bbc-fulltext.zip",
    "http://mlg.ucd.ie/files/datasets/bbc-fulltext.zip",
    "221a7e794f68a77eab32a3662c6cecd87b00037f986927519d682e647b3d3d9b",
)
_BBC_TERMS = "non-commercial research only; rights with the BBC"


def _stc2(name: str, sha_texts: str, sha_labels: str) -> tuple[RemoteFile, RemoteFile]:
    texts, labels = f"{name}.txt", f"{name}_gnd.txt"
    return RemoteFile(texts, _STC2 + texts, sha_texts), RemoteFile(labels, _STC2 + labels, sha_labels)


def _rakib(name: str, sha256: str) -> tuple[RemoteFile]:
    return (RemoteFile(name, RAKIB + name, sha256),)


SOURCES: dict[str, Source] = {
    "helpdesk": Source(
        "Messages to a software company's help desk, written for coterie",
        (), "MIT, part of this package", 1325, 16, _helpdesk,
    ),
    "agnews": Source(
        "AgNews, news titles and descriptions, stop words removed",
        _rakib("agnewsdataraw-8000", "9a3ecfb3d5daef1cdef2fa1cc23d1f1c23784220116c39072d6d8422f5781c06"),
        _RESEARCH, 8000, 4, _label_tab_text, ("world", "sports", "business", "sci-tech"),
    ),
    "searchsnippets": Source(
        "SearchSnippets, snippets of web search results",
        _stc2(
            "SearchSnippets",
            "611608df8e343df204acf5826e70fd3e590482d352b2c81bf2a6d37621677603",
            "03c0c750b699c29fb2c13cfbf62fa5e96a05694da9d5a9bd7fc4367cdd9735c6",
        ),
        _RESEARCH, 12340, 8, _texts_and_labels,
        ("business", "computers", "culture-arts-entertainment", "education-science", "engineering", "health",
         "politics-society", "sports"),
    ),
    "stackoverflow": Source(
        "StackOverflow, titles of questions",
        _stc2(
            "StackOverflow",
            "56fdb3932c6a2e35c1943b8a3d3c1cf51901fc1139e51b1587091898ffb22e86",
            "ac6b52afbf696611680f8ea944be682bcdf1979b62fde2b5fa2a9dcc6ab8d7d3",
        ),
        "no licence stated; titles are Stack Exchange's, CC BY-SA", 20000, 20, _texts_and_labels,
        ("wordpress", "oracle", "svn", "apache", "excel", "matlab", "visual-studio", "cocoa", "osx", "bash",
         "spring", "hibernate", "scala", "sharepoint", "ajax", "qt", "drupal", "linq", "haskell", "magento"),
    ),
    "biomedical": Source(
        "Biomedical, titles of papers (PubMed, BioASQ)",
        _stc2(
            "Biomedical",
            "5824b74b2064a6b2940b15ab30bab8abe1bd42aa1ec4089e62a0ba28efa2ba87",
            "3e3d2b77aefc232661bb5b1723f123f4b23cf654c777a4a8b6d3c1ef752f836f",
        ),
        _RESEARCH, 20000, 20, _texts_and_labels,
    ),
    "googlenews-ts": Source(
        "GoogleNews-TS, titles and snippets of news",
        _rakib("TS", "a2bd94663542b849477b0a2a95a23626a7c8af50d50978056159997ddd800065"),
        _RESEARCH, 11109, 152, _label_tab_text,
    ),
    "googlenews-t": Source(
        "GoogleNews-T, titles of news",
        _rakib("T", "4b4a5feeaa35e7e96e08203fe44f0b5b136c7d1e01eba3a282d25ae4ecae8f8c"),
        _RESEARCH, 11108, 152, _label_tab_text,
    ),
    "googlenews-s": Source(
        "GoogleNews-S, snippets of news",
        _rakib("S", "004e6210fbfcd11414f27b8bb6a83df6051bb8449c063b9d77955e2df0294082"),
        _RESEARCH, 11108, 152, _label_tab_text,
    ),
    "tweet": Source(
        "Tweet, tweets of TREC 2011-2012 queries",
        _rakib("tweet-original-order.txt", "bd63058a56d4b2ff35eca50db6fdbdf51d4dbc222e16604cbcaad813c2831479"),
        _RESEARCH, 2472, 89, _label_tab_text,
    ),
    "bbc": Source(
        "BBC, sentences of news articles (Greene and Cunningham, ICML 2006)",
        (_BBC,), _BBC_TERMS, 43885, 5, _bbc_sentences,
    ),
    "bbc-6000": Source(
        "BBC, a fixed sample of 6,000 different sentences", (_BBC,), _BBC_TERMS, 6000, 5, _bbc_sample
    ),
}  # fmt: skip
