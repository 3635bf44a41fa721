"""Which score, and which rule, should the guard have? Over curves of trainings, each data set left out in turn.

A curve is a training of `refine` on a label set of benchmarks/promise.py that may be tuned on: of two layers by its
defaults; and of a small network above fixed embeddings by the same loss, with texts of the same cluster as negatives,
and with a loss and a rate that do harm. For each epoch it holds ACC, NMI, and J of the labels as they are and after EM,
over neighbors by embeddings and by embeddings and words. The regret is the NMI of the best epoch minus that of the kept
one, in points. Curves are lines of benchmarks/results/guard.jsonl; a run continues from earlier ones.

    python benchmarks/guard_rules.py run [--sets agnews-near tweet ...]
    python benchmarks/guard_rules.py table
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from coterie.arrays import unit_rows
from coterie.closing import evidence_of
from coterie.clustering.mixture import Evidence, MixtureSettings, fit_mixture, neighbor_weights
from coterie.contracts import Corpus
from coterie.data.texts import check_texts
from coterie.encoders.encoder import make_encoder
from coterie.evaluation.metrics import agreement
from coterie.knn.graph import knn_graph
from coterie.methods.refine import Refine
from promise import BY_SIZE, LABEL_SETS

RESULTS = Path(__file__).parent / "results" / "guard.jsonl"
TUNED_ON = [name for name, of in LABEL_SETS.items() if not of.held_out and name not in BY_SIZE]
SMALL: dict[str, Any] = {"trainable_layers": 0, "epochs": 4}
TRAININGS: dict[str, dict[str, Any]] = {
    "default": SMALL,
    "negatives of all clusters": SMALL | {"negatives": "all"},
    "harmful": SMALL | {"negatives": "all", "pseudo_label_weight": 0.0, "temperature": 0.05, "head_lr": 1e-2},
    "two layers": {"trainable_layers": 2, "epochs": 3},
}
AS_THEY_ARE = MixtureSettings(max_rounds=0)


@dataclass(frozen=True)
class Rule:
    """Keeps the epoch with the highest score, if that is above the score of the start by ``gain`` log K."""

    neighbors: str = "joint"  # by which W is made: embeddings, or joint with words
    labels: str = "as they are"  # or after EM, or after EM where it changes less than 5 %
    evenness: float | None = 2.0  # weight of the entropy of the sizes; None: 0.7 log(K/3), as in the choice of starts
    gain: float = -0.05
    latest: bool = False  # the last epoch that is above the limit in place of the best

    def kept(self, curve: dict[str, Any]) -> int:
        """Return the epoch; 0: before training."""
        k, scores = curve["k"], [self._score(point[self.neighbors], curve["k"]) for point in curve["epochs"]]
        passed = [i for i in range(1, len(scores)) if scores[i] > scores[0] + self.gain * math.log(k)]
        return 0 if not passed else passed[-1] if self.latest else max(passed, key=lambda i: scores[i])

    def _score(self, point: dict[str, float], k: int) -> float:
        after = self.labels == "after EM" or (self.labels != "as they are" and point["same"] >= 0.95)
        weight = 0.7 * max(math.log(k / 3), 0.0) if self.evenness is None else self.evenness
        return point["j_em"] - weight * point["h_em"] if after else point["j"] - weight * point["h"]

    def __str__(self) -> str:
        evenness = "0.7 log(K/3)" if self.evenness is None else f"{self.evenness:g}"
        which = "last" if self.latest else "best"
        return f"{which} with J - {evenness} H {self.labels}, {self.neighbors}, > start {self.gain:+g} log K"


FIRST = Rule("embeddings", "after EM of few", 2.0, 0.006)
BEFORE = Rule(evenness=3.0)
RULES = [
    Rule(neighbors, labels, evenness, gain, latest)
    for neighbors in ("joint", "embeddings")
    for labels in ("as they are", "after EM", "after EM of few")
    for evenness in (0.0, 1.0, 2.0, 3.0, 4.0, None)
    for gain in (0.01, 0.006, 0.0, -0.01, -0.02, -0.03, -0.04, -0.05, -0.06, -0.08)
    for latest in (False, True)
]


def main() -> None:
    """Run or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "table"])
    parser.add_argument("--sets", nargs="+", default=TUNED_ON, choices=TUNED_ON)
    arguments = parser.parse_args()
    if arguments.command == "run":
        for name in arguments.sets:
            _run(name)
    _print_table(_curves())


