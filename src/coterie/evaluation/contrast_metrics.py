"""Compare what a method contrasts with true labels: AECL Fig. 5 and 6. For evaluation only."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.contracts import Labels, Objective, Vectors

_BATCH_SIZE = 400  # texts that attend to each other, the batch size of AECL


@torch.inference_mode()
def contrast_scores(objective: Objective, h: Vectors, true_labels: Labels) -> dict[str, float]:
    """Return ``same_class_cosine`` of the projections z and, if texts attend to each other, ``ns`` and ``ps``.

    ``ns`` is the share of attention on texts of other classes (negative samples), ``ps`` the share on texts of the same
    class (positive samples). ``h`` (N, D) are encoded texts. Batches are drawn from a fixed shuffle, because files are
    often sorted by class.
    """
    order = np.random.default_rng(0).permutation(len(h))
    n_batches = -(-len(h) // _BATCH_SIZE)
    z = []
    attention = []  # one sum per batch
    for rows in np.array_split(order, n_batches):
        values = objective.diagnostics(torch.from_numpy(h[rows]).to(objective.centers.device))
        z.append(values["z"].cpu().numpy())
        if "s" in values:
            attention.append(attention_to_other_classes(values["s"].cpu().numpy(), true_labels[rows]) * len(rows))
    scores = {"same_class_cosine": same_class_cosine(np.concatenate(z), true_labels[order])}
    if attention:
        ns = float(np.sum(attention) / len(h))
        scores |= {"ns": ns, "ps": 1 - ns}
    return scores


def attention_to_other_classes(s: NDArray[np.floating], true_labels: Labels) -> float:
    r"""Return the share of the attention s (B, B) that goes to texts of other classes. AECL Eq. 18.

    .. math:: NS = \frac{1}{B} \sum_{ij} [y_i \neq y_j] S_{ij}
    """
    return float((s * (true_labels[:, None] != true_labels)).sum() / len(s))


def same_class_cosine(z: NDArray[np.floating], true_labels: Labels) -> float:
    """Return the mean cosine of two different rows of z (N, d) of one class. AECL Fig. 5.

    It is NaN if no class has two rows.
    """
    unit = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12)
    total = 0.0
    n_pairs = 0
    for label in np.unique(true_labels):
        rows = unit[true_labels == label]
        total += float(np.square(rows.sum(axis=0)).sum() - np.square(rows).sum())  # all pairs but a row with itself
        n_pairs += len(rows) * (len(rows) - 1)
    return total / n_pairs if n_pairs else float("nan")
