"""What `neighbours` costs as texts become many, beside k-means, and what the large-scale path costs in quality.

    python benchmarks/scale.py                      # 10,000 to 1,000,000 vectors in 100 overlapping groups
    python benchmarks/scale.py 10000 30000          # some of these sizes
    python benchmarks/scale.py 300000 -k 500
    python benchmarks/scale.py --real               # real texts: everything compared against a sample and cells

Every fit runs in a process of its own, so that its peak memory (VmHWM, with the vectors themselves) is its own. Results
are lines of benchmarks/results/scale.jsonl; what is there already is not run again. To be kept: a million vectors of
384 numbers in 20 minutes and 8 GB on two cores; on real texts, within a point of ACC and NMI.
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

from coterie import KMeans, Neighbours, clusterer, datasets
from coterie.benchmarks import apart
from coterie.benchmarks.cache import CachedEncoder, default_folder
from coterie.benchmarks.results import append_result
from coterie.benchmarks.run import peak_gb
from coterie.contracts import Labels, Vectors
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.metrics import accuracy
from coterie.graph import sample
from coterie.heads.memory import Memory
from coterie.methods import neighbours

OUT = Path("benchmarks") / "results" / "scale.jsonl"
SIZES = [10_000, 30_000, 100_000, 300_000, 1_000_000]
REAL = ["tweet", "googlenews-ts", "stackoverflow", "biomedical"]
DIM, INNER, BLOCK = 384, 64, 50_000
PARTS = {"nearest": "neighbours", "smooth": "smoothing", "compress": "compression", "by_kmeans": "k-means",
         "by_linkage": "linkage", "silhouette": "silhouette"}  # fmt: skip
Line = dict[str, Any]


def made(n: int, k: int) -> tuple[Vectors, Labels]:
    """Return vectors (N, 384) of k groups, the largest ten times the smallest, that overlap in 64 directions."""
    rng = np.random.default_rng(0)
    share = 1 / (np.arange(k) + k / 9)
    labels = rng.choice(k, size=n, p=share / share.sum())
    centers = 0.55 * rng.normal(size=(k, INNER)).astype(np.float32)
    axes = np.linalg.qr(rng.normal(size=(DIM, INNER)))[0].T.astype(np.float32)
    x = np.empty((n, DIM), dtype=np.float32)
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        inner = centers[labels[rows]] + 0.9 * rng.standard_normal((len(x[rows]), INNER), dtype=np.float32)
        x[rows] = inner @ axes + 0.05 * rng.standard_normal((len(inner), DIM), dtype=np.float32)
    return x, labels


def fit_made(method: str, n: int, k: int) -> Line:
    """Fit and measure in this process: seconds of each part, memory, scores, the saved model and a prediction."""
    seconds = _timed_parts()
    x, truth = made(n, k)
    cls = {"neighbours": Neighbours, "kmeans": KMeans}[method]
    model = cls(n_clusters=k, encoder="precomputed")
    start = time.perf_counter()
    model.fit(x)
    total = time.perf_counter() - start
    peak = peak_gb()
    new = (x[:5] + x[5:10]) / 2
    asked = [_seconds(lambda row=row: model.predict(row[None])) for row in new]  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as folder:
        saving = _seconds(lambda: model.save(Path(folder) / "model"))
        size = sum(path.stat().st_size for path in (Path(folder) / "model").iterdir())
    return {
        "what": "made", "method": method, "n": n, "k": k, "threads": torch.get_num_threads(),
        "seconds": {"fit": round(total, 1), **{part: round(took, 1) for part, took in seconds.items()}},
        "peak_gb": peak, **_scores(truth, model.labels_), "save_seconds": round(saving, 1),
        "bytes_a_text": round(size / n), "predict_ms": round(1000 * float(np.median(asked)), 1),
    }  # fmt: skip


def fit_real(name: str, large: bool) -> Line:
    """Fit a set of texts, with everything compared or, ``large``, with a quarter of the texts as the border."""
    data = datasets.load(name)
    encoder = CachedEncoder(inner=BundledEncoder(max_length=32, precision="float32"), folder=default_folder())
    if large:
        sample.ALL = len(data.texts) // 4
    model = Neighbours(n_clusters=len(data.label_names), encoder=encoder)
    took = _seconds(lambda: model.fit(data.texts))
    head = {"what": "real", "set": name, "large": large, "n": len(data.texts), "k": len(data.label_names)}
    return {**head, "seconds": {"fit": round(took, 1)}, **_scores(data.true_labels, model.labels_)}


def _timed_parts() -> dict[str, float]:
    """Return a table that fills with the seconds of every part while a model is fitted."""
    seconds: dict[str, float] = defaultdict(float)

    def timed(place: Any, name: str, part: str) -> None:
        function: Callable[..., Any] = getattr(place, name)

        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                seconds[part] += time.perf_counter() - start

        setattr(place, name, wrapper)

    for name, part in PARTS.items():
        timed(neighbours, name, part)
    timed(Memory, "remember", "memory")
    timed(clusterer, "_decide", "labels")
    timed(clusterer, "summary", "hash")
    return seconds


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _scores(truth: Labels, labels: Labels) -> Line:
    return {"acc": round(accuracy(truth, labels), 4), "nmi": round(normalized_mutual_info_score(truth, labels), 4)}


def run(function: Callable[..., Line], asked: Line) -> Line:
    """Return the line that answers ``asked``: an old one, or a new one, added to the results."""
    lines = [json.loads(line) for line in OUT.read_text().splitlines()] if OUT.exists() else []
    for line in lines:
        if asked.items() <= line.items():
            return dict(line)
    line = apart.call(function, *(value for key, value in asked.items() if key != "what"))
    append_result(OUT, line)
    return dict(line)


def curve(sizes: list[int], k: int) -> None:
    """Print a row for every size."""
    parts = [*dict.fromkeys(PARTS.values()), "memory", "labels"]
    print(f"| n | seconds | {' | '.join(parts)} | peak GB | ACC / NMI | k-means ACC / NMI | its seconds, GB | "
          f"bytes a text | ms a prediction |\n|--:|--:|{'--:|' * (len(parts) + 6)}")  # fmt: skip
    for n in sizes:
        ours = run(fit_made, {"what": "made", "method": "neighbours", "n": n, "k": k})
        base = run(fit_made, {"what": "made", "method": "kmeans", "n": n, "k": k})
        took = " | ".join(f"{ours['seconds'].get(part, 0):.0f}" for part in parts)
        print(f"| {n:,} | {ours['seconds']['fit']:.0f} | {took} | {ours['peak_gb']} | {_told(ours)} | {_told(base)} | "
              f"{base['seconds']['fit']:.0f}, {base['peak_gb']} | {ours['bytes_a_text']} | {ours['predict_ms']} |",
              flush=True)  # fmt: skip


def real(sets: list[str]) -> None:
    """Print both ways for every set."""
    print("| set | everything compared ACC / NMI | sample and cells ACC / NMI |\n|---|--:|--:|")
    for name in sets:
        exact, large = (run(fit_real, {"what": "real", "set": name, "large": way}) for way in (False, True))
        print(f"| {name} | {_told(exact)} | {_told(large)} |", flush=True)


def _told(line: Line) -> str:
    return f"{100 * line['acc']:.1f} / {100 * line['nmi']:.1f}"


def main() -> None:
    """Print the curve, or the comparison on real texts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="sizes, or with --real sets")
    parser.add_argument("-k", type=int, default=100, help="groups")
    parser.add_argument("--real", action="store_true")
    args = parser.parse_args()
    if args.real:
        real(args.what or REAL)
    else:
        curve([int(size) for size in args.what] or SIZES, args.k)


if __name__ == "__main__":
    main()
