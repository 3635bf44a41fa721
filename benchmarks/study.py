"""Which part of `neighbours` gives what, how sensitive it is to each setting, and how new texts are best filed.

    python benchmarks/study.py parts                # without and with each part, on every set
    python benchmarks/study.py settings             # one setting at a time, on four sets
    python benchmarks/study.py filing               # three ways to file texts that were held out (StackOverflow)
    python benchmarks/study.py parts -s tweet       # on one set

Results are lines of benchmarks/results/study.jsonl; what is there already is not run again. Vectors are computed once
and kept. True labels are used for the scores only.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import normalized_mutual_info_score

from coterie import Neighbours, datasets
from coterie.benchmarks.cache import CachedEncoder, default_folder
from coterie.benchmarks.jobs import Job, Result, expand
from coterie.benchmarks.results import read_results
from coterie.benchmarks.run import missing, run_jobs
from coterie.contracts import Labels, Vectors
from coterie.data.texts import check_texts
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.metrics import accuracy
from coterie.graph.groups import means_of
from coterie.graph.nearest import Links, nearest
from coterie.graph.smoothing import smooth, unit_rows
from coterie.graph.words import fuse, word_vectors
from coterie.heads.centers import nearest_center

OUT = Path("benchmarks") / "results" / "study.jsonl"
PARTS = ("", "without-smoothing", "without-words", "with-words", "without-linkage", "with-linkage")
SETTINGS: dict[str, tuple[float, ...]] = {
    "n_neighbours": (5, 10, 15, 30, 60),
    "rounds": (0, 1, 2, 3, 5),
    "word_weight": (0, 0.1, 0.3, 0.5),
    "power": (0, 1, 3, 6),
}
QUICK = ["helpdesk", "tweet", "agnews", "searchsnippets"]


def part_jobs(sets: list[str], seeds: int) -> dict[str, list[Job]]:
    """Return the jobs of every part that is left out or forced."""
    return {part or "as it is": expand(["neighbours"], sets, seeds, "cpu", variant=part) for part in PARTS}


def setting_jobs(sets: list[str], seeds: int) -> dict[str, list[Job]]:
    """Return the jobs of every value of every setting; the default's is one job, whatever the setting."""
    plain = Neighbours()
    return {
        f"{name} = {value:g}": expand(
            ["neighbours"], sets, seeds, "cpu", overrides={} if value == getattr(plain, name) else {name: str(value)}
        )
        for name, values in SETTINGS.items()
        for value in values
    }


def measure(jobs: dict[str, list[Job]], sets: list[str]) -> None:
    """Run what is missing, then print a row for each entry of ``jobs``."""
    every = list({str(job): job for group in jobs.values() for job in missing(group, OUT)}.values())
    for number, outcome in enumerate(run_jobs(every, OUT, default_folder()), start=1):
        print(f"{number}/{len(every)} {outcome.job} {outcome.failure}", flush=True)
    results = read_results(OUT)
    print(f"\n| ACC / NMI | {' | '.join(sets)} |\n|---|{'--:|' * len(sets)}")
    for name, group in jobs.items():
        cells = [_cell([job for job in group if job.dataset == dataset], results) for dataset in sets]
        print(f"| {name} | {' | '.join(cells)} |")


def _cell(jobs: Iterable[Job], results: list[Result]) -> str:
    """Return the mean scores of ``jobs`` in percent, and their deviation where there are several."""
    told = [result["label_based"] for result in results if any(job.is_in([result]) for job in jobs)]
    scores = 100 * np.array([[line["acc"], line["nmi"]] for line in told])
    if not len(scores):
        return "–"
    spread = [f" ± {value:.1f}" if len(scores) > 1 else "" for value in scores.std(axis=0)]
    return " / ".join(f"{value:.1f}{around}" for value, around in zip(scores.mean(axis=0), spread, strict=True))


