"""The benchmark sets of the papers, and a demo set of our own.

A file comes from the folder in ``COTERIE_DATA``, else from the cache, else from its public address; in
every case its SHA-256 is checked; only archives of images that the user put into COTERIE_DATA may be packed
otherwise, and a warning says so. The sets are their authors' and are not part of this package. Sets of images are read
in ``image_sets.py``.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from coterie.contracts import Items, Kind, Labels
from coterie.data import image_sets
from coterie.data.remote import RemoteFile as RemoteFile
from coterie.data.remote import cache_folder as cache_folder
from coterie.data.remote import fetch as fetch
from coterie.errors import InputError


@dataclass(frozen=True)
class Dataset:
    """Texts, or images, with the true labels 0..K-1 that evaluation may look at."""

    name: str
    items: Items  # a list of texts, or images (N, S, S, C)
    true_labels: Labels
    label_names: list[str]  # the file's own names of classes 0..K-1

    @property
    def texts(self) -> list[str]:
        """The texts of a set that has them."""
        if not isinstance(self.items, list):
            raise InputError(f"The data set {self.name!r} has images, not texts: use its `items`.")
        return self.items


@dataclass(frozen=True)
class Source:
    """Where a set is from, what is in it, and how it is read."""

    title: str
    files: tuple[RemoteFile, ...]
    terms: str
    n_items: int
    n_clusters: int
    read: Callable[..., list[tuple[str, str]]] | Callable[..., image_sets.Labelled]
    label_names: tuple[str, ...] = ()
    kind: Kind = "texts"


def load(name: str) -> Dataset:
    """Return a set by name; ``coterie datasets`` lists them."""
    if name not in SOURCES:
        raise InputError(f"There is no data set called {name!r}. There are: {', '.join(SOURCES)}.")
    source = SOURCES[name]
    rows = source.read(*(fetch(file) for file in source.files))
    if isinstance(rows, image_sets.Labelled):
        return Dataset(name, rows.images, rows.labels, list(source.label_names))
    classes = sorted({label for label, _ in rows}, key=lambda label: (int(label) if label.isdigit() else 0, label))
    number = {label: i for i, label in enumerate(classes)}
    labels = np.array([number[label] for label, _ in rows], dtype=np.int64)
    return Dataset(name, [text for _, text in rows], labels, list(source.label_names or classes))


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
_MIT = "MIT"
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
    "digits": Source(
        "Digits, hand-written, 8 x 8 (scikit-learn's own)",
        (), "part of scikit-learn", 1797, 10, image_sets.digits, image_sets.DIGITS, "images",
    ),
    "fashion-mnist": Source(
        "Fashion-MNIST, pictures of clothes, 28 x 28 (Xiao et al., 2017)",
        image_sets.FASHION, _MIT, 70000, 10, image_sets.fashion, image_sets.CLOTHES, "images",
    ),
    "fashion-mnist-10000": Source(
        "Fashion-MNIST, a fixed sample of 10,000 different images",
        image_sets.FASHION, _MIT, 10000, 10, image_sets.fashion_sample, image_sets.CLOTHES, "images",
    ),
    "cifar10": Source(
        "CIFAR-10, photographs of ten kinds of things, 32 x 32 in colour (Krizhevsky, 2009)",
        image_sets.CIFAR, _RESEARCH, 60000, 10, image_sets.cifar, image_sets.THINGS, "images",
    ),
    "cifar10-10000": Source(
        "CIFAR-10, a fixed sample of 10,000 different images",
        image_sets.CIFAR, _RESEARCH, 10000, 10, image_sets.cifar_sample, image_sets.THINGS, "images",
    ),
}  # fmt: skip
