"""A study of `neighbors`: its parts, its settings, and three ways to assign new texts.

    python benchmarks/study.py parts                # without and with each part, on every data set
    python benchmarks/study.py settings             # one setting at a time, on four data sets
    python benchmarks/study.py assignment           # three ways to assign texts that were held out (StackOverflow)
    python benchmarks/study.py parts -s tweet       # on one data set

Results are lines of benchmarks/results/study.jsonl; jobs with a result are not run again. Embeddings are cached. True
labels are used for the scores only.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import normalized_mutual_info_score

from coterie import Neighbors, datasets
from coterie.arrays import unit_rows
from coterie.clustering.kmeans import cluster_means, nearest_center
from coterie.contracts import Labels, Vectors
from coterie.data.texts import check_texts
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.metrics import accuracy
from coterie.experiments.embedding_cache import CachedEncoder, default_folder
from coterie.experiments.jobs import Job, Result, expand
from coterie.experiments.results import read_results
from coterie.experiments.runner import missing, run_jobs
from coterie.knn.graph import KNNGraph, knn_graph
from coterie.knn.neighborhood import WORD_WEIGHT
from coterie.knn.smoothing import smooth
from coterie.words.tfidf_svd import fuse, tfidf_svd

OUT = Path("benchmarks") / "results" / "study.jsonl"
PARTS = ("", "without-smoothing", "without-words", "without-neighbors", "without-linkage", "with-linkage")
SETTINGS: dict[str, tuple[float, ...]] = {
    "n_neighbors": (5, 10, 15, 30, 60),
    "smoothing_rounds": (0, 1, 2, 3, 5),
    "embedding_weight": (10, 20, 40),
    "word_weight": (0, 0.5, 1, 2),
    "neighbor_weight": (0, 5, 10, 20),
    "similarity_power": (0, 1, 3, 6),
}
SETTING_SETS = ["helpdesk", "tweet", "agnews", "searchsnippets"]


def part_jobs(sets: list[str], seeds: int) -> dict[str, list[Job]]:
    """Return the jobs with one part left out or forced."""
    return {part or "default": expand(["neighbors"], sets, seeds, "cpu", variant=part) for part in PARTS}


def setting_jobs(sets: list[str], seeds: int) -> dict[str, list[Job]]:
    """Return the jobs for every value of every setting. Default values share the same jobs."""
    default = Neighbors()
    jobs = {}
    for name, values in SETTINGS.items():
        for value in values:
            overrides = {} if value == getattr(default, name) else {name: str(value)}
            jobs[f"{name} = {value:g}"] = expand(["neighbors"], sets, seeds, "cpu", overrides=overrides)
    return jobs


def measure(jobs: dict[str, list[Job]], sets: list[str]) -> None:
    """Run the missing jobs, then print a row for each entry of ``jobs``."""
    to_run = {str(job): job for same_row in jobs.values() for job in missing(same_row, OUT)}
    outcomes = run_jobs(list(to_run.values()), OUT, default_folder())
    for number, outcome in enumerate(outcomes, start=1):
        print(f"{number}/{len(to_run)} {outcome.job} {outcome.failure}", flush=True)
    results = read_results(OUT)
    print(f"\n| ACC / NMI | {' | '.join(sets)} |\n|---|{'--:|' * len(sets)}")
    for name, same_row in jobs.items():
        cells = [_cell([job for job in same_row if job.dataset == dataset], results) for dataset in sets]
        print(f"| {name} | {' | '.join(cells)} |")


def _cell(jobs: Iterable[Job], results: list[Result]) -> str:
    """Return the mean scores of ``jobs`` in percent, with the standard deviation of several seeds."""
    found = [result["label_based"] for result in results if any(job.is_in([result]) for job in jobs)]
    if not found:
        return "–"
    scores = 100 * np.array([[line["acc"], line["nmi"]] for line in found])
    deviations = [f" ± {value:.1f}" if len(scores) > 1 else "" for value in scores.std(axis=0)]
    return " / ".join(f"{mean:.1f}{deviation}" for mean, deviation in zip(scores.mean(axis=0), deviations, strict=True))


def compare_assignment(name: str) -> None:
    """Fit on 80 % of a data set, assign the rest in three ways, and score them.

    They are compared with the true labels, and with the labels of a fit on all texts.
    """
    data = datasets.load(name)
    texts = check_texts(data.texts)
    n_clusters = len(data.label_names)
    encoder = CachedEncoder(inner=BundledEncoder(max_length=32, precision="float32"), folder=default_folder())
    h = encoder.fit(texts.unique).embed(texts.unique)
    valid = texts.inverse >= 0
    first_row = np.unique(texts.inverse[valid], return_index=True)[1]
    true_labels = data.true_labels[valid][first_row]
    train = np.random.default_rng(0).random(len(h)) < 0.8
    train_texts = [text for text, in_train in zip(texts.unique, train, strict=True) if in_train]
    new_texts = [text for text, in_train in zip(texts.unique, train, strict=True) if not in_train]
    model = Neighbors(n_clusters=n_clusters, encoder=CachedEncoder(inner=encoder.inner, folder=encoder.folder))
    labels = model.fit_predict(train_texts)
    full_fit = Neighbors(n_clusters=n_clusters, encoder=encoder).fit_predict(texts.unique)[~train]
    e = unit_rows(h)
    words = tfidf_svd(texts.unique, n_components=max(100, 2 * n_clusters), seed=0)  # of all texts: an upper bound
    assert words is not None
    joint = fuse(e, words, WORD_WEIGHT)
    ways = {
        "mixture": model.predict(new_texts),
        "neighbors by embeddings": _by_neighbors(e[train], e[~train], labels, n_clusters),
        "neighbors by embeddings and words": _by_neighbors(joint[train], joint[~train], labels, n_clusters),
        "smoothed, nearest center": _by_center(e[train], e[~train], labels, n_clusters),
        "fit on all texts": full_fit,
    }
    print("| set | assigned by | ACC / NMI | same as a fit on all texts |\n|---|---|--:|--:|")
    for way, assigned in ways.items():
        acc = accuracy(true_labels[~train], assigned)
        nmi = normalized_mutual_info_score(true_labels[~train], assigned)
        same = accuracy(full_fit, assigned)
        print(f"| {name} | {way} | {100 * acc:.1f} / {100 * nmi:.1f} | {100 * same:.1f} |", flush=True)


def _neighbors_in(train: Vectors, new: Vectors, k: int = 15) -> KNNGraph:
    """Return the nearest rows of ``train`` for each row of ``new``."""
    similarities, indices = (torch.from_numpy(new) @ torch.from_numpy(train).T).topk(k, dim=1)
    return KNNGraph(indices.numpy(), similarities.numpy())


def _by_neighbors(train: Vectors, new: Vectors, labels: Labels, n_clusters: int) -> Labels:
    """Return the cluster with the largest weight among the nearest neighbors of each row of ``new``."""
    graph = _neighbors_in(train, new)
    weights = np.zeros((len(new), n_clusters))
    np.add.at(weights, (np.arange(len(new))[:, None], labels[graph.indices]), graph.similarities.clip(0) ** 3)
    return np.asarray(weights.argmax(axis=1))


def _by_center(train: Vectors, new: Vectors, labels: Labels, n_clusters: int) -> Labels:
    """Average each row of ``new`` over its smoothed nearest neighbors; return the nearest cluster mean."""
    x = smooth(train, knn_graph(train, 15), rounds=3)
    graph = _neighbors_in(train, new)
    weight = graph.similarities.clip(0) ** 3
    averaged = unit_rows(new + np.einsum("bk,bkd->bd", weight, x[graph.indices]))
    mu = cluster_means(torch.from_numpy(x), torch.ones(len(x)), labels, n_clusters)
    return np.asarray(nearest_center(torch.from_numpy(averaged), mu).numpy())


def main() -> None:
    """Run one part of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["parts", "settings", "assignment"])
    parser.add_argument("-s", "--sets", help="data sets, separated by commas")
    parser.add_argument("-n", "--seeds", type=int, default=1, help="number of seeds")
    args = parser.parse_args()
    sets = args.sets.split(",") if args.sets else []
    if args.what == "assignment":
        for name in sets or ["stackoverflow"]:
            compare_assignment(name)
        return
    if args.what == "parts":
        jobs = part_jobs(sets or ["helpdesk", "papers"], args.seeds)
    else:
        jobs = setting_jobs(sets or SETTING_SETS, args.seeds)
    measure(jobs, list(dict.fromkeys(job.dataset for same_row in jobs.values() for job in same_row)))


if __name__ == "__main__":
    main()
