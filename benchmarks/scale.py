"""Time, memory and quality of `neighbors` for 10,000 to 1,000,000 items, compared with k-means.

    python benchmarks/scale.py                      # 10,000 to 1,000,000 synthetic vectors in 100 overlapping clusters
    python benchmarks/scale.py 10000 30000          # only these sizes
    python benchmarks/scale.py 300000 -k 500
    python benchmarks/scale.py --real               # real texts: the exact and the approximate algorithms
    python benchmarks/scale.py --predict 1000000    # nearest stored vectors of new ones, beside so many; no fit

Every fit runs in a process of its own, so that its peak memory (VmHWM, vectors included) is measured. Results are lines
of benchmarks/results/scale.jsonl; fits with a result are not run again. Targets: a million vectors of dimension 384 in
20 minutes and 8 GB on two cores; on real texts, within one point of ACC and NMI of the exact algorithms.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import normalized_mutual_info_score

from coterie import KMeans, Neighbors, arrays, datasets
from coterie.clustering import starts
from coterie.clustering.mixture_classifier import MixtureClassifier
from coterie.contracts import Labels, Vectors
from coterie.data.vectors import VectorRows
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.metrics import accuracy
from coterie.experiments.embedding_cache import CachedEncoder, default_folder
from coterie.experiments.isolation import run_isolated
from coterie.experiments.results import append_result
from coterie.experiments.runner import peak_gb
from coterie.knn import graph as graph_module
from coterie.knn.classifier import KNNClassifier
from coterie.methods import neighbors
from record import OUT
from timing import elapsed

SIZES = [10_000, 30_000, 100_000, 300_000, 1_000_000]
REAL_SETS = ["tweet", "googlenews-ts", "stackoverflow", "biomedical"]
DIM = 384
INNER_DIM = 64  # dimension of the subspace in which the clusters differ
BLOCK = 50_000
TIMED_FUNCTIONS: list[tuple[Any, str, str]] = [  # module or class, function, name in the table
    (neighbors, "knn_graph", "neighbors"),
    (starts, "smooth", "smoothing"),
    (starts, "compress", "compression"),
    (starts, "kmeans_labels", "k-means"),
    (starts, "linkage_labels", "linkage"),
    (starts, "fit_mixture", "mixture"),
    (MixtureClassifier, "store", "classifier"),
    (VectorRows, "sha256", "hash"),
]
COLUMNS = ["neighbors", "smoothing", "compression", "k-means", "linkage", "mixture", "classifier"]
Line = dict[str, Any]


def make_vectors(n: int, k: int) -> tuple[Vectors, Labels]:
    """Return vectors (N, 384) in k clusters that overlap in 64 dimensions; the largest is ten times the smallest."""
    rng = np.random.default_rng(0)
    share = 1 / (np.arange(k) + k / 9)
    labels = rng.choice(k, size=n, p=share / share.sum())
    centers = 0.55 * rng.normal(size=(k, INNER_DIM)).astype(np.float32)
    axes = np.linalg.qr(rng.normal(size=(DIM, INNER_DIM)))[0].T.astype(np.float32)
    x = np.empty((n, DIM), dtype=np.float32)
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        inner = centers[labels[rows]] + 0.9 * rng.standard_normal((len(x[rows]), INNER_DIM), dtype=np.float32)
        x[rows] = inner @ axes + 0.05 * rng.standard_normal((len(inner), DIM), dtype=np.float32)
    return x, labels


def fit_synthetic(method: str, n: int, k: int) -> Line:
    """Fit in this process; return the seconds of each part, memory, scores, size of the model and prediction time."""
    part_seconds = _time_parts()
    x, true_labels = make_vectors(n, k)
    cls = {"neighbors": Neighbors, "kmeans": KMeans}[method]
    model = cls(n_clusters=k, encoder="precomputed")
    fit_seconds = elapsed(lambda: model.fit(x))
    peak = peak_gb()
    new = (x[:5] + x[5:10]) / 2
    predict_seconds = [elapsed(lambda row=row: model.predict(row[None])) for row in new]  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save_seconds = elapsed(lambda: model.save(path))
        size = sum(file.stat().st_size for file in path.iterdir())
    return {
        "data": "synthetic",
        "method": method,
        "n": n,
        "k": k,
        "threads": torch.get_num_threads(),
        "seconds": {"fit": round(fit_seconds, 1), **{part: round(value, 1) for part, value in part_seconds.items()}},
        "peak_gb": peak,
        **_scores(true_labels, model.labels_),
        "save_seconds": round(save_seconds, 1),
        "bytes_per_text": round(size / n),
        "predict_ms": round(1000 * float(np.median(predict_seconds)), 1),
    }


def fit_real(name: str, approximate: bool) -> Line:
    """Fit a data set of texts with the exact algorithms, or with those for many texts (``approximate``)."""
    data = datasets.load(name)
    encoder = CachedEncoder(inner=BundledEncoder(max_length=32, precision="float32"), folder=default_folder())
    if approximate:
        arrays.EXACT_LIMIT = len(data.texts) // 4
    model = Neighbors(n_clusters=len(data.label_names), encoder=encoder)
    seconds = elapsed(lambda: model.fit(data.texts))
    return {
        "data": "real",
        "set": name,
        "approximate": approximate,
        "n": len(data.texts),
        "k": len(data.label_names),
        "seconds": {"fit": round(seconds, 1)},
        **_scores(data.true_labels, model.labels_),
    }


def print_predictions(n: int, k: int, n_new: int = 2_000) -> None:
    """Print the time of finding the neighbors of new vectors in a batch beside ``n`` stored ones, and the agreement."""
    x, labels = make_vectors(n + n_new, k)
    stored, new = torch.from_numpy(x[:n]), torch.from_numpy(x[n:])
    start = time.perf_counter()
    graph = graph_module.knn_graph(arrays.unit_rows(x[:n]), 15)
    graph_seconds = time.perf_counter() - start
    classifier = KNNClassifier(DIM, 15)
    classifier.store(stored, torch.from_numpy(labels[:n]), torch.from_numpy(graph.indices))
    start = time.perf_counter()
    found = classifier.predict_proba(new, k).argmax(dim=1).numpy()
    milliseconds = 1000 * (time.perf_counter() - start) / n_new
    print(
        f"beside {n:,} vectors (neighbors in {graph_seconds:.0f} s): {milliseconds:.2f} ms in a batch of {n_new:,}, "
        f"{(found == labels[n:]).mean():.1%} right; peak {peak_gb()} GB"
    )


def _time_parts() -> dict[str, float]:
    """Wrap the timed functions; return a dict to which they add their seconds."""
    seconds: dict[str, float] = defaultdict(float)
    for owner, name, part in TIMED_FUNCTIONS:
        setattr(owner, name, _timed(getattr(owner, name), part, seconds))
    return seconds


def _timed(function: Callable[..., Any], part: str, seconds: dict[str, float]) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[part] += time.perf_counter() - start

    return wrapper


def _scores(true_labels: Labels, labels: Labels) -> Line:
    acc = accuracy(true_labels, labels)
    nmi = normalized_mutual_info_score(true_labels, labels)
    return {"acc": round(acc, 4), "nmi": round(nmi, 4)}


def run(function: Callable[..., Line], wanted: Line) -> Line:
    """Return the result with the values ``wanted``: from the results file, or computed and appended to it."""
    lines = [json.loads(line) for line in OUT.read_text().splitlines()] if OUT.exists() else []
    for line in lines:
        if wanted.items() <= line.items():
            return dict(line)
    line = run_isolated(function, *(value for key, value in wanted.items() if key != "data"))
    append_result(OUT, line)
    return dict(line)


def print_synthetic(sizes: list[int], k: int) -> None:
    """Print a row for every size."""
    header = [
        "n", "seconds", *COLUMNS, "peak GB", "ACC / NMI", "k-means ACC / NMI", "k-means seconds, GB",
        "bytes per text", "ms per prediction",
    ]  # fmt: skip
    print(f"| {' | '.join(header)} |\n|{'--:|' * len(header)}")
    for n in sizes:
        ours = run(fit_synthetic, {"data": "synthetic", "method": "neighbors", "n": n, "k": k})
        base = run(fit_synthetic, {"data": "synthetic", "method": "kmeans", "n": n, "k": k})
        cells = [
            f"{n:,}",
            f"{ours['seconds']['fit']:.0f}",
            *(f"{ours['seconds'].get(part, 0):.0f}" for part in COLUMNS),
            ours["peak_gb"],
            _percent(ours),
            _percent(base),
            f"{base['seconds']['fit']:.0f}, {base['peak_gb']}",
            ours["bytes_per_text"],
            ours["predict_ms"],
        ]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


def print_real(sets: list[str]) -> None:
    """Print the scores of the exact and the approximate algorithms for every data set."""
    print("| set | exact ACC / NMI | approximate ACC / NMI |\n|---|--:|--:|")
    for name in sets:
        exact = run(fit_real, {"data": "real", "set": name, "approximate": False})
        approximate = run(fit_real, {"data": "real", "set": name, "approximate": True})
        print(f"| {name} | {_percent(exact)} | {_percent(approximate)} |", flush=True)


def _percent(line: Line) -> str:
    return f"{100 * line['acc']:.1f} / {100 * line['nmi']:.1f}"


def main() -> None:
    """Print the table of sizes, or the comparison on real texts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes_or_sets", nargs="*", help="numbers of vectors, or with --real data sets")
    parser.add_argument("-k", type=int, default=100, help="number of clusters")
    parser.add_argument("--real", action="store_true", help="compare the algorithms on real texts")
    parser.add_argument("--predict", type=int, help="time of predictions beside so many stored vectors")
    args = parser.parse_args()
    if args.predict:
        print_predictions(args.predict, args.k)
    elif args.real:
        print_real(args.sizes_or_sets or REAL_SETS)
    else:
        print_synthetic([int(size) for size in args.sizes_or_sets] or SIZES, args.k)


if __name__ == "__main__":
    main()
