"""StackOverflow: titles of questions."""

from __future__ import annotations

from coterie.datasets.dataset import DATASETS, TextEntry
from coterie.datasets.readers import read_texts_and_labels
from coterie.datasets.repositories import stc2_files

_TAGS = (
    "wordpress", "oracle", "svn", "apache", "excel", "matlab", "visual-studio", "cocoa", "osx", "bash",
    "spring", "hibernate", "scala", "sharepoint", "ajax", "qt", "drupal", "linq", "haskell", "magento",
)  # fmt: skip

DATASETS.register(
    TextEntry(
        name="stackoverflow",
        title="StackOverflow, titles of questions",
        terms="no license stated; titles are Stack Exchange's, CC BY-SA",
        n_items=20000,
        n_clusters=20,
        files=stc2_files(
            "StackOverflow",
            "56fdb3932c6a2e35c1943b8a3d3c1cf51901fc1139e51b1587091898ffb22e86",
            "ac6b52afbf696611680f8ea944be682bcdf1979b62fde2b5fa2a9dcc6ab8d7d3",
        ),
        label_names=_TAGS,
        in_papers=True,
        order=30,
        read=read_texts_and_labels,
    )
)