def _run(name: str) -> None:
    """Append the curves of the trainings on one label set that are missing."""
    missing = [training for training in TRAININGS if not _is_there(name, training)]
    if not missing:
        return
    texts, true_labels = LABEL_SETS[name].load()
    k, rows = int(true_labels.max()) + 1, check_texts(texts)
    h = make_encoder(LABEL_SETS[name].encoder).embed(rows.unique)
    evidence = _evidence(Corpus(rows.unique, torch.from_numpy(h), torch.from_numpy(rows.counts)), k)
    vectors = dict(zip(rows.unique, h, strict=True))

    def known(texts: Sequence[str]) -> np.ndarray:
        return np.array([vectors.get(text, 0 * h[0]) for text in texts])

    for training in missing:
        epochs: list[dict[str, Any]] = []

        def record(evaluation: Any, epochs: list[dict[str, Any]] = epochs) -> None:
            scores = agreement(true_labels, rows.expand(evaluation.labels, blank=-1))
            point = {by: _point(found, evaluation.labels, k) for by, found in evidence.items()}
            epochs.append({"acc": round(scores["acc"], 4), "nmi": round(scores["nmi"], 4), **point})

        settings = TRAININGS[training]
        encoder = LABEL_SETS[name].encoder if settings["trainable_layers"] else known
        model = Refine(n_clusters=k, encoder=encoder, epoch_steps=30, patience=None, **settings)
        model.fit(texts, callback=record)
        result = {
            "set": name,
            "training": training,
            "k": k,
            "n": len(texts),
            "encoder": LABEL_SETS[name].encoder,
            "epochs": epochs,
        }
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        print(name, training, [round(100 * point["nmi"], 1) for point in epochs], flush=True)


def _is_there(name: str, training: str) -> bool:
    return any((curve["set"], curve["training"]) == (name, training) for curve in _curves())


def _evidence(corpus: Corpus, k: int) -> dict[str, Evidence]:
    """Return what the mixture explains, with neighbors by embeddings and words, and by embeddings alone."""
    joint = evidence_of(corpus, k, seed=0)
    graph = knn_graph(unit_rows(corpus.h.numpy()), 15)
    return {"joint": joint, "embeddings": replace(joint, neighbors=neighbor_weights(graph, joint.counts))}


def _point(evidence: Evidence, labels: np.ndarray, k: int) -> dict[str, float]:
    """Return J and the entropy of the sizes, of the labels as they are and after EM, and the share that EM leaves."""
    start, end = fit_mixture(evidence, labels, k, AS_THEY_ARE), fit_mixture(evidence, labels, k)
    found = {"j": start.score, "h": start.size_entropy, "j_em": end.score, "h_em": end.size_entropy}
    return {name: round(value, 4) for name, value in found.items()} | {
        "same": round(float((end.labels == labels).mean()), 4)
    }


def _curves() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()] if RESULTS.exists() else []


def _print_table(curves: Sequence[dict[str, Any]]) -> None:
    """Print the regret of some rules, of the best one, and of the one chosen without the set at hand."""
    sets = sorted({curve["set"] for curve in curves})
    print(f"{len(curves)} trainings on {len(sets)} sets, {len(RULES)} rules\n")
    print("| rule | regret, mean | regret, worst | gain over no training, mean | worst |")
    print("|---|--:|--:|--:|--:|")
    _print_row("no training", [(_best(curve) - _nmi(curve, 0), 0.0) for curve in curves])
    _print_row("last epoch", [_outcome(curve, len(curve["epochs"]) - 1) for curve in curves])
    _print_row(f"at first: {FIRST}", _outcomes(FIRST, curves))
    _print_row(f"before: {BEFORE}", _outcomes(BEFORE, curves))
    _print_row(f"now: {Rule()}", _outcomes(Rule(), curves))
    _print_row("now, but the last epoch above the limit", _outcomes(Rule(latest=True), curves))
    best = _least_regret(curves)
    _print_row(f"least regret: {best}", _outcomes(best, curves))
    outcomes = []
    for left_out in sets:
        rule = _least_regret([curve for curve in curves if curve["set"] != left_out])
        outcomes += _outcomes(rule, [curve for curve in curves if curve["set"] == left_out])
    _print_row("least regret on the other sets", outcomes)
    layers = [curve for curve in curves if curve["training"] == "two layers"]
    for rule in (BEFORE, Rule(), Rule(gain=-0.1)) if layers else ():
        _print_row(f"two layers only: {rule}", _outcomes(rule, layers))


def _least_regret(curves: Sequence[dict[str, Any]]) -> Rule:
    return min(RULES, key=lambda rule: np.mean([regret for regret, _ in _outcomes(rule, curves)]))


def _outcomes(rule: Rule, curves: Iterable[dict[str, Any]]) -> list[tuple[float, float]]:
    return [_outcome(curve, rule.kept(curve)) for curve in curves]


def _outcome(curve: dict[str, Any], kept: int) -> tuple[float, float]:
    """Return the regret, and the gain over the start."""
    return _best(curve) - _nmi(curve, kept), _nmi(curve, kept) - _nmi(curve, 0)


def _nmi(curve: dict[str, Any], epoch: int) -> float:
    return 100 * float(curve["epochs"][epoch]["nmi"])


def _best(curve: dict[str, Any]) -> float:
    return max(_nmi(curve, epoch) for epoch in range(len(curve["epochs"])))


def _print_row(name: str, outcomes: Sequence[tuple[float, float]]) -> None:
    regret, gain = np.array(outcomes).T
    print(f"| {name} | {regret.mean():.2f} | {regret.max():.1f} | {gain.mean():+.2f} | {gain.min():+.1f} |")


if __name__ == "__main__":
    main()
