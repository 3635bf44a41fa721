"""Tweet: tweets that answer queries of TREC."""

from __future__ import annotations

from coterie.datasets.dataset import DATASETS, TextEntry
from coterie.datasets.readers import read_label_tab_text
from coterie.datasets.repositories import NO_LICENSE, rakib_file

DATASETS.register(
    TextEntry(
        name="tweet",
        title="Tweet, tweets of TREC 2011-2012 queries",
        terms=NO_LICENSE,
        n_items=2472,
        n_clusters=89,
        files=(
            rakib_file("tweet-original-order.txt", "bd63058a56d4b2ff35eca50db6fdbdf51d4dbc222e16604cbcaad813c2831479"),
        ),
        in_papers=True,
        order=60,
        read=read_label_tab_text,
    )
)
