"""The number of clusters that is chosen, beside the true one: coterie's `auto`, BERTopic, EVoC and HDBSCAN on UMAP.

    python benchmarks/n_clusters.py embed                 # texts and embeddings of all sets, for the programs below
    python benchmarks/n_clusters.py run auto
    python3.11 -m venv PEERS && PEERS/bin/pip install -r benchmarks/peers-requirements.txt
    PEERS/bin/python benchmarks/n_clusters.py run bertopic evoc hdbscan
    python benchmarks/n_clusters.py table                 # --sets tweet,agnews  some sets, in every command

All of them get the same embeddings (encoder `bundled`, all-MiniLM-L6-v2, the default of BERTopic) of the distinct texts
and run with their defaults and seed 0. HDBSCAN runs on the UMAP of BERTopic, whose seconds count once. Outliers (-1)
are no cluster. Labels are counted for the column of true numbers only.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SETS = (
    "agnews", "searchsnippets", "stackoverflow", "biomedical",
    "googlenews-ts", "googlenews-t", "googlenews-s", "tweet", "helpdesk",
)  # fmt: skip
FOLDER = Path("build/n_clusters")
RESULTS = Path(__file__).parent / "results" / "n-clusters.jsonl"
_FACTOR = 1.5  # a number within this factor of the true one counts as near
Found = tuple[int, float]
"""A number of clusters, and the share of texts without one."""


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["embed", "run", "table"])
    parser.add_argument("programs", nargs="*", metavar="program", help=", ".join(PROGRAMS))
    parser.add_argument("--sets", default=",".join(SETS))
    given = parser.parse_args()
    sets = given.sets.split(",")
    if given.command == "table":
        print(table(_read()))
    elif given.command == "embed":
        for name in sets:
            embed(name)
    else:
        for name in sets:
            run(name, given.programs)


def embed(name: str) -> None:
    """Write the distinct texts of a data set, their embeddings and the true number of clusters."""
    from coterie import datasets
    from coterie.data.texts import check_texts
    from coterie.encoders.encoder import make_encoder

    data = datasets.load(name)
    texts = check_texts(data.texts).unique
    FOLDER.mkdir(parents=True, exist_ok=True)
    np.save(FOLDER / f"{name}.npy", make_encoder("bundled").fit(texts).embed_corpus(texts))
    true = len(np.unique(data.true_labels))
    (FOLDER / f"{name}.json").write_text(json.dumps({"texts": texts, "true": true}), encoding="utf-8")
    print(f"{name}: {len(texts):,} distinct texts, {true} clusters", flush=True)


def run(name: str, programs: list[str]) -> None:
    """Run programs on one data set, and append what they found to the results."""
    stored = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    h = np.load(FOLDER / f"{name}.npy")
    for program in programs:
        start = time.process_time()
        n_clusters, outliers = PROGRAMS[program](stored["texts"], h)
        row = {
            "set": name, "program": program, "version": _version(program), "seed": 0, "n": len(h),
            "true": stored["true"], "n_clusters": n_clusters, "outliers": round(outliers, 3),
            "cpu_seconds": round(time.process_time() - start, 1),
        }  # fmt: skip
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)


def by_auto(_texts: list[str], h: Any) -> Found:
    """`n_clusters="auto"` of coterie, with its sample of 3,000 texts."""
    from coterie.clustering.n_clusters import choose_n_clusters, sample_rows

    return choose_n_clusters(h[sample_rows(len(h), 0)], seed=0).n_clusters, 0.0


def by_bertopic(texts: list[str], h: Any) -> Found:
    """BERTopic with its defaults: UMAP to 5 dimensions, HDBSCAN with at least 10 texts in a cluster."""
    from bertopic import BERTopic  # type: ignore[import-not-found]

    model = BERTopic(umap_model=Reduced(_reduced(h)), embedding_model=None, calculate_probabilities=False)
    return _counted(model.fit_transform(texts, h)[0])


def by_evoc(_texts: list[str], h: Any) -> Found:
    """EVoC with its defaults: the layer that persists most."""
    import evoc  # type: ignore[import-not-found]

    return _counted(evoc.EVoC(random_state=0).fit_predict(h.astype(np.float32)))


def by_hdbscan(_texts: list[str], h: Any) -> Found:
    """HDBSCAN with its defaults, at least 5 texts in a cluster, on the UMAP of BERTopic."""
    import hdbscan  # type: ignore[import-not-found]

    return _counted(hdbscan.HDBSCAN().fit_predict(_reduced(h)))


PROGRAMS: dict[str, Callable[[list[str], Any], Found]] = {
    "auto": by_auto,
    "bertopic": by_bertopic,
    "evoc": by_evoc,
    "hdbscan": by_hdbscan,
}


def _reduced(h: Any) -> Any:
    """Return the UMAP (N, 5) that BERTopic uses by default, with a seed; computed once for each set."""
    from umap import UMAP

    if _LAST.get("h") is not h:
        umap = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", low_memory=False, random_state=0)
        _LAST.update(h=h, reduced=umap.fit_transform(h))
    return _LAST["reduced"]


_LAST: dict[str, Any] = {}


class Reduced:
    """A UMAP that is already computed, as BERTopic takes it."""

    def __init__(self, reduced: Any) -> None:
        self.reduced = reduced

    def fit(self, _h: Any, y: Any = None) -> Reduced:
        """Do nothing."""
        return self

    def transform(self, _h: Any) -> Any:
        """Return what was computed."""
        return self.reduced


def _counted(labels: Any) -> Found:
    labels = np.asarray(labels)
    return len(np.unique(labels[labels >= 0])), float((labels < 0).mean())


def _version(program: str) -> str:
    from importlib.metadata import version

    return version("coterie" if program == "auto" else program)


def _read() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the last result of every program on every set."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    return {(row["set"], row["program"]): row for row in map(json.loads, lines)}


def table(results: dict[tuple[str, str], dict[str, Any]]) -> str:
    """Return the numbers as a table in Markdown, with the number of sets where each program is near."""
    return "\n".join(_lines(results))


def _lines(results: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    yield f"| set | true | {' | '.join(PROGRAMS)} |"
    yield f"|---|--:|{'--:|' * len(PROGRAMS)}"
    near, measured = dict.fromkeys(PROGRAMS, 0), dict.fromkeys(PROGRAMS, 0)
    for name in SETS:
        rows = {program: results.get((name, program)) for program in PROGRAMS}
        true = next((row["true"] for row in rows.values() if row), "")
        cells = []
        for program, row in rows.items():
            measured[program] += row is not None
            if row and max(row["n_clusters"] / row["true"], row["true"] / max(row["n_clusters"], 1)) <= _FACTOR:
                near[program] += 1
            cells.append(str(row["n_clusters"]) if row else "-")
        yield f"| {name} | {true} | {' | '.join(cells)} |"
    counts = [f"{near[program]} of {measured[program]}" for program in PROGRAMS]
    yield f"| within a factor of {_FACTOR} | | {' | '.join(counts)} |"


if __name__ == "__main__":
    main()
