"""The guard's promise: no default of a method that trains ends clearly below what takes seconds.

On label sets of all kinds (few and many clusters, even and uneven, near and far) a method's labels must be no more than
1 ACC and 0.5 NMI below the better of k-means and `neighbors`, with the true K and seed 0. Every result is a line of
benchmarks/results/promise.jsonl; a run continues from earlier ones.

    python benchmarks/promise.py run refine sccl [--sets agnews-near tweet ...] [--set trainable_layers=0]
    python benchmarks/promise.py table
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import coterie
from coterie import datasets
from coterie.cli.options import parse_settings
from coterie.clusterer import METHODS
from coterie.data.texts import check_texts
from coterie.deep import DeepClusterer
from coterie.evaluation.metrics import agreement

RESULTS = Path(__file__).parent / "results" / "promise.jsonl"
UNTRAINED = ("kmeans", "neighbors")
MAX_LOSS = {"acc": 0.01, "nmi": 0.005}


@dataclass(frozen=True)
class LabelSet:
    """Texts of some classes of a data set."""

    source: str
    n: int  # texts at most, drawn at random
    classes: tuple[int, ...] = ()  # numbers of the classes; empty: all
    largest: int = 0  # only so many of the largest classes
    halving: bool = False  # each class has half as many texts as the one before, down to twenty
    held_out: bool = False  # nothing was tuned on it
    max_length: int = 32  # tokens that the encoder reads

    @property
    def encoder(self) -> str:
        """The encoder of all methods."""
        return f"bundled(max_length={self.max_length},precision=bfloat16)"

    def load(self) -> tuple[list[str], np.ndarray]:
        """Return texts and labels, the same in every run."""
        data = datasets.load(self.source)
        labels, rng = data.true_labels, np.random.default_rng(0)
        by_size = np.argsort(-np.bincount(labels), kind="stable")
        classes = list(self.classes) or by_size[: self.largest or None].tolist()
        rows = np.flatnonzero(np.isin(labels, classes))
        if self.halving:
            parts = [rng.permutation(np.flatnonzero(labels == k)) for k in classes]
            rows = np.concatenate([part[: max(800 // 2**i, 20)] for i, part in enumerate(parts)])
        rows = np.sort(rng.permutation(rows)[: self.n])
        return [data.texts[i] for i in rows], np.unique(labels[rows], return_inverse=True)[1]


LABEL_SETS = {
    "agnews": LabelSet("agnews", 2000),
    "agnews-near": LabelSet("agnews", 1500, classes=(2, 3)),
    "searchsnippets": LabelSet("searchsnippets", 2000),
    "searchsnippets-far": LabelSet("searchsnippets", 1500, classes=(0, 4, 7)),
    "searchsnippets-uneven": LabelSet("searchsnippets", 2000, halving=True),
    "stackoverflow": LabelSet("stackoverflow", 3000),
    "stackoverflow-few": LabelSet("stackoverflow", 1500, classes=(0, 5, 10, 15)),
    "stackoverflow-uneven": LabelSet("stackoverflow", 2000, classes=tuple(range(8)), halving=True),
    "tweet": LabelSet("tweet", 2472),
    "tweet-large": LabelSet("tweet", 2000, largest=20),
    "debian": LabelSet("debian", 2000, held_out=True),
    "debian-coarse": LabelSet("debian-coarse", 2000, held_out=True),
    "wordnet": LabelSet("wordnet", 2000, held_out=True),
    "googlenews-t": LabelSet("googlenews-t", 2500, held_out=True),
    "biomedical": LabelSet("biomedical", 2000, held_out=True),
    "helpdesk": LabelSet("helpdesk", 1325, held_out=True),
    "bbc-articles": LabelSet("bbc-articles", 2225, held_out=True),
    "bbc-articles-128": LabelSet("bbc-articles", 2225, held_out=True, max_length=128),
}
BY_SIZE = {
    f"{source}-{n}": LabelSet(source, n)
    for source in ("agnews", "searchsnippets", "stackoverflow")
    for n in (250, 500, 1000, 2000, 4000, 8000)
}
LABEL_SETS |= BY_SIZE


def main() -> None:
    """Run or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "table"])
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--sets", nargs="+", default=list(LABEL_SETS), choices=list(LABEL_SETS))
    parser.add_argument("--set", dest="settings", action="append", default=[])
    arguments = parser.parse_args()
    if arguments.command == "run":
        for name in arguments.sets:
            for method in (*UNTRAINED, *arguments.methods):
                _run(name, method, arguments.settings if method not in UNTRAINED else [])
    print(table())


