"""Cluster the help-desk messages, and draw their map.

    python examples/tickets_to_report.py [FIGURE]      # default: docs/figures/tickets-map.png

Beside the figure it writes the model and an interactive map, which opens in any browser.
"""

import sys
from pathlib import Path

import coterie


def main(figure, n_texts=None, **settings):
    """Draw the map, write the interactive one and the model beside it, and return the model."""
    texts = coterie.datasets.load("helpdesk").texts[:n_texts]
    model = coterie.Neighbors(**{"n_clusters": 16, "random_state": 0, **settings}).fit(texts)
    model.plot().savefig(figure, dpi=150)
    folder = Path(figure).resolve().parent
    if "docs" not in folder.parts:  # the pictures of the documentation come alone
        model.map().save(folder / "map.html")
        model.save(folder / "model", overwrite=True)
    return model


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "figures" / "tickets-map.png")