def compare_filing(name: str) -> None:
    """Fit on 80 % of a set, file the rest in three ways, and compare with the truth and with a fit on everything."""
    data = datasets.load(name)
    texts = check_texts(data.texts)
    encoder = CachedEncoder(inner=BundledEncoder(max_length=32, precision="float32"), folder=default_folder())
    h = encoder.fit(texts.unique).embed(texts.unique)
    first_row = np.unique(texts.inverse[texts.inverse >= 0], return_index=True)[1]
    truth = data.true_labels[texts.inverse >= 0][first_row]
    n_clusters, train = len(data.label_names), np.random.default_rng(0).random(len(h)) < 0.8
    rows = [text for text, kept in zip(texts.unique, train, strict=True) if kept]
    model = Neighbours(n_clusters=n_clusters, encoder=CachedEncoder(inner=encoder.inner, folder=encoder.folder))
    labels = model.fit_predict(rows)
    everything = Neighbours(n_clusters=n_clusters, encoder=encoder).fit_predict(texts.unique)[~train]
    e = unit_rows(h)
    words = word_vectors(texts.unique, width=max(100, 2 * n_clusters), seed=0)  # of all texts: as good as it gets
    assert words is not None
    joined = fuse(e, words, model.word_weight)
    ways = {
        "vote by vectors": model.objective_.assign_all(h[~train]).argmax(axis=1),
        "vote by vectors and words": _vote(joined[train], joined[~train], labels, n_clusters),
        "smoothed, nearest center": _smoothed(e[train], e[~train], labels, n_clusters),
    }
    print("| held out | filed by | ACC / NMI | agrees with a fit on everything |\n|---|---|--:|--:|")
    for way, found in {**ways, "in a fit on everything": everything}.items():
        acc, nmi = accuracy(truth[~train], found), normalized_mutual_info_score(truth[~train], found)
        same = accuracy(everything, found)
        print(f"| {name} | {way} | {100 * acc:.1f} / {100 * nmi:.1f} | {100 * same:.1f} |", flush=True)


def _across(train: Vectors, new: Vectors, k: int = 15) -> Links:
    """Return the nearest rows of ``train`` of each row of ``new``."""
    cosine, index = (torch.from_numpy(new) @ torch.from_numpy(train).T).topk(k, dim=1)
    return Links(index.numpy(), cosine.numpy())


def _vote(train: Vectors, new: Vectors, labels: Labels, n_clusters: int) -> Labels:
    links, votes = _across(train, new), np.zeros((len(new), n_clusters))
    np.add.at(votes, (np.arange(len(new))[:, None], labels[links.rows]), links.cosine.clip(0) ** 3)
    return np.asarray(votes.argmax(axis=1))


def _smoothed(train: Vectors, new: Vectors, labels: Labels, n_clusters: int) -> Labels:
    """Average each new text over its nearest, which are smoothed already, and take the nearest mean of a group."""
    x, links = smooth(train, nearest(train, 15), rounds=3), _across(train, new)
    weight = links.cosine.clip(0) ** 3
    averaged = unit_rows(new + np.einsum("bk,bkd->bd", weight, x[links.rows]))
    mu = means_of(torch.from_numpy(x), torch.ones(len(x)), labels, n_clusters)
    return np.asarray(nearest_center(torch.from_numpy(averaged), mu).numpy())


def main() -> None:
    """Run one part of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["parts", "settings", "filing"])
    parser.add_argument("-s", "--sets", help="between commas")
    parser.add_argument("-n", "--seeds", type=int, default=1)
    args = parser.parse_args()
    sets = args.sets.split(",") if args.sets else []
    if args.what == "filing":
        for name in sets or ["stackoverflow"]:
            compare_filing(name)
        return
    make, usual = (part_jobs, ["helpdesk", "papers"]) if args.what == "parts" else (setting_jobs, QUICK)
    jobs = make(sets or usual, args.seeds)
    measure(jobs, list(dict.fromkeys(job.dataset for group in jobs.values() for job in group)))


if __name__ == "__main__":
    main()
