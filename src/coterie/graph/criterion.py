r"""Which of two groupings is better, told without labels.

Let J(c, d) be the share of link weight between clusters c and d. Its mutual information I says how many nats a text's
neighbour tells about the text's cluster; the entropy H of its margin says how much there is to tell. I alone favours
even splits; I / H, like modularity, favours one giant and crumbs. The score is

.. math:: I / H^{a}, \qquad 0 < a < 1
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.contracts import Labels
from coterie.graph.nearest import Links


class Evidence(NamedTuple):
    """Mutual information and entropy of the clusters at both ends of a link, in nats."""

    information: float
    entropy: float

    def score(self, exponent: float) -> float:
        """Return I / H ** exponent; nothing can be told of a single cluster."""
        return self.information / self.entropy**exponent if self.entropy > 1e-9 else 0.0


def evidence(links: Links, labels: Labels, n_clusters: int) -> Evidence:
    """Measure ``labels`` on ``links``, each link weighing its cosine."""
    joint = np.zeros((n_clusters, n_clusters))
    ends = np.repeat(labels, links.rows.shape[1]), labels[links.rows.ravel()]
    np.add.at(joint, ends, np.clip(links.cosine, 0, None).ravel())
    if not joint.any():
        return Evidence(0.0, 0.0)
    joint = (joint + joint.T) / (2 * joint.sum())
    margin = joint.sum(axis=1)
    there = joint > 0
    information = (joint[there] * np.log(joint[there] / np.outer(margin, margin)[there])).sum()
    return Evidence(float(information), entropy(margin))


def entropy(share: NDArray[np.floating]) -> float:
    """Return the entropy of shares that sum to one."""
    share = share[share > 0]
    return float(-(share * np.log(share)).sum())
