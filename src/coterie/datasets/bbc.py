"""BBC: sentences of news articles, a sample of them, and the whole articles."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator

from coterie.datasets.dataset import DATASETS, TextEntry
from coterie.datasets.download import RemoteFile
from coterie.datasets.readers import LabeledTexts, sample_texts

_ARCHIVE = RemoteFile(
    "bbc-fulltext.zip",
    "http://mlg.ucd.ie/files/datasets/bbc-fulltext.zip",
    "221a7e794f68a77eab32a3662c6cecd87b00037f986927519d682e647b3d3d9b",
)
_TERMS = "non-commercial research only; rights with the BBC"
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"']?\s+(?=[\"'A-Z0-9£$])")


def read_articles(data: bytes) -> LabeledTexts:
    """Return the whole articles, each in one line."""
    return [(folder, " ".join(paragraphs)) for folder, paragraphs in _articles(data)]


def read_sentences(data: bytes) -> LabeledTexts:
    """Return the sentences of all articles, each with the class of its article, as in ClusterBERT."""
    return [(folder, sentence) for folder, paragraphs in _articles(data) for sentence in _sentences(paragraphs)]


def _articles(data: bytes) -> Iterator[tuple[str, list[str]]]:
    """Yield the class and the paragraphs of each article, in the order of the names of their files."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in sorted(archive.namelist()):
            folder, _, file = name.removeprefix("bbc/").partition("/")
            if file.endswith(".txt"):
                article = archive.read(name).decode("latin-1")
                yield folder, [" ".join(paragraph.split()) for paragraph in article.split("\n\n")]


def _sentences(paragraphs: list[str]) -> list[str]:
    sentences = [sentence.strip() for paragraph in paragraphs for sentence in _SENTENCE_END.split(paragraph)]
    return [sentence for sentence in sentences if sentence]


def read_sample(data: bytes, *, n: int = 6000) -> LabeledTexts:
    """Return ``n`` distinct sentences."""
    return sample_texts(read_sentences(data), n)


DATASETS.register(
    TextEntry(
        name="bbc",
        title="BBC, sentences of news articles (Greene and Cunningham, ICML 2006)",
        terms=_TERMS,
        n_items=43885,
        n_clusters=5,
        files=(_ARCHIVE,),
        order=70,
        read=read_sentences,
    )
)
DATASETS.register(
    TextEntry(
        name="bbc-6000",
        title="BBC, a fixed sample of 6,000 different sentences",
        terms=_TERMS,
        n_items=6000,
        n_clusters=5,
        files=(_ARCHIVE,),
        order=71,
        read=read_sample,
    )
)
DATASETS.register(
    TextEntry(
        name="bbc-articles",
        title="BBC, whole news articles",
        terms=_TERMS,
        n_items=2225,
        n_clusters=5,
        files=(_ARCHIVE,),
        order=72,
        read=read_articles,
    )
)
