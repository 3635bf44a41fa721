"""How well what a method contrasts fits true labels: AECL's Fig. 5 and 6. Evaluation only."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.contracts import Labels, Objective, Vectors

_BATCH = 400  # texts that attend to each other, as many as in AECL's batches


@torch.inference_mode()
def contrast_scores(objective: Objective, h: Vectors, true_labels: Labels) -> dict[str, float]:
    """Return ``same_class_cosine`` of z and, where texts attend to each other, ``ns`` and ``ps``.

    Texts are taken in batches of a fixed shuffle, because files are often sorted by class.
    """
    order = np.random.default_rng(0).permutation(len(h))
    z, across = [], []
    for rows in np.array_split(order, -(-len(h) // _BATCH)):
        seen = objective.inside(torch.from_numpy(h[rows]).to(objective.centers.device))
        z.append(seen["z"].cpu().numpy())
        if "s" in seen:
            across.append(attention_across(seen["s"].cpu().numpy(), true_labels[rows]) * len(rows))
    scores = {"same_class_cosine": same_class_cosine(np.concatenate(z), true_labels[order])}
    if across:
        ns = float(np.sum(across) / len(h))
        scores |= {"ns": ns, "ps": 1 - ns}
    return scores


def attention_across(s: NDArray[np.floating], true_labels: Labels) -> float:
    r"""Return NS = \frac{1}{B} \sum_{ij} [y_i \neq y_j] S_{ij}: what attention goes to other classes. AECL Eq. 18."""
    return float((s * (true_labels[:, None] != true_labels)).sum() / len(s))


def same_class_cosine(z: NDArray[np.floating], true_labels: Labels) -> float:
    """Return the mean cosine of two different texts (N, d) of one class; NaN where no class has two. AECL Fig. 5."""
    unit = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12)
    total, pairs = 0.0, 0
    for label in np.unique(true_labels):
        own = unit[true_labels == label]
        total += float(np.square(own.sum(axis=0)).sum() - np.square(own).sum())  # all pairs but with themselves
        pairs += len(own) * (len(own) - 1)
    return total / pairs if pairs else float("nan")
