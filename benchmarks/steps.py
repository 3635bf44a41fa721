"""Time of a training step of every method, relative to SCCL, with the same batch and the same trained layers.

    make bench-steps                         # one or two minutes on two cores
    python benchmarks/steps.py --rounds 8    # more rounds
    python benchmarks/steps.py --layers none
    python benchmarks/steps.py --methods tcc # only TCC and SCCL

Every stage of a method is timed with its default settings: K = 20 clusters, batches of 200 out of 2,000 StackOverflow
titles.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch

from coterie import datasets
from coterie.clusterer import METHODS
from coterie.clustering.kmeans import kmeans_centers, squared_distances
from coterie.contracts import Batch, Corpus, Stage
from coterie.deep import DeepClusterer
from coterie.encoders.bundled import BundledEncoder
from coterie.encoders.engine.device import Precision
from coterie.training.optimizer import Optimizer
from timing import best_seconds

N_TEXTS = 2000
BATCH = 200
K = 20
REFERENCE = "sccl"
Step = Callable[[], None]


def make_steps(
    method: str, texts: list[str], layers: int | None, *, n_rows: int = BATCH, precision: Precision = "float32"
) -> dict[str, Step]:
    """Return a training step of ``n_rows`` for every stage of ``method``. All of them train the same objective."""
    cls = METHODS[method]
    assert issubclass(cls, DeepClusterer)
    torch.manual_seed(0)
    encoder = BundledEncoder(max_length=32, precision=precision)
    model = cls(n_clusters=K, trainable_layers=layers, encoder=encoder)
    network = model.build_network(encoder)
    objective = model.build_objective(network)
    prepared = network.prepare(texts)
    h = network.encode(prepared)
    counts = torch.ones(len(texts), dtype=torch.long)
    labels = squared_distances(h, kmeans_centers(h, counts, K, seed=0)).argmin(dim=1)
    corpus = Corpus(texts, h, counts, labels, prepared)
    objective.initialize(corpus, 0)
    stages = [stage for stage in objective.stages(model.epochs) if stage.epochs]
    for stage in stages:
        for hook in (stage.before, stage.before_epoch):
            if hook:
                hook(corpus, 0)
    objective.train()
    optimizer = Optimizer(
        objective, encoder_lr=model.encoder_lr, head_lr=model.head_lr, schedule="constant", max_grad_norm=None
    )
    rows = torch.arange(0, len(texts), len(texts) // n_rows)[:n_rows]
    batch = Batch(rows, prepared[rows], tuple(prepared[rows.roll(n)] for n in range(1, objective.n_augmented + 1)))

    def make_step(stage: Stage) -> Step:
        def step() -> None:
            optimizer.step(stage.loss(batch), progress=0)
            objective.after_step()

        return step

    return {f"{method} {stage.name}": make_step(stage) for stage in stages}


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=1, help="rounds that do not count; 20 fill the queues of TCC")
    parser.add_argument("--methods", help="only these methods, separated by commas; SCCL is always included")
    parser.add_argument("--layers", default="2", help="number of last layers that are trained; none: all")
    args = parser.parse_args()
    layers = None if args.layers == "none" else int(args.layers)
    texts = datasets.load("stackoverflow").texts[:: 20000 // N_TEXTS]
    selected = {REFERENCE, *args.methods.split(",")} if args.methods else set(METHODS)
    steps: dict[str, Step] = {}
    for name, cls in METHODS.items():
        if issubclass(cls, DeepClusterer) and name in selected:
            steps |= make_steps(name, texts, layers)
    seconds = best_seconds(steps, args.rounds, warmup=args.warmup)
    reference = max(value for name, value in seconds.items() if name.split()[0] == REFERENCE)
    print(f"trained layers: {args.layers}; batches of {BATCH}; best of {args.rounds} rounds\n")
    print("| step | ms | relative to SCCL |\n|---|--:|--:|")
    for name, value in seconds.items():
        print(f"| {name} | {1000 * value:.0f} | {value / reference:.2f} |")


if __name__ == "__main__":
    main()
