"""k-means on the bundled encoder over the papers' sets: the row that every method is measured against.

    make bench-kmeans

32 tokens, float32, one start, mean of seeds 0 to 4. ACC, NMI (geometric) and ECE (expected calibration error of the
confidence, ten bins) use the true labels; nothing before them does.
"""

from __future__ import annotations

import time
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

import coterie
from coterie import datasets
from coterie.contracts import Labels
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.matching import match_clusters
from coterie.evaluation.metrics import agreement

SEEDS = range(5)


def main() -> None:
    """Print a Markdown table."""
    print("| set | N | K | ACC | NMI | confidence | ECE | encode s | cluster s |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name in datasets.SOURCES:
        if name != "bbc":  # sentences of articles, measured with ClusterBERT
            print(_row(name), flush=True)
    print(f"\nseeds 0-4, n_init=1, max_length=32, precision=float32; coterie {coterie.__version__}, ", end="")
    print(", ".join(f"{package} {version(package)}" for package in ("torch", "scikit-learn", "numpy")))


def _row(name: str) -> str:
    data = datasets.load(name)
    n_clusters = len(data.label_names)
    start = time.perf_counter()
    h = BundledEncoder(max_length=32, device="cpu", precision="float32").embed(data.texts)
    encoded = time.perf_counter()
    rows = []
    for seed in SEEDS:
        model = coterie.KMeans(n_clusters=n_clusters, encoder="precomputed", n_init=1, random_state=seed).fit(h)
        score = agreement(data.true_labels, model.labels_)
        ece = _calibration_error(data.true_labels, model.labels_, model.confidence_)
        rows.append((score["acc"], score["nmi_geometric"], model.confidence_.mean(), ece))
    acc, nmi, confidence, ece = 100 * np.mean(rows, axis=0)
    seconds = (time.perf_counter() - encoded) / len(SEEDS)
    numbers = f"{acc:.1f} | {nmi:.1f} | {confidence:.1f} | {ece:.1f} | {encoded - start:.0f} | {seconds:.1f}"
    return f"| {name} | {len(data.texts)} | {n_clusters} | {numbers} |"


def _calibration_error(true_labels: Labels, labels: Labels, confidence: NDArray[np.float64]) -> float:
    match = match_clusters(true_labels, labels)
    right = np.array([match.get(k, -1) for k in labels.tolist()]) == true_labels
    bins = np.minimum((confidence * 10).astype(int), 9)
    gaps = [(bins == b).mean() * abs(right[bins == b].mean() - confidence[bins == b].mean()) for b in set(bins)]
    return float(sum(gaps))


if __name__ == "__main__":
    main()
