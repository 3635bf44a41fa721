"""Write the tables of results into the documents that show them, in place of what they show now.

A table stands between two marks, `<!-- table: NAME ... -->` and `<!-- end of table -->`:

    refine          `refine` beside k-means and `neighbors`, with all columns (benchmarks/refine.py)
    refine-short    the same for the bundled encoder, beside the best published scores
    promise         whether defaults end below what takes seconds, on parts of data sets (benchmarks/promise.py)
    sizes           `refine` on parts of data sets, by the number of texts (benchmarks/promise.py)
    baselines RUNS  runs of the experiment all-baselines, beside k-means, `neighbors` and the published scores;
                    `purity` among the runs adds that metric
    images RUNS     the same for all-images
    experiment NAME an experiment of the papers, as on the page of benchmarks
    paper-runs      the protocols of the papers, before and after training (benchmarks/paper_runs.py)

    python benchmarks/documents.py  # part of `make benchmarks`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import paper_runs
import promise
import refine
from coterie.experiments.collection import collect, read_folder
from coterie.experiments.paper_table import make
from coterie.experiments.registry import experiment

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
_TABLE = re.compile(r"(<!-- table: (?P<name>\S+) ?(?P<arguments>.*?) ?-->\n).*?(<!-- end of table -->)", re.DOTALL)


def main() -> None:
    """Rewrite every document that has a table."""
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = document.read_text(encoding="utf-8")
        if (filled := fill(text)) != text:
            document.write_text(filled, encoding="utf-8")
            print(f"{document.relative_to(ROOT)} has new tables.")


def fill(text: str) -> str:
    """Return the text of a document with its tables made anew."""
    return _TABLE.sub(
        lambda found: f"{found[1]}\n{TABLES[found['name']](found['arguments'].split())}\n\n{found[4]}", text
    )


def beside_baselines(name: str, words: Sequence[str]) -> str:
    """Return the table of some runs of an experiment beside k-means and `neighbors`, on the sets that they have."""
    results = read_folder(RESULTS)
    runs = tuple(word for word in words if word != _PURITY)
    metrics = (*_METRICS, _PURITY) if _PURITY in words else _METRICS
    chosen = replace(experiment(name), runs=runs, reference="kmeans", metrics=metrics, title=_TITLES[name], note="")
    sets = tuple(collect(chosen, results).sets)
    if not sets:
        return "Not measured yet."
    return make(collect(replace(chosen, runs=(*runs, "kmeans", "neighbors"), sets=sets), results))


def of_experiment(words: Sequence[str]) -> str:
    """Return the table of an experiment, of the runs that have results."""
    (name,) = words
    return make(collect(experiment(name), read_folder(RESULTS)), only_measured=True)


_METRICS = ("acc", "nmi", "ari")
_PURITY = "purity"
_TITLES = {
    "all-baselines": "In percent; kmeans and neighbors are on the bundled encoder",
    "all-images": "In percent; kmeans and neighbors are on pixels",
}
TABLES: dict[str, Callable[[Sequence[str]], str]] = {
    "refine": lambda _: refine.table(refine.runs()),
    "refine-short": lambda _: refine.short_table(refine.runs()),
    "promise": lambda _: promise.table(),
    "sizes": lambda _: promise.table_by_size(),
    "baselines": partial(beside_baselines, "all-baselines"),
    "images": partial(beside_baselines, "all-images"),
    "experiment": of_experiment,
    "paper-runs": lambda _: paper_runs.table(read_folder(RESULTS)),
}


if __name__ == "__main__":
    main()
