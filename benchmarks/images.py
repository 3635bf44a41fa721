"""k-means on the embeddings that TCC's instance loss alone trains, without clusters.

    python benchmarks/images.py digits fashion-mnist-10000

Network, views and steps are those of TCC's recipe for images (preset cpu, variant instance-only, seed 0). The
embeddings, scaled to unit length, are clustered by k-means, the best of 10 restarts. Results are lines of
benchmarks/results/images.jsonl; jobs with a result are not run again. `make bench-images` also runs TCC and k-means on
pixels.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch

from coterie import KMeans, datasets
from coterie.arrays import unit_rows
from coterie.clusterer import METHODS
from coterie.contracts import Labels
from coterie.encoders.encoder import ENCODERS
from coterie.evaluation.metrics import agreement
from coterie.experiments.isolation import run_isolated
from coterie.experiments.jobs import Job, Result, expand
from coterie.experiments.results import append_result
from coterie.experiments.runner import peak_gb
from timing import elapsed

OUT = Path("benchmarks") / "results" / "images.jsonl"


def train_and_cluster(name: str) -> Result:
    """Train without clusters in this process, run k-means on the embeddings, and return the result."""
    job = _job(name)
    data = datasets.load(name)
    common: dict[str, Any] = {"n_clusters": len(data.label_names), "random_state": job.seed}
    model = METHODS["tcc"](encoder=ENCODERS[job.encoder](**job.encoder_params), **common, **job.params)
    labels: list[Labels] = []

    def fit() -> None:
        vectors = unit_rows(model.fit(data.items).transform(data.items))
        labels.append(KMeans(encoder="precomputed", **common).fit(vectors).labels_)

    seconds = elapsed(fit)
    return job.to_dict() | {
        "labels_by": "k-means",
        "seconds": round(seconds, 1),
        "peak_gb": peak_gb(),
        "label_based": agreement(data.true_labels, labels[0]),
        "threads": torch.get_num_threads(),
    }


def _job(name: str) -> Job:
    (job,) = expand(["tcc"], [name], 1, "cpu", variant="instance-only")
    return job


def main() -> None:
    """Print a row for every data set."""
    known = [json.loads(line) for line in OUT.read_text().splitlines()] if OUT.exists() else []
    print("| set | ACC / NMI / ARI | seconds |\n|---|--:|--:|")
    for name in sys.argv[1:] or ["digits", "fashion-mnist-10000"]:
        result = next((line for line in known if _job(name).is_in([line])), None)
        if result is None:
            result = run_isolated(train_and_cluster, name)
            append_result(OUT, result)
        scores = " / ".join(f"{100 * result['label_based'][metric]:.1f}" for metric in ("acc", "nmi", "ari"))
        print(f"| {name} | {scores} | {result['seconds']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
