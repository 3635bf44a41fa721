"""Why scores of TF-IDF + k-means differ from paper to paper: one choice changed at a time.

    python benchmarks/tfidf.py --seeds 8

Prints a Markdown table, ACC / NMI in percent with the smallest and the largest of the seeds. Labels are used for the
scores only.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer

from coterie import datasets
from coterie.evaluation.metrics import agreement

BASE: dict[str, Any] = {"max_features": 1500, "stop_words": None, "norm": "l2", "n_init": 10}
CHANGES: dict[str, dict[str, Any]] = {
    "1,500 words, length one, ten restarts": {},
    "one restart": {"n_init": 1},
    "2,000 words": {"max_features": 2000},
    "all words": {"max_features": None},
    "no stop words": {"stop_words": "english"},
    "not scaled to length one": {"norm": None},
}


def scores(texts: list[str], true_labels: Any, n_clusters: int, seed: int, **settings: Any) -> tuple[float, float]:
    """Return ACC and NMI of one run."""
    n_init = settings.pop("n_init")
    x = TfidfVectorizer(**settings).fit_transform(texts)
    labels = KMeans(n_clusters, n_init=n_init, random_state=seed).fit_predict(x)
    found = agreement(true_labels, labels)
    return 100 * found["acc"], 100 * found["nmi"]


def cell(texts: list[str], true_labels: Any, n_clusters: int, seeds: int, change: dict[str, Any]) -> str:
    """Return mean, smallest and largest score of the seeds."""
    runs = [scores(texts, true_labels, n_clusters, seed, **(BASE | change)) for seed in range(seeds)]
    acc, nmi = np.array(runs).T
    return f"{acc.mean():.1f} ({acc.min():.1f}-{acc.max():.1f}) / {nmi.mean():.1f} ({nmi.min():.1f}-{nmi.max():.1f})"


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="agnews,searchsnippets,tweet", help="separated by commas")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--rows", default="", help="only the rows whose name has this in it")
    arguments = parser.parse_args()
    names = arguments.sets.split(",")
    data = [datasets.load(name) for name in names]
    sys.stdout.write(f"| TF-IDF | {' | '.join(names)} |\n|---{'|--:' * len(names)}|\n")
    for name, change in CHANGES.items():
        if arguments.rows not in name:
            continue
        cells = [
            cell(list(each.items), np.asarray(each.true_labels), len(each.label_names), arguments.seeds, change)
            for each in data
        ]
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
