"""`neighbors` and k-means on every data set of texts, and which sets were tuned on.

    python benchmarks/held_out.py                       # run what is missing, 3 seeds, and print the table
    python benchmarks/held_out.py --seeds 0             # print what is there
    python benchmarks/held_out.py -e bundled+e5         # with another encoder, beside the bundled one

Starts, settings and the choice among starts were made on AgNews, SearchSnippets, StackOverflow, Tweet and subsets of
their classes. docs/methods/neighbors.md says when the other sets were looked at. Results are lines of
benchmarks/results/neighbors.jsonl.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from coterie.experiments.embedding_cache import default_folder
from coterie.experiments.jobs import PAPER_SETS, Job, Result, expand
from coterie.experiments.results import read_results
from coterie.experiments.runner import missing, run_jobs

OUT = Path("benchmarks") / "results" / "neighbors.jsonl"
TUNED = ("agnews", "searchsnippets", "stackoverflow", "tweet")
MADE = ("wordnet", "wordnet-coarse", "debian", "debian-coarse")
SETS = (*TUNED, *(name for name in PAPER_SETS if name not in TUNED), "helpdesk", *MADE)
METHODS = ("kmeans", "neighbors")
MAX_SEEDS = 3
AIMS = {  # ACC, NMI with the bundled encoder, and joined with e5
    "agnews": ((85.5, 65.0), (87.3, 66.8)),
    "searchsnippets": ((80.5, 69.0), (81.0, 70.0)),
    "stackoverflow": ((88.0, 79.9), (90.5, 83.0)),
    "biomedical": ((54.8, 47.1), (55.2, 48.8)),
    "googlenews-ts": ((90.0, 96.1), (90.0, 96.1)),
    "googlenews-t": ((84.5, 92.3), (84.5, 92.3)),
    "googlenews-s": ((91.3, 94.5), (91.3, 94.5)),
    "tweet": ((92.3, 95.7), (94.5, 96.7)),
}
Scores = np.ndarray
"""ACC and NMI in percent, one row per seed."""


def scores(jobs: list[Job], results: list[Result]) -> Scores:
    """Return ACC and NMI (S, 2) of the jobs that have a result."""
    found = [result["label_based"] for result in results if any(job.is_in([result]) for job in jobs)]
    return 100 * np.array([[line["acc"], line["nmi"]] for line in found]).reshape(-1, 2)


def row(name: str, by_method: dict[str, Scores], joined: bool) -> str:
    """Return a line of the table."""
    kmeans, ours = by_method["kmeans"], by_method["neighbors"]
    gain = _pair(ours.mean(axis=0) - kmeans.mean(axis=0), "+.1f") if len(ours) and len(kmeans) else "–"
    aim = AIMS.get(name, (None, None))[joined]
    cells = [
        name,
        "yes" if name in TUNED else "no",
        _mean(kmeans),
        _mean(ours),
        gain,
        _spread(ours),
        _reached(ours, aim),
    ]
    return f"| {' | '.join(cells)} |"


def _pair(values: np.ndarray, form: str = ".1f") -> str:
    return " / ".join(format(value, form) for value in values)


def _mean(values: Scores) -> str:
    return f"{_pair(values.mean(axis=0))} ({len(values)})" if len(values) else "–"


def _spread(values: Scores) -> str:
    return _pair(values.min(axis=0)) if len(values) else "–"


def _reached(values: Scores, aim: tuple[float, float] | None) -> str:
    if aim is None or not len(values):
        return "–"
    reached = ["yes" if mean >= wanted else "no" for mean, wanted in zip(values.mean(axis=0), aim, strict=True)]
    return f"{_pair(np.array(aim))}: {', '.join(reached)}"


def print_table(encoder: str, sets: list[str]) -> None:
    """Print the means of all seeds that have a result."""
    results = read_results(OUT)
    print("| set | tuned on | k-means ACC / NMI (seeds) | neighbors | gain | worst seed | aim |")
    print("|---|---|--:|--:|--:|--:|---|")
    made = []
    for name in sets:
        by_method = {
            method: scores(expand([method], [name], MAX_SEEDS, "cpu", encoder=encoder), results) for method in METHODS
        }
        print(row(name, by_method, "+" in encoder))
        if name in MADE and all(map(len, by_method.values())):
            made.append(by_method["neighbors"].mean(axis=0) - by_method["kmeans"].mean(axis=0))
    if made:
        print(f"\nMade sets: gain over k-means {_pair(np.mean(made, axis=0), '+.1f')} on average, "
              f"at worst {_pair(np.min(made, axis=0), '+.1f')} ACC / NMI.")  # fmt: skip


def main() -> None:
    """Run the missing jobs, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-e", "--encoder", default="", help="instead of the bundled encoder")
    parser.add_argument("-s", "--sets", default=",".join(SETS), help="data sets, separated by commas")
    parser.add_argument("-n", "--seeds", type=int, default=MAX_SEEDS, help="number of seeds; 0: only print")
    args = parser.parse_args()
    sets = args.sets.split(",")
    if args.seeds:
        jobs = missing(expand(METHODS, sets, args.seeds, "cpu", encoder=args.encoder), OUT)
        for number, outcome in enumerate(run_jobs(jobs, OUT, default_folder()), start=1):
            print(f"{number}/{len(jobs)} {outcome.job} {outcome.failure}", flush=True)
    print_table(args.encoder, sets)


if __name__ == "__main__":
    main()
