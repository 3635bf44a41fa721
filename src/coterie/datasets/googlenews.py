"""GoogleNews: titles and snippets of news, together and alone."""

from __future__ import annotations

from coterie.datasets.dataset import DATASETS, TextEntry
from coterie.datasets.download import RemoteFile
from coterie.datasets.readers import read_label_tab_text
from coterie.datasets.repositories import NO_LICENSE, rakib_file


def _register(name: str, title: str, n_items: int, file: RemoteFile, order: int) -> None:
    DATASETS.register(
        TextEntry(
            name=name,
            title=title,
            terms=NO_LICENSE,
            n_items=n_items,
            n_clusters=152,
            files=(file,),
            in_papers=True,
            order=order,
            read=read_label_tab_text,
        )
    )


_register(
    "googlenews-ts",
    "GoogleNews-TS, titles and snippets of news",
    11109,
    rakib_file("TS", "a2bd94663542b849477b0a2a95a23626a7c8af50d50978056159997ddd800065"),
    order=50,
)
_register(
    "googlenews-t",
    "GoogleNews-T, titles of news",
    11108,
    rakib_file("T", "4b4a5feeaa35e7e96e08203fe44f0b5b136c7d1e01eba3a282d25ae4ecae8f8c"),
    order=51,
)
_register(
    "googlenews-s",
    "GoogleNews-S, snippets of news",
    11108,
    rakib_file("S", "004e6210fbfcd11414f27b8bb6a83df6051bb8449c063b9d77955e2df0294082"),
    order=52,
)
