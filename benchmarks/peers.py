"""Compare with what one would take instead, on the same vectors: BERTopic, EVoC, UMAP + k-means, ClustPy's IDEC.

The programs live in an environment of their own (benchmarks/peers-requirements.txt), so there are three steps:

    python benchmarks/peers.py ours --sets tweet,agnews        # vectors of the bundled encoder; kmeans and neighbors
    PEERS/bin/python benchmarks/peers.py peers                 # every program with its defaults, on these vectors
    python benchmarks/peers.py page                            # writes the table into docs/comparison.md

`table` only prints it.

Runs that have a line in the results are left out. Labels are used for the scores only. Outliers (-1) of BERTopic and
EVoC count as one more cluster, and their share is shown. Seconds are of the processor and of clustering alone, without
the encoder. Those that numba compiles first cluster 5,000 texts, so that this is not measured.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

Case = dict[str, Any]
FOLDER = Path("build/peer-vectors")
RESULTS = Path("benchmarks/results/peers.jsonl")
PAGE = Path("docs/comparison.md")
PACKAGES = {"BERTopic": "bertopic", "EVoC": "evoc", "UMAP + k-means": "umap-learn", "ClustPy IDEC": "clustpy"}
TORCHVISION = ("torchvision", "torchvision.models", "torchvision.models._api")
"""Modules that ClustPy imports for images, which are not needed here: stand-ins take their place."""
WARM_UP = 5000  # texts; UMAP searches neighbors of more than 4,096 in another way


def bertopic(case: Case, seed: int) -> Any:
    """BERTopic with its defaults; UMAP has a seed."""
    model = importlib.import_module("bertopic").BERTopic
    return model(umap_model=umap(5, seed)).fit_transform(case["texts"], case["h"])[0]


def evoc(case: Case, seed: int) -> Any:
    """EVoC with its defaults."""
    return importlib.import_module("evoc").EVoC(random_state=seed).fit_predict(case["h"])


def umap_kmeans(case: Case, seed: int) -> Any:
    """UMAP as in BERTopic, then k-means with the true number of clusters."""
    x = umap(5, seed).fit_transform(case["h"])
    return KMeans(case["k"], n_init=10, random_state=seed).fit_predict(x)


def clustpy_idec(case: Case, seed: int) -> Any:
    """ClustPy's IDEC with its defaults and the true number of clusters."""
    for name in TORCHVISION:
        sys.modules.setdefault(name, MagicMock(name=name))
    model = importlib.import_module("clustpy.deep").IDEC
    return model(n_clusters=case["k"], random_state=seed).fit(case["h"]).labels_


def umap(n_components: int, seed: int) -> Any:
    """Return UMAP as BERTopic sets it up."""
    model = importlib.import_module("umap").UMAP
    return model(n_neighbors=15, n_components=n_components, min_dist=0.0, metric="cosine", random_state=seed)


def ours(method: str) -> Callable[[Case, int], Any]:
    """Return a function that runs one of our methods on the same vectors."""

    def run(case: Case, seed: int) -> Any:
        import coterie

        model = coterie.METHODS[method](n_clusters=case["k"], encoder=case["encoder"], random_state=seed)
        return model.fit(case["texts"], vectors=case["h"]).labels_

    return run


PEERS = {
    "BERTopic": bertopic,
    "EVoC": evoc,
    "UMAP + k-means": umap_kmeans,
    "ClustPy IDEC": clustpy_idec,
}
COMPILED = ("BERTopic", "EVoC", "UMAP + k-means")  # by numba, on the first call
OURS = {"kmeans": ours("kmeans"), "neighbors": ours("neighbors")}


def run_ours(sets: list[str], seeds: int) -> None:
    """Embed the data sets, write them for the peers, and run our methods."""
    from coterie import datasets
    from coterie.encoders.encoder import make_encoder

    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in sets:
        data = datasets.load(name)
        encoder = make_encoder("bundled(max_length=32,precision=float32)")
        rows = encoder.check(data.items)
        h = rows.expand(encoder.embed_corpus(rows.unique), 0.0).astype(np.float32)
        case: Case = {"texts": list(data.items), "h": h, "k": len(data.label_names), "y": data.true_labels}
        np.savez(FOLDER / f"{name}.npz", h=h, y=case["y"], texts=np.array(case["texts"]), k=case["k"])
        measure(name, case | {"encoder": encoder}, OURS, seeds)


