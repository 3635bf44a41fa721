"""Train SCCL on the help-desk messages, and draw their map before and after.

    python examples/train_and_compare.py [FIGURE]      # default: docs/figures/before-after.png; about a minute

The left map has the embeddings of the pretrained encoder with the clusters of `neighbors`, from which the training
starts. The right map has the trained ones, without the guard, which may keep the left ones.
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

import coterie


def main(figure, n_texts=None, n_clusters=16, **settings):
    """Draw both maps, and return the trained model."""
    texts = coterie.datasets.load("helpdesk").texts[:n_texts]
    before = coterie.Neighbors(n_clusters=n_clusters, random_state=0, encoder=settings.get("encoder", "bundled"))
    after = coterie.SCCL(n_clusters=n_clusters, random_state=0, guard="off", **settings)
    picture = Figure(figsize=(11, 5), layout="constrained")
    for axes, model, title in zip(picture.subplots(1, 2), (before, after), ("before training", "after"), strict=True):
        model.fit(texts).plot(ax=axes)
        axes.set_title(title, fontsize=10)
    picture.savefig(figure, dpi=130)
    return after


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "figures" / "before-after.png")
