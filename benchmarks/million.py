"""A million texts from a file to model, table and report by one command: processor time and peak memory by part.

    python benchmarks/million.py                                        # 1,000,000 texts, TF-IDF of 384 words
    python benchmarks/million.py --texts 100000 --encoder bundled

A text is the definition of a WordNet noun and the description of a Debian package, drawn at random (seed 0).
All differ. The command is `coterie cluster FILE -k 100`. Then 2,000 other such texts are assigned in one batch.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import lzma
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import coterie
from coterie import clusterer
from coterie.cli import cluster
from coterie.cli.main import app
from coterie.clustering import starts
from coterie.clustering.mixture_classifier import MixtureClassifier
from coterie.data.user_cache import user_cache
from coterie.datasets import debian, wordnet
from coterie.encoders.encoder import ENCODERS, Encoder
from coterie.methods import neighbors
from parts import Parts
from record import record
from timing import elapsed

N_NEW = 2_000
MEASURED: list[tuple[Any, str, str]] = [  # module or class, function, name of the part
    (cluster, "read_input", "read the file"),
    (Encoder, "check", "check the texts"),
    (clusterer, "embed_corpus", "embed"),
    (neighbors, "knn_graph", "neighbors"),
    (neighbors, "word_features", "word features"),
    (neighbors.NeighborsObjective, "_words", "words"),
    (neighbors, "joint_features", "word features"),
    (starts, "knn_graph", "neighbors"),
    (starts, "smooth", "smoothing"),
    (starts, "compress", "smoothing"),
    (starts.Features, "_kmeans", "k-means"),
    (starts, "linkage_labels", "linkage"),
    (starts, "fit_mixture", "mixture"),
    (neighbors, "fit_mixture", "mixture of all texts"),
    (neighbors, "calibrate", "temperature of the mixture"),
    (MixtureClassifier, "store", "classifier"),
    (clusterer, "calibrate", "calibration"),
    (clusterer, "most_probable", "assign"),
    (clusterer.Clusterer, "_describe_rows", "describe"),
    (clusterer, "cluster_quality", "describe"),
    (cluster, "make_page", "report"),
    (cluster, "result_tables", "write"),
    (cluster, "write_results", "write"),
]


def make_texts(n: int) -> list[str]:
    """Return ``n`` distinct texts."""
    packages = (user_cache("datasets") / debian._PACKAGES.name).read_bytes()
    descriptions = [text for _, text in debian.parse_descriptions(lzma.decompress(packages).decode("utf-8"))]
    definitions = [text for _, text in wordnet.parse_definitions(wordnet.FILE.read_text("ascii"))]
    rng, texts = np.random.default_rng(0), dict[str, None]()
    while len(texts) < n:
        pairs = zip(rng.integers(len(definitions), size=n), rng.integers(len(descriptions), size=n), strict=True)
        texts.update(dict.fromkeys(f"{definitions[i]}; {descriptions[j]}" for i, j in pairs))
    return list(texts)[:n]


def main() -> None:
    """Print the seconds of every part, and the peak."""
    options = argparse.ArgumentParser()
    options.add_argument("--texts", type=int, default=1_000_000)
    options.add_argument("--encoder", default="tfidf(max_features=384)")
    given = options.parse_args()
    parts = Parts()
    for owner, name, part in [*MEASURED, (ENCODERS[given.encoder.partition("(")[0]], "fit", "fit the encoder")]:
        parts.measure(owner, name, part)
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "texts.parquet", Path(folder) / "out"
        texts = make_texts(given.texts + N_NEW)
        pq.write_table(pa.table({"text": texts[: given.texts]}), file)
        command = ["cluster", str(file), "-k", "100", "--encoder", given.encoder, "--out", str(out), "--quiet"]
        del texts[: given.texts]
        parts.begin()
        processor = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            seconds = elapsed(lambda: app(command, standalone_mode=False))
        processor = time.process_time() - processor
        parts.close()
        print(f"{given.encoder}: {given.texts:,} texts, {seconds:.0f} s ({processor:.0f} s of processor time)")
        for name, value in sorted(parts.seconds.items(), key=lambda entry: -entry[1]):
            print(f"    {name}: {value:.0f} s of processor time, peak {parts.peaks[name]:.2f} GB")
        peak = max(parts.peaks.values())
        print(f"    peak {peak:.2f} GB; report {(out / 'report.html').stat().st_size / 2**20:.1f} MB", flush=True)
        model = coterie.load(out)
        milliseconds = 1000 * elapsed(lambda: model.predict(texts)) / N_NEW
        print(f"    a new text, in a batch of {N_NEW:,}: {milliseconds:.2f} ms")
        record(
            "file", encoder=given.encoder, n=given.texts, k=100, wall_seconds=round(seconds),
            seconds={"all": round(processor), **{name: round(value) for name, value in parts.seconds.items()}},
            peak_gb=peak, peaks={name: round(value, 2) for name, value in parts.peaks.items()},
            predict_ms=round(milliseconds, 2),
        )  # fmt: skip


if __name__ == "__main__":
    main()