def run_peers(names: list[str], sets: list[str], seeds: int) -> None:
    """Run the other programs on what :func:`run_ours` wrote."""
    for path in sorted(FOLDER.glob("*.npz")):
        if sets and path.stem not in sets:
            continue
        with np.load(path) as stored:
            case = {"texts": stored["texts"].tolist(), "h": stored["h"], "k": int(stored["k"]), "y": stored["y"]}
        measure(path.stem, case, {name: PEERS[name] for name in names}, seeds)


def measure(dataset: str, case: Case, programs: dict[str, Callable[[Case, int], Any]], seeds: int) -> None:
    """Append a line with scores to the results for each program and seed that has none."""
    there = {(line["program"], line["set"], line["seed"]) for line in read_results()}
    for name, program in programs.items():
        left = [seed for seed in range(seeds) if (name, dataset, seed) not in there]
        if left and name in COMPILED:
            program(_first_texts(case), 0)
        for seed in left:
            start, processor = time.perf_counter(), time.process_time()
            labels = np.asarray(program(case, seed))
            seconds, processor = time.perf_counter() - start, time.process_time() - processor
            line = {"program": name, "version": version(PACKAGES.get(name, "coterie")), "set": dataset, "seed": seed}
            line |= {"seconds": round(seconds, 1), "processor_seconds": round(processor, 1)}
            line |= scores(case["y"], labels) | {"k": case["k"]}
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            sys.stderr.write(f"{line}\n")


def read_results() -> list[dict[str, Any]]:
    """Return all lines of the results."""
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()] if RESULTS.exists() else []


def _first_texts(case: Case) -> Case:
    return case | {"texts": case["texts"][:WARM_UP], "h": case["h"][:WARM_UP], "k": min(case["k"], 10)}


def scores(y: Any, labels: Any) -> dict[str, float]:
    """Return ACC, NMI, ARI, the number of clusters that were found, and the share of outliers."""
    counts = contingency_matrix(y, labels)
    matched = counts[linear_sum_assignment(-counts)].sum()
    return {
        "acc": round(float(matched / len(y)), 4),
        "nmi": round(float(normalized_mutual_info_score(y, labels)), 4),
        "ari": round(float(adjusted_rand_score(y, labels)), 4),
        "found": len(set(labels.tolist()) - {-1}),
        "outliers": round(float((labels < 0).mean()), 4),
    }


def table() -> str:
    """Return the results as Markdown: means over seeds."""
    lines = read_results()
    sets = list(dict.fromkeys(line["set"] for line in lines))
    rows = [f"| | {' | '.join(sets)} |", "|---" * (len(sets) + 1) + "|"]
    for name in [*OURS, *PEERS]:
        cells = [
            _cell([line for line in lines if (line["program"], line["set"]) == (name, dataset)]) for dataset in sets
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def write_page() -> None:
    """Replace the table of the page by that of the results."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(r"^\| \|.*(\n\|.*)+", lambda _: table(), text, flags=re.MULTILINE), encoding="utf-8")


def _cell(lines: list[dict[str, Any]]) -> str:
    if not lines:
        return "–"
    mean = {key: float(np.mean([line[key] for line in lines])) for key in ("acc", "nmi", "ari", "found", "outliers")}
    text = f"{100 * mean['acc']:.1f} / {100 * mean['nmi']:.1f} / {100 * mean['ari']:.1f}"
    if mean["found"] != lines[0]["k"]:
        text += f", {mean['found']:.0f} of {lines[0]['k']} clusters"
    if mean["outliers"]:
        text += f", {100 * mean['outliers']:.0f} % outliers"
    return f"{text}; {np.median([line['processor_seconds'] for line in lines]):.0f} s"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["ours", "peers", "table", "page"])
    parser.add_argument("--sets", default="", help="separated by commas")
    parser.add_argument("--programs", default=",".join(PEERS), help="separated by commas")
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    sets = [name for name in arguments.sets.split(",") if name]
    if arguments.step == "ours":
        run_ours(sets or ["tweet"], arguments.seeds)
    elif arguments.step == "peers":
        run_peers(arguments.programs.split(","), sets, arguments.seeds)
    elif arguments.step == "page":
        write_page()
    else:
        sys.stdout.write(table() + "\n")


if __name__ == "__main__":
    main()
