"""Which epoch would other rules of the guard have kept? Over recorded curves, each set left out in turn.

The score in these curves is the agreement of neighbors, the guard's score in version 0.1.0, or J in later ones. The
regret is the NMI of the best epoch minus that of the kept one, in points. The last row applies to each set the rule
with the least regret on all other sets.

    python benchmarks/guard_rules.py [benchmarks/results/cpu.jsonl ...]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

Rule = Callable[[Sequence[float]], int]
"""Given the scores of all epochs, the first of them before training, return the epoch to keep."""


def allowance(epsilon: float) -> Rule:
    """Return the rule that keeps the best trained epoch unless the start is better by ``epsilon``."""

    def rule(scores: Sequence[float]) -> int:
        best = 1 + int(np.argmax(scores[1:]))
        return best if scores[best] > scores[0] - epsilon else 0

    return rule


def latest(epsilon: float) -> Rule:
    """Return the rule that keeps the latest epoch whose score is within ``epsilon`` of the best."""
    return lambda scores: max(i for i, score in enumerate(scores) if score >= max(scores) - epsilon)


RULES: dict[str, Rule] = {
    "allowance 0.01 (version 0.1.0)": allowance(0.01),
    "highest score": allowance(0.0),
    "must gain 0.005": allowance(-0.005),
    "must gain 0.01": allowance(-0.01),
    "latest within 0.01": latest(0.01),
    "latest within 0.005": latest(0.005),
    "last epoch": lambda scores: len(scores) - 1,
    "no training": lambda _: 0,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=[Path(__file__).parent / "results" / "cpu.jsonl"])
    curves = _curves(parser.parse_args().files)
    sets = sorted({name for name, _, _ in curves})
    print(f"{len(curves)} trainings on {len(sets)} sets\n")
    print("| rule | regret, mean | regret, worst | trainings more than 0.1 below their start | more than 0.5 |")
    print("|---|--:|--:|--:|--:|")
    for name, rule in RULES.items():
        _print_row(name, [_outcome(rule, scores, nmi) for _, scores, nmi in curves])
    chosen, outcomes = {}, []
    for left_out in sets:
        rest = [(scores, nmi) for name, scores, nmi in curves if name != left_out]
        chosen[left_out] = min(RULES, key=lambda name: np.mean([_outcome(RULES[name], *curve)[0] for curve in rest]))
        rule = RULES[chosen[left_out]]
        outcomes += [_outcome(rule, scores, nmi) for name, scores, nmi in curves if name == left_out]
    _print_row("chosen on the other sets", outcomes)
    print(f"\nChosen: {chosen}")


def _curves(files: Sequence[Path]) -> list[tuple[str, list[float], list[float]]]:
    """Return the set, the scores and the NMI of every recorded training of texts that the guard judged."""
    found = []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            result = json.loads(line)
            points = [point for point in result.get("curve", []) if "guard" in point]
            if len(points) > 1:
                nmi = [100 * point["nmi"] for point in points]
                found.append((result["set"], [point["guard"] for point in points], nmi))
    return found


def _outcome(rule: Rule, scores: Sequence[float], nmi: Sequence[float]) -> tuple[float, float]:
    """Return the regret, and by how much the kept epoch is below the start."""
    kept = nmi[rule(scores)]
    return max(nmi) - kept, nmi[0] - kept


def _print_row(name: str, outcomes: Sequence[tuple[float, float]]) -> None:
    regret, below = np.array(outcomes).T
    counts = f"{(below > 0.1).sum()} | {(below > 0.5).sum()}"
    print(f"| {name} | {regret.mean():.2f} | {regret.max():.1f} | {counts} |")


if __name__ == "__main__":
    main()
