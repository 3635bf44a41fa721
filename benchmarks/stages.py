"""ClusterBERT stage by stage: NMI, ACC, silhouette and Dunn index (Fig. 3 of the paper), and a t-SNE plot (Fig. 1).

    make bench-stages                                    # BBC, some minutes on two cores; draws a figure
    python benchmarks/stages.py --set tweet
    python benchmarks/stages.py --variant no-reconstruction --askubuntu FOLDER   # Fig. 4, with MRR and MAP
    python benchmarks/stages.py --measured               # from the results of `make bench-clusterbert`

The settings are those of `coterie bench run --preset cpu`, with the guard off. True labels are used for the scores and
the colors only. The figure is docs/figures/clusterbert-SET.png, or --out.
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
from coterie.contracts import Labels
from coterie.data.texts import check_texts
from coterie.datasets.askubuntu import Question, read_askubuntu
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.metrics import accuracy, dunn, silhouette
from coterie.evaluation.retrieval import rerank
from coterie.experiments.recipe import recipe_for
from coterie.experiments.results import read_results
from coterie.training.trainer import Evaluation

RESULTS = Path("benchmarks") / "results" / "cpu.jsonl"
_N_DRAWN = 2000  # texts in the figure
_N_COLORS = 20  # with more classes, classes share colors


@dataclass
class StageScores:
    """A training callback that scores the end of every stage."""

    true_labels: Labels
    questions: list[Question]
    rows: list[dict[str, Any]] = field(default_factory=list)
    embeddings: list[NDArray[np.float32]] = field(default_factory=list)

    def __call__(self, evaluation: Evaluation) -> None:
        """Score and print the end of a stage."""
        if not evaluation.ends_stage:
            return
        h = evaluation.h
        labels = evaluation.labels
        network = evaluation.objective.network
        scores = {
            "NMI": float(normalized_mutual_info_score(self.true_labels, labels, average_method="geometric")),
            "ACC": accuracy(self.true_labels, labels),
            "silhouette": silhouette(h, labels),
            "Dunn": dunn(h, labels),
        }
        if self.questions:
            found = rerank(self.questions, lambda texts: network.embed(list(texts)))
            network.train(network.training)  # drops the copy of the weights that was made for inference
            scores |= {"MRR": found["mrr"], "MAP": found["map"]}
        stage = evaluation.record["stage"]
        self.rows.append({"stage": stage, **scores})
        self.embeddings.append(h)
        if len(self.rows) == 1:
            print(f"| stage | {' | '.join(scores)} |\n|---|{'--:|' * len(scores)}")
        print(f"| {stage} | {' | '.join(f'{value:.4f}' for value in scores.values())} |", flush=True)


def main() -> None:
    """Train, print the table, draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="bbc-6000", dest="name", help="the data set")
    parser.add_argument("--variant", default="", help="a recipe, e.g. no-reconstruction")
    parser.add_argument("--askubuntu", type=Path, help="folder with the files of AskUbuntu, for MRR and MAP")
    parser.add_argument("--out", type=Path, help="file of the figure")
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
    stages = StageScores(true_labels, read_askubuntu(args.askubuntu, "test") if args.askubuntu else [])
    settings: dict[str, Any] = {**recipe.settings, "n_clusters": len(data.label_names), "guard": "off"}
    ClusterBERT(encoder=BundledEncoder(**recipe.encoder_settings), **settings).fit(texts.unique, callback=stages)
    out = args.out or Path("docs") / "figures" / f"clusterbert-{args.name}.png"
    _draw(stages, data.label_names, out)
    print(f"\n{out}: t-SNE of {min(_N_DRAWN, len(true_labels)):,} texts after each stage, colored by their true class")


def print_measured() -> None:
    """Print the scores at the end of every stage of ClusterBERT in the results, as means over seeds."""
    metrics = ("acc", "nmi", "silhouette", "dunn")
    ends: dict[tuple[str, str, str], list[list[float]]] = {}
    for result in read_results(RESULTS):
        if result["method"] != "clusterbert":
            continue
        for record in result.get("curve", ()):
            if "dunn" in record:  # computed at the end of a stage only
                key = (result["set"], result["variant"], record["stage"])
                ends.setdefault(key, []).append([record[name] for name in metrics])
    print("| set | variant | after stage | ACC / NMI | silhouette | Dunn |\n|---|---|---|--:|--:|--:|")
    for (name, variant, stage), scores in ends.items():
        acc, nmi, width, index = np.mean(scores, axis=0)
        print(f"| {name} | {variant} | {stage} | {100 * acc:.1f} / {100 * nmi:.1f} | {width:.3f} | {index:.3f} |")


def _draw(stages: StageScores, names: list[str], out: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    drawn = np.random.default_rng(0).permutation(len(stages.true_labels))[:_N_DRAWN]
    classes = stages.true_labels[drawn]
    figure, axes = plt.subplots(1, len(stages.rows), figsize=(3.6 * len(stages.rows), 3.8), layout="constrained")
    colors = plt.get_cmap("tab10" if len(names) <= 10 else "tab20")
    for axis, row, h in zip(axes, stages.rows, stages.embeddings, strict=True):
        points = TSNE(init="pca", perplexity=min(30, len(drawn) / 4), random_state=0).fit_transform(h[drawn])
        axis.scatter(*points.T, s=3, c=[colors(k % _N_COLORS) for k in classes.tolist()], linewidths=0)
        axis.set_title(f"{row['stage']}: NMI {row['NMI']:.3f}, silhouette {row['silhouette']:.3f}", fontsize=9)
        axis.set_xticks([])
        axis.set_yticks([])
    if len(names) <= 10:
        marks = [Line2D([], [], marker="o", ls="", color=colors(k), label=name) for k, name in enumerate(names)]
        figure.legend(handles=marks, loc="outside lower center", ncols=len(names), fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=130)


if __name__ == "__main__":
    main()
