"""SearchSnippets: snippets of web search results."""

from __future__ import annotations

from coterie.datasets.dataset import DATASETS, TextEntry
from coterie.datasets.readers import read_texts_and_labels
from coterie.datasets.repositories import NO_LICENSE, stc2_files

DATASETS.register(
    TextEntry(
        name="searchsnippets",
        title="SearchSnippets, snippets of web search results",
        terms=NO_LICENSE,
        n_items=12340,
        n_clusters=8,
        files=stc2_files(
            "SearchSnippets",
            "611608df8e343df204acf5826e70fd3e590482d352b2c81bf2a6d37621677603",
            "03c0c750b699c29fb2c13cfbf62fa5e96a05694da9d5a9bd7fc4367cdd9735c6",
        ),
        label_names=(
            "business",
            "computers",
            "culture-arts-entertainment",
            "education-science",
            "engineering",
            "health",
            "politics-society",
            "sports",
        ),
        in_papers=True,
        order=20,
        read=read_texts_and_labels,
    )
)
