"""Public repositories that several data sets come from."""

from __future__ import annotations

from coterie.datasets.download import RemoteFile

STC2 = "https://github.com/jacoxu/STC2/raw/34a28c5/dataset/"
RAKIB = "https://github.com/rashadulrakib/short-text-clustering-enhancement/raw/f363b66/data/"
NO_LICENSE = "no license stated; published for research"


def stc2_files(name: str, sha256_texts: str, sha256_labels: str) -> tuple[RemoteFile, RemoteFile]:
    """Return the file of texts and the file of labels of a data set in STC2."""
    texts = f"{name}.txt"
    labels = f"{name}_gnd.txt"
    return RemoteFile(texts, STC2 + texts, sha256_texts), RemoteFile(labels, STC2 + labels, sha256_labels)


def rakib_file(name: str, sha256: str) -> RemoteFile:
    """Return a file of labels and texts in the repository of Rakib et al."""
    return RemoteFile(name, RAKIB + name, sha256)
