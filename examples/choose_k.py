"""Draw how stable and how well separated the clusters are, for every number of clusters.

python examples/choose_k.py [FIGURE]      # default: docs/figures/choose-k.png
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

import coterie


def main(figure, n_texts=None, **settings):
    """Draw the curve, and return the number of clusters that was chosen."""
    texts = coterie.datasets.load("helpdesk").texts[:n_texts]
    model = coterie.KMeans(**{"n_clusters": "4-40", "random_state": 0, **settings}).fit(texts)
    candidates = model.n_clusters_curve_.candidates
    picture = Figure(figsize=(7, 3), layout="constrained")
    axes = picture.add_subplot()
    numbers = [candidate.n_clusters for candidate in candidates]
    axes.plot(numbers, [candidate.stability for candidate in candidates], "o-", color="#0072B2", label="stability")
    axes.plot(numbers, [candidate.separation for candidate in candidates], "s-", color="#D55E00", label="separation")
    axes.axvline(model.n_clusters_, color="#666666", linestyle=":", label=f"chosen: {model.n_clusters_}")
    axes.set(xlabel="number of clusters", ylim=(0, 1))
    axes.legend(frameon=False)
    picture.savefig(figure, dpi=150)
    return model.n_clusters_


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "figures" / "choose-k.png")
