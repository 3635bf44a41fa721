"""Biomedical: titles of papers."""

from __future__ import annotations

from coterie.datasets.dataset import DATASETS, TextEntry
from coterie.datasets.readers import read_texts_and_labels
from coterie.datasets.repositories import NO_LICENSE, stc2_files

DATASETS.register(
    TextEntry(
        name="biomedical",
        title="Biomedical, titles of papers (PubMed, BioASQ)",
        terms=NO_LICENSE,
        n_items=20000,
        n_clusters=20,
        files=stc2_files(
            "Biomedical",
            "5824b74b2064a6b2940b15ab30bab8abe1bd42aa1ec4089e62a0ba28efa2ba87",
            "3e3d2b77aefc232661bb5b1723f123f4b23cf654c777a4a8b6d3c1ef752f836f",
        ),
        in_papers=True,
        order=40,
        read=read_texts_and_labels,
    )
)
