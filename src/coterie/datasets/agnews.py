"""AgNews: titles and descriptions of news."""

from __future__ import annotations

from coterie.datasets.dataset import DATASETS, TextEntry
from coterie.datasets.readers import read_label_tab_text
from coterie.datasets.repositories import NO_LICENSE, rakib_file

DATASETS.register(
    TextEntry(
        name="agnews",
        title="AgNews, news titles and descriptions, stop words removed",
        terms=NO_LICENSE,
        n_items=8000,
        n_clusters=4,
        files=(rakib_file("agnewsdataraw-8000", "9a3ecfb3d5daef1cdef2fa1cc23d1f1c23784220116c39072d6d8422f5781c06"),),
        label_names=("world", "sports", "business", "sci-tech"),
        in_papers=True,
        order=10,
        read=read_label_tab_text,
    )
)
