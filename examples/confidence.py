"""Does the confidence tell right from wrong? Draw it for messages in the right cluster and in a wrong one.

    python examples/confidence.py [FIGURE]      # default: docs/figures/confidence.png

The labels of the data set are used here only, to color the picture.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

import coterie


def main(figure, n_texts=None, **settings):
    """Draw both distributions, and return the mean confidence of the right and of the wrong messages."""
    data = coterie.datasets.load("helpdesk")
    texts, truth = data.texts[:n_texts], data.true_labels[:n_texts]
    model = coterie.Neighbors(**{"n_clusters": 16, "random_state": 0, **settings}).fit(texts)
    counts = np.zeros((model.n_clusters_, truth.max() + 1))
    np.add.at(counts, (model.labels_, truth), 1)
    matched = dict(zip(*linear_sum_assignment(-counts), strict=True))  # one cluster to one label
    is_right = np.array([matched.get(label) == true for label, true in zip(model.labels_, truth, strict=True)])
    picture = Figure(figsize=(7, 3), layout="constrained")
    axes = picture.add_subplot()
    groups = (model.confidence_[is_right], model.confidence_[~is_right])
    names = [f"right cluster ({len(groups[0]):,})", f"wrong cluster ({len(groups[1]):,})"]
    axes.hist(groups, bins=np.linspace(0, 1, 21), label=names, color=["#0072B2", "#D55E00"])
    axes.set(xlabel="confidence", ylabel="messages")
    axes.legend(frameon=False, loc="upper left")
    picture.savefig(figure, dpi=150)
    return tuple(float(group.mean()) for group in groups)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "figures" / "confidence.png")
