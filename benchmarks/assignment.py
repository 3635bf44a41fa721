"""How AECL's labels depend on the texts that a text attends to: stored training texts (ours), or a batch (the paper).

    python benchmarks/assignment.py              # Tweet, about two minutes on two cores
    python benchmarks/assignment.py agnews

One model is fitted per data set. Its texts are then assigned with attention to 400 stored training texts and, as in
the paper, in shuffled batches of 400. Batches sorted by class and batches of 20 show the influence of the batch.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from sklearn.metrics import normalized_mutual_info_score

from coterie import AECL, datasets
from coterie.contracts import Labels
from coterie.data.texts import check_texts
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.metrics import accuracy
from coterie.methods.aecl import AECLObjective

OURS = "400 stored texts"


@torch.inference_mode()
def assign_in_batches(objective: AECLObjective, h: torch.Tensor, order: torch.Tensor, size: int) -> Labels:
    """Return the labels (N,) of h (N, D) when ``size`` rows at a time, taken in ``order``, attend to each other."""
    objective.assign_batch_size = size
    labels = torch.empty(len(h), dtype=torch.long)
    for rows in torch.split(order, size):
        labels[rows] = objective.assign(h[rows]).argmax(dim=1)
    objective.assign_batch_size = None
    return labels.numpy()


def compare(name: str) -> None:
    """Print, for every way to assign, the scores and the share of texts with another label than ours."""
    data = datasets.load(name)
    model = AECL(n_clusters=len(data.label_names), encoder=BundledEncoder(max_length=32, precision="float32"))
    model.fit(data.texts)
    objective = model.objective_
    assert isinstance(objective, AECLObjective)
    texts = check_texts(data.texts)
    valid = texts.inverse >= 0
    true_labels = data.true_labels[valid]
    first_rows = np.unique(texts.inverse[valid], return_index=True)[1]
    h = torch.from_numpy(model.transform(texts.unique))
    shuffled = torch.randperm(len(h), generator=torch.Generator().manual_seed(0))
    by_class = torch.from_numpy(np.argsort(true_labels[first_rows], kind="stable"))
    labels_by_way = {
        OURS: model.predict(texts.unique),
        "batches of 400, shuffled": assign_in_batches(objective, h, shuffled, 400),
        "batches of 20, shuffled": assign_in_batches(objective, h, shuffled, 20),
        "batches of 400, sorted by class": assign_in_batches(objective, h, by_class, 400),
    }
    for way, unique_labels in labels_by_way.items():
        labels = unique_labels[texts.inverse[valid]]
        acc = accuracy(true_labels, labels)
        nmi = normalized_mutual_info_score(true_labels, labels)
        changed = (unique_labels != labels_by_way[OURS]).mean()
        print(f"| {name} | {way} | {100 * acc:.1f} / {100 * nmi:.1f} | {changed:.2%} |", flush=True)


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["tweet"])
    print("| set | attention to | ACC / NMI | different labels |\n|---|---|--:|--:|")
    for name in parser.parse_args().sets:
        compare(name)


if __name__ == "__main__":
    main()
