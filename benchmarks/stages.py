"""ClusterBERT stage by stage: NMI, ACC, silhouette and Dunn (its Fig. 3), and what a t-SNE shows (its Fig. 1).

    make bench-stages                                    # BBC, some minutes on two cores; a figure
    python benchmarks/stages.py --set tweet
    python benchmarks/stages.py --variant no-reconstruction --askubuntu FOLDER   # Fig. 4, with MRR and MAP
    python benchmarks/stages.py --measured               # the stages of what `make bench-clusterbert` has measured

The settings are those of `coterie bench run --preset cpu`, with the guard off, so that every stage is seen. True labels
are used for the scores and the colours only. The figure is docs/figures/clusterbert-SET.png unless --out names another.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE
from sklearn.metrics import normalized_mutual_info_score

from coterie import ClusterBERT, datasets
from coterie.benchmarks.recipes import recipe_for
from coterie.benchmarks.results import read_results
from coterie.contracts import Labels
from coterie.data.askubuntu import Question, read_askubuntu
from coterie.data.texts import check_texts
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.metrics import accuracy, dunn, silhouette
from coterie.evaluation.retrieval import rerank
from coterie.training.trainer import Evaluation

RESULTS = Path("benchmarks") / "results" / "cpu.jsonl"
_DRAWN = 2000  # texts in the figure
_DIFFERENT = 20  # colours; more classes than that share them


@dataclass
class Stages:
    """Watches a training, and measures where a stage ends."""

    true_labels: Labels
    questions: list[Question]
    rows: list[dict[str, Any]] = field(default_factory=list)
    vectors: list[NDArray[np.float32]] = field(default_factory=list)

    def __call__(self, evaluation: Evaluation) -> None:
        """Put the end of a stage on record."""
        if not evaluation.ends_stage:
            return
        h, labels, encoder = evaluation.h, evaluation.labels, evaluation.objective.encoder
        scores = {
            "NMI": float(normalized_mutual_info_score(self.true_labels, labels, average_method="geometric")),
            "ACC": accuracy(self.true_labels, labels),
            "silhouette": silhouette(h, labels),
            "Dunn": dunn(h, labels),
        }
        if self.questions:
            found = rerank(self.questions, lambda texts: encoder.embed(list(texts)))
            encoder.train(encoder.training)  # what was made ready to embed is forgotten
            scores |= {"MRR": found["mrr"], "MAP": found["map"]}
        self.rows.append({"stage": evaluation.record["stage"], **scores})
        self.vectors.append(h)
        cells = " | ".join(f"{value:.4f}" for value in scores.values())
        if len(self.rows) == 1:
            print(f"| stage | {' | '.join(scores)} |\n|---|{'--:|' * len(scores)}")
        print(f"| {self.rows[-1]['stage']} | {cells} |", flush=True)


def main() -> None:
    """Train, print the table, draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="bbc-6000", dest="name")
    parser.add_argument("--variant", default="", help="a recipe, e.g. no-reconstruction")
    parser.add_argument("--askubuntu", type=Path, help="a folder with AskUbuntu's files, for MRR and MAP")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measured", action="store_true", help=f"only print the ends of the stages in {RESULTS}")
    args = parser.parse_args()
    if args.measured:
        print_measured()
        return
    data = datasets.load(args.name)
    texts = check_texts(data.texts)
    first = {position: row for row, position in reversed(list(enumerate(texts.inverse.tolist())))}
    true_labels = data.true_labels[[first[position] for position in range(len(texts.unique))]]
    recipe = recipe_for("clusterbert", args.name, "cpu", args.variant)
    stages = Stages(true_labels, read_askubuntu(args.askubuntu, "test") if args.askubuntu else [])
    settings: dict[str, Any] = {**recipe.settings, "n_clusters": len(data.label_names), "guard": "off"}
    ClusterBERT(encoder=BundledEncoder(**recipe.encoder_settings), **settings).fit(texts.unique, watch=stages)
    out = args.out or Path("docs") / "figures" / f"clusterbert-{args.name}.png"
    _draw(stages, data.label_names, out)
    print(f"\n{out}: t-SNE of {min(_DRAWN, len(true_labels)):,} texts after each stage, coloured by their true class")


def print_measured() -> None:
    """Print scores at the end of every stage of ClusterBERT, the mean over seeds."""
    ends: dict[tuple[str, str, str], list[list[float]]] = {}
    for result in read_results(RESULTS):
        for record in result.get("curve", ()) if result["method"] == "clusterbert" else ():
            if "dunn" in record:  # measured only where a stage ends
                key = result["set"], result["variant"], record["stage"]
                ends.setdefault(key, []).append([record[name] for name in ("acc", "nmi", "silhouette", "dunn")])
    print("| set | variant | after stage | ACC / NMI | silhouette | Dunn |\n|---|---|---|--:|--:|--:|")
    for (name, variant, stage), scores in ends.items():
        acc, nmi, width, gap = np.mean(scores, axis=0)
        print(f"| {name} | {variant} | {stage} | {100 * acc:.1f} / {100 * nmi:.1f} | {width:.3f} | {gap:.3f} |")


def _draw(stages: Stages, names: list[str], out: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    drawn = np.random.default_rng(0).permutation(len(stages.true_labels))[:_DRAWN]
    classes = stages.true_labels[drawn]
    figure, axes = plt.subplots(1, len(stages.rows), figsize=(3.6 * len(stages.rows), 3.8), layout="constrained")
    colours = plt.get_cmap("tab10" if len(names) <= 10 else "tab20")
    for axis, row, h in zip(axes, stages.rows, stages.vectors, strict=True):
        points = TSNE(init="pca", perplexity=min(30, len(drawn) / 4), random_state=0).fit_transform(h[drawn])
        axis.scatter(*points.T, s=3, c=[colours(k % _DIFFERENT) for k in classes.tolist()], linewidths=0)
        axis.set_title(f"{row['stage']}: NMI {row['NMI']:.3f}, silhouette {row['silhouette']:.3f}", fontsize=9)
        axis.set_xticks([])
        axis.set_yticks([])
    if len(names) <= 10:
        marks = [Line2D([], [], marker="o", ls="", color=colours(k), label=name) for k, name in enumerate(names)]
        figure.legend(handles=marks, loc="outside lower center", ncols=len(names), fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=130)


if __name__ == "__main__":
    main()
