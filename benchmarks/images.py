"""What the contrast of images alone is worth to k-means: the features that TCC learns without any cluster.

    python benchmarks/images.py digits fashion-mnist-10000

The network, its views and its steps are those of TCC's recipe for images (preset cpu, variant instance-only, seed 0).
Its vectors, at length one, are grouped by k-means, best of 10 starts. Results are lines of
benchmarks/results/images.jsonl; what is there already is not run again. TCC itself and k-means on pixels are the
runner's: `make bench-images`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

from coterie import KMeans, datasets
from coterie.benchmarks import apart
from coterie.benchmarks.jobs import Job, expand
from coterie.benchmarks.results import append_result
from coterie.benchmarks.run import peak_gb
from coterie.clusterer import METHODS
from coterie.encoders.encoder import ENCODERS
from coterie.evaluation.metrics import agreement
from coterie.graph.smoothing import unit_rows

OUT = Path("benchmarks") / "results" / "images.jsonl"


def by_items_alone(name: str) -> dict[str, Any]:
    """Train without clusters in this process, then group what was learnt."""
    job, data = _job(name), datasets.load(name)
    common: dict[str, Any] = {"n_clusters": len(data.label_names), "random_state": job.seed}
    start = time.perf_counter()
    model = METHODS["tcc"](encoder=ENCODERS[job.encoder](**job.encoder_params), **common, **job.params).fit(data.items)
    vectors = unit_rows(model.transform(data.items))
    labels = KMeans(encoder="precomputed", **common).fit(vectors).labels_
    return job.head() | {
        "by": "k-means", "seconds": round(time.perf_counter() - start, 1), "peak_gb": peak_gb(),
        "label_based": agreement(data.true_labels, labels), "threads": torch.get_num_threads(),
    }  # fmt: skip


def _job(name: str) -> Job:
    (job,) = expand(["tcc"], [name], 1, "cpu", variant="instance-only")
    return job


def main() -> None:
    """Print a row for every set."""
    known = [json.loads(line) for line in OUT.read_text().splitlines()] if OUT.exists() else []
    print("| set | ACC / NMI / ARI | seconds |\n|---|--:|--:|")
    for name in sys.argv[1:] or ["digits", "fashion-mnist-10000"]:
        result = next((line for line in known if _job(name).is_in([line])), None)
        if result is None:
            result = apart.call(by_items_alone, name)
            append_result(OUT, result)
        scores = " / ".join(f"{100 * result['label_based'][metric]:.1f}" for metric in ("acc", "nmi", "ari"))
        print(f"| {name} | {scores} | {result['seconds']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
