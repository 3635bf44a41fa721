r"""How much of a grouping the links of a graph know.

Let J(c, d) be the share of link weight between clusters c and d. Its mutual information I says how many nats a text's
neighbour tells about the text's cluster; the entropy H of its margin says how much there is to tell. I / H is 1 when
every link stays inside a cluster and 0 when links are drawn by chance.
"""

from __future__ import annotations

import numpy as np

from coterie.contracts import Labels
from coterie.graph.nearest import Links


def known_by(links: Links, labels: Labels, n_clusters: int) -> float:
    """Return I / H of ``labels`` on ``links``, each link weighing its cosine; 0 when there is nothing to tell."""
    joint = np.zeros((n_clusters, n_clusters))
    ends = np.repeat(labels, links.rows.shape[1]), labels[links.rows.ravel()]
    np.add.at(joint, ends, np.clip(links.cosine, 0, None).ravel())
    if not joint.any():
        return 0.0
    joint = (joint + joint.T) / (2 * joint.sum())
    margin = joint.sum(axis=1)
    there = joint > 0
    information = (joint[there] * np.log(joint[there] / np.outer(margin, margin)[there])).sum()
    margin = margin[margin > 0]
    entropy = -(margin * np.log(margin)).sum()
    return float(information / entropy) if entropy > 1e-9 else 0.0
