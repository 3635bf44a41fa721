"""How far AECL's two ways of filing texts differ: beside stored texts (ours), or beside a batch (as published).

    python benchmarks/filing.py              # Tweet, about two minutes on two cores
    python benchmarks/filing.py agnews

One model is fitted for each set. Its texts are then filed beside 400 stored training texts and, as published, in
batches of 400 of a shuffle; and, to show what a batch does, in batches sorted by class and in batches of 20.
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


@torch.inference_mode()
def beside_batches(objective: AECLObjective, h: torch.Tensor, order: torch.Tensor, size: int) -> Labels:
    """Return the labels of h (N, D) when ``size`` rows at a time, taken in ``order``, attend to each other."""
    objective.together = size
    labels = torch.empty(len(h), dtype=torch.long)
    for rows in torch.split(order, size):
        labels[rows] = objective.assign(h[rows]).argmax(dim=1)
    objective.together = None
    return labels.numpy()


def compare(name: str) -> None:
    """Print the scores of every way, and how many texts it files otherwise than ours."""
    data = datasets.load(name)
    model = AECL(n_clusters=len(data.label_names), encoder=BundledEncoder(max_length=32, precision="float32"))
    model.fit(data.texts)
    objective, texts = model.objective_, check_texts(data.texts)
    assert isinstance(objective, AECLObjective)
    h = torch.from_numpy(model.transform(texts.unique))
    shuffled = torch.randperm(len(h), generator=torch.Generator().manual_seed(0))
    first_rows = np.unique(texts.inverse[texts.inverse >= 0], return_index=True)[1]
    by_class = torch.from_numpy(np.argsort(data.true_labels[texts.inverse >= 0][first_rows], kind="stable"))
    ways = {
        "400 stored texts": model.predict(texts.unique),
        "batches of 400, shuffled": beside_batches(objective, h, shuffled, 400),
        "batches of 20, shuffled": beside_batches(objective, h, shuffled, 20),
        "batches of 400, sorted by class": beside_batches(objective, h, by_class, 400),
    }
    ours = ways["400 stored texts"]
    for way, found in ways.items():
        told = texts.inverse >= 0
        labels, true_labels = found[texts.inverse[told]], data.true_labels[told]
        acc, nmi = accuracy(true_labels, labels), normalized_mutual_info_score(true_labels, labels)
        print(f"| {name} | {way} | {100 * acc:.1f} / {100 * nmi:.1f} | {(found != ours).mean():.2%} |", flush=True)


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["tweet"])
    print("| set | filed beside | ACC / NMI | filed otherwise |\n|---|---|--:|--:|")
    for name in parser.parse_args().sets:
        compare(name)


if __name__ == "__main__":
    main()
