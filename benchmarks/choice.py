"""How well label-free criteria choose among the starts of `neighbors`, on subsets of the classes of four data sets.

    python benchmarks/choice.py            # fit what is missing, and print the table
    python benchmarks/choice.py --print    # print what is there

Only the four sets that were tuned on are used. A subset has some classes drawn at random ("classes 20"), classes by
number ("only 2 3"), classes cut to equal size ("even 10": those with 10 texts or more, 10 of each), all classes in
uneven sizes ("uneven 1": class r keeps a share of 1 / (1 + r)), or long texts ("joined 3": three texts of one class are
one, classes in uneven sizes), and at most 2,000 texts. Every start is fitted, and
every criterion chooses one of the fits.
Results are lines of benchmarks/results/choice.jsonl, one for each subset. True labels are used for the scores only.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import normalized_mutual_info_score

from coterie import datasets
from coterie.arrays import unit_rows
from coterie.clustering.kmeans import kmeans_labels
from coterie.clustering.mixture import Evidence, MixtureSettings, fit_mixture, neighbor_weights
from coterie.clustering.silhouette import cosine_silhouette
from coterie.clustering.starts import STARTS, Features
from coterie.contracts import Labels, Vectors
from coterie.data.texts import check_texts
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.metrics import accuracy
from coterie.experiments.embedding_cache import CachedEncoder, default_folder
from coterie.experiments.results import append_result
from coterie.knn.graph import knn_graph
from coterie.knn.mutual_information import neighbor_mutual_information
from coterie.knn.neighborhood import word_features
from coterie.words.vocabulary import Vocabulary

OUT = Path("benchmarks") / "results" / "choice.jsonl"
MAX_TEXTS = 2000
SUBSETS = {
    "tweet": [
        "classes 89",
        "classes 60",
        "classes 45",
        "classes 20",
        "even 10",
        "even 20",
        "even 40",
        "joined 2",
        "joined 3",
    ],
    "stackoverflow": ["classes 20", "classes 10", "classes 6", "uneven 0.5", "uneven 1", "uneven 1.5", "joined 3"],
    "searchsnippets": ["classes 8", "classes 5", "classes 4", "uneven 0.5", "uneven 1"],
    "agnews": ["classes 4", "classes 3", "only 2 3", "only 0 1", "uneven 0.5", "uneven 1"],
}
DEFAULT = "default"
MAX_WORDS = 4.0  # as `neighbors` sets it
CHOSEN = "J - 0.7 log(K/3) H"  # the criterion of `neighbors`
Line = dict[str, Any]
Criterion = Callable[[Line], float]


def _penalized(c: float) -> Criterion:
    return lambda fit: float(fit["score"] - c * fit["size_entropy"])


def _penalized_by_k(a: float) -> Criterion:
    return lambda fit: float(fit["score"] - a * max(np.log(fit["k"] / 3), 0) * fit["size_entropy"])


CRITERIA: dict[str, Criterion] = {
    **{f"J - {c:g} H": _penalized(c) for c in (0, 0.5, 1, 1.5, 2, 3, 4)},
    **{f"J - {a:g} log(K/3) H": _penalized_by_k(a) for a in (0.3, 0.5, 0.7, 1, 1.5)},
    "MI / H of neighbors": lambda fit: fit["neighbor_mi"],
    "silhouette": lambda fit: fit["silhouette"],
    "best by labels": lambda fit: fit["acc"] + fit["nmi"],
}


def choose_rows(true_labels: Labels, subset: str, seed: int) -> np.ndarray:
    """Return the rows (N,) of a subset."""
    rng = np.random.default_rng(seed)
    kind, *values = subset.split()
    n_texts = np.bincount(true_labels)
    classes = rng.permutation(np.unique(true_labels))
    if kind == "classes":
        classes = classes[: int(values[0])]
    elif kind == "only":
        classes = np.array(values, dtype=int)
    elif kind == "even":
        classes = classes[n_texts[classes] >= int(values[0])]
        n_texts = np.minimum(n_texts, int(values[0]))
    else:
        n_texts = n_texts.copy()
        n_texts[classes] = np.maximum(n_texts[classes] / (1 + np.arange(len(classes))) ** float(values[0]), 8)
    parts = [rng.permutation(np.flatnonzero(true_labels == k))[: n_texts[k]] for k in classes]
    return np.sort(rng.permutation(np.concatenate(parts))[:MAX_TEXTS])


def join_texts(texts: list[str], true_labels: Labels, n: int, seed: int) -> tuple[list[str], Labels]:
    """Return long texts, each of ``n`` texts of a class, at most 300 / (1 + r) of class r, and their labels."""
    rng = np.random.default_rng(seed)
    joined, labels = [], []
    for r, k in enumerate(rng.permutation(np.unique(true_labels))):
        rows = rng.permutation(np.flatnonzero(true_labels == k))
        parts = [rows[i : i + n] for i in range(0, len(rows), n)][: max(300 // (1 + r), 8)]
        joined += [" ".join(texts[row] for row in part) for part in parts]
        labels += [k] * len(parts)
    return joined, np.array(labels)


def fit_all(texts: list[str], h: Vectors, true_labels: Labels) -> Line:
    """Return the scores of k-means, and for every start its scores and what the criteria use."""
    n_clusters = len(np.unique(true_labels))
    e, counts = unit_rows(h), torch.ones(len(h), dtype=torch.float64)
    words = word_features(texts, n_clusters, seed=0)
    features = Features(e, knn_graph(e, 15), counts, words, n_clusters, 15, 3, 3.0, 3, 0.05, 0)
    vocabulary = Vocabulary.from_texts(texts, min_df=3, max_df=0.2)
    weights = neighbor_weights(features.neighbors, counts.numpy())
    fits = []
    for start in features.possible(STARTS):
        labels = features.labels(start)
        if labels is None:
            continue
        for name, (settings, max_words) in _settings(e, labels).items():
            evidence = Evidence(e, counts.numpy(), vocabulary.incidence(texts, max_sum=max_words), weights)
            mixture = fit_mixture(evidence, labels, n_clusters, settings)
            measured = {
                "k": n_clusters,
                "score": mixture.score,
                "size_entropy": mixture.size_entropy,
                "neighbor_mi": neighbor_mutual_information(features.graph, mixture.labels, n_clusters),
                "silhouette": cosine_silhouette(e, mixture.labels),
            }
            fits.append({"start": list(start), "settings": name, **measured, **_scores(true_labels, mixture.labels)})
    kmeans = kmeans_labels(h, counts, n_clusters, n_init=10, seed=0)
    return {"n": len(h), "k": n_clusters, "kmeans": _scores(true_labels, kmeans), "fits": fits}


def _settings(e: Vectors, labels: Labels) -> dict[str, tuple[MixtureSettings, float]]:
    r"""Return the settings that are compared, each with the words that a text counts for at most.

    The estimated kappa is R (D - R^2) / (1 - R^2), with R the mean length of the cluster means (Banerjee et al., JMLR
    2005).
    """
    sums = np.zeros((labels.max() + 1, e.shape[1]))
    np.add.at(sums, labels, e)
    r = float(np.linalg.norm(sums, axis=1).sum() / len(e))
    kappa = r * (e.shape[1] - r**2) / (1 - r**2)
    changed = {"kappa estimated": {"kappa": kappa}, "beta 0.5": {"beta": 0.5}, "gamma 5": {"gamma": 5.0}}
    default = MixtureSettings()
    return {
        DEFAULT: (default, MAX_WORDS),
        **{name: (replace(default, **values), MAX_WORDS) for name, values in changed.items()},
        **{f"{number:g} words": (default, number) for number in (2.0, 6.0, math.inf)},
    }


def _scores(true_labels: Labels, labels: Labels) -> Line:
    nmi = normalized_mutual_info_score(true_labels, labels)
    return {"acc": round(100 * accuracy(true_labels, labels), 2), "nmi": round(100 * nmi, 2)}


def measure(done: list[Line]) -> None:
    """Fit the subsets that have no result."""
    for name in SUBSETS:
        data = datasets.load(name)
        texts = check_texts(data.texts)
        encoder = CachedEncoder(inner=BundledEncoder(max_length=32, precision="float32"), folder=default_folder())
        h = encoder.fit(texts.unique).embed(texts.unique)
        first_row = np.unique(texts.inverse[texts.inverse >= 0], return_index=True)[1]
        true_labels = data.true_labels[texts.inverse >= 0][first_row]
        for subset in SUBSETS[name]:
            wanted = {"set": name, "subset": subset}
            if any(wanted.items() <= line.items() for line in done):
                continue
            if subset.startswith("joined"):
                chosen, labels = join_texts(texts.unique, true_labels, int(subset.split()[1]), seed=0)
                line = wanted | fit_all(chosen, encoder.fit(chosen).embed(chosen), labels)
            else:
                rows = choose_rows(true_labels, subset, seed=0)
                line = wanted | fit_all([texts.unique[row] for row in rows], h[rows], true_labels[rows])
            append_result(OUT, line)
            print(name, subset, flush=True)


def print_table(lines: list[Line]) -> None:
    """Print for every criterion how much its choice gains over k-means."""
    print(f"{len(lines)} subsets; gain over k-means in ACC / NMI\n")
    print("| criterion | mean | worst | linkage chosen |\n|---|--:|--:|--:|")
    names = list(dict.fromkeys(fit["settings"] for line in lines for fit in line["fits"]))
    rows = [(DEFAULT, name) for name in CRITERIA] + [(name, CHOSEN) for name in names if name != DEFAULT]
    for settings, name in rows:
        criterion = CRITERIA[name]
        chosen = [max((fit for fit in line["fits"] if fit["settings"] == settings), key=criterion) for line in lines]
        gains = np.array(
            [[fit[m] - line["kmeans"][m] for m in ("acc", "nmi")] for fit, line in zip(chosen, lines, strict=True)]
        )
        mean, worst = (" / ".join(f"{value:+.1f}" for value in row) for row in (gains.mean(axis=0), gains.min(axis=0)))
        label = name if settings == DEFAULT else f"{name}, {settings}"
        n_linkage = sum(fit["start"][0] == "linkage" for fit in chosen)
        print(f"| {label} | {mean} | {worst} | {n_linkage} |")


def main() -> None:
    """Fit what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", help="print what is there")
    args = parser.parse_args()
    if not args.print:
        measure(_read())
    print_table(_read())


def _read() -> list[Line]:
    return [json.loads(line) for line in OUT.read_text().splitlines()] if OUT.exists() else []


if __name__ == "__main__":
    main()