def _run(name: str, method: str, settings: list[str]) -> None:
    """Append the result of one method on one label set, unless there is one."""
    key = {"set": name, "method": method, "settings": settings}
    if any(key.items() <= result.items() for result in _results()):
        return
    label_set = LABEL_SETS[name]
    texts, true_labels = label_set.load()
    k = int(true_labels.max()) + 1
    cls = METHODS[method]
    rows = check_texts(texts)
    curve: list[dict[str, Any]] = []

    def score(evaluation: Any) -> None:
        labels = rows.expand(evaluation.labels, blank=-1)
        curve.append({"record": evaluation.record, **_scores(true_labels, labels)})

    model = cls(n_clusters=k, encoder=label_set.encoder, **parse_settings(settings, cls, owner=f"method {method!r}"))
    started = time.process_time()  # of the processor: other programs may run beside it
    if isinstance(model, DeepClusterer):
        model.fit(texts, callback=score)
    else:
        model.fit(texts)
    result: dict[str, Any] = key | {
        "n": len(texts),
        "k": k,
        "seconds": round(time.process_time() - started),
        "encoder": label_set.encoder,
        "version": coterie.__version__,
    }
    result |= _scores(true_labels, model.labels_)
    if isinstance(model, DeepClusterer):
        result["kept"] = model.guard_.kept
        result["curve"] = [
            {"guard": round(point["record"].get("guard", 0.0), 4), "acc": point["acc"], "nmi": point["nmi"]}
            for point in curve
        ]
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")
    print(f"{name} {method} {' '.join(settings)}: {100 * result['acc']:.1f} / {100 * result['nmi']:.1f}", flush=True)


def _scores(true_labels: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    scores = agreement(true_labels, labels)
    return {name: round(scores[name], 4) for name in MAX_LOSS}


def _results() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()] if RESULTS.exists() else []


def table() -> str:
    """Return ACC / NMI of every result and of its epoch with the highest NMI, and whether the promise is kept."""
    head = "| set | N | K | k-means | neighbors | method | ACC / NMI | kept | best epoch | promise | seconds |"
    results, names = _results(), list(LABEL_SETS)
    trained = [r for r in results if r["method"] not in UNTRAINED and r["set"] not in BY_SIZE]
    trained.sort(key=lambda result: (result["method"] != "refine", result["method"], names.index(result["set"])))
    rows = [_row(result, {r["method"]: r for r in results if r["set"] == result["set"]}) for result in trained]
    return "\n".join([head, "|---|--:|--:|--:|--:|---|--:|---|--:|---|--:|", *rows])


def table_by_size() -> str:
    """Return ACC / NMI of k-means, `neighbors` and `refine` on random parts of data sets, by the number of texts."""
    by_key = {(r["set"], r["method"]): r for r in _results() if not r["settings"]}
    rows = []
    for name, label_set in BY_SIZE.items():
        if found := by_key.get((name, "refine")):
            start = by_key[name, "neighbors"]
            gain = " / ".join(f"{100 * (found[metric] - start[metric]):+.1f}" for metric in MAX_LOSS)
            pairs = [_pair(by_key[name, method]) for method in (*UNTRAINED, "refine")]
            rows.append([label_set.source, found["n"], found["k"], *pairs, gain, found["seconds"]])
    head = "| set | N | K | k-means | neighbors | refine | gain over neighbors | seconds |"
    return "\n".join([head, "|---|--:|--:|--:|--:|--:|--:|--:|", *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def _row(result: dict[str, Any], of_set: dict[str, dict[str, Any]]) -> str:
    base = [of_set[method] for method in UNTRAINED]
    is_kept = all(result[name] >= max(r[name] for r in base) - loss for name, loss in MAX_LOSS.items())
    cells = [
        result["set"] + (" (held out)" if LABEL_SETS[result["set"]].held_out else ""), result["n"], result["k"],
        *map(_pair, base), " ".join([result["method"], *result["settings"]]), _pair(result),
        f"epoch {result['kept']}" if result["kept"] else "untrained",
        _pair(max(result["curve"][1:], key=lambda point: point["nmi"])), "yes" if is_kept else "NO", result["seconds"],
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _pair(result: dict[str, Any]) -> str:
    return f"{100 * result['acc']:.1f} / {100 * result['nmi']:.1f}"


if __name__ == "__main__":
    main()
