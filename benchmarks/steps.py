"""A training step of every method against SCCL's, on the same batch and layers, as ratios in one run.

    make bench-steps                         # a minute or two on two cores
    python benchmarks/steps.py --rounds 8    # more rounds
    python benchmarks/steps.py --layers none
    python benchmarks/steps.py --methods tcc # beside SCCL's only

Every stage of a method is timed with its default settings on 200 StackOverflow titles out of 2,000 with their 20 tags'
number of groups. Rounds are interleaved and the best of each counts, because the machine is shared.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

from coterie import datasets
from coterie.clusterer import METHODS
from coterie.contracts import Batch, Corpus, Stage
from coterie.deep import DeepClusterer
from coterie.encoders.bundled import BundledEncoder
from coterie.heads.centers import kmeans_centers, squared_distances
from coterie.training.optimizer import Optimizer

TEXTS, BATCH, K = 2000, 200, 20
REFERENCE = "sccl"


def steps_of(method: str, texts: list[str], layers: int | None) -> dict[str, Callable[[], object]]:
    """Return a step of every stage of ``method``; they train one objective."""
    cls = METHODS[method]
    assert issubclass(cls, DeepClusterer)
    torch.manual_seed(0)
    encoder = BundledEncoder(max_length=32, precision="float32")
    model = cls(n_clusters=K, trainable_layers=layers, encoder=encoder)
    network = model._network(encoder, 384)
    objective = model.build_objective(network)
    prepared = network.prepare(texts)
    h, counts = network.look(prepared), torch.ones(len(texts), dtype=torch.long)
    labels = squared_distances(h, kmeans_centers(h, counts, K, seed=0)).argmin(dim=1)
    corpus = Corpus(texts, h, counts, labels)
    objective.start(corpus, 0)
    stages = [stage for stage in objective.stages(model.epochs) if stage.epochs]
    for hook in (hook for stage in stages for hook in (stage.before, stage.before_epoch) if hook):
        hook(corpus)
    objective.train()
    optimizer = Optimizer(
        objective, encoder_lr=model.encoder_lr, head_lr=model.head_lr, schedule="constant", clip_norm=None
    )
    rows = torch.arange(0, len(texts), len(texts) // BATCH)
    batch = Batch(rows, prepared[rows], tuple(prepared[rows.roll(n)] for n in range(1, objective.n_augmented + 1)))

    def step(stage: Stage) -> Callable[[], object]:
        def take() -> None:
            optimizer.step(stage.loss(batch), progress=0)
            objective.after_step()

        return take

    return {f"{method} {stage.name}": step(stage) for stage in stages}


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm", type=int, default=1, help="rounds before that; with 20 the queues of tcc are full")
    parser.add_argument("--methods", help="of those that train, only these, with commas; sccl is always there")
    parser.add_argument("--layers", default="2", help="last layers that learn; none: all")
    args = parser.parse_args()
    layers = None if args.layers == "none" else int(args.layers)
    texts = datasets.load("stackoverflow").texts[:: 20000 // TEXTS]
    wanted = {REFERENCE, *args.methods.split(",")} if args.methods else set(METHODS)
    deep = [name for name, cls in METHODS.items() if issubclass(cls, DeepClusterer) and name in wanted]
    steps = {name: step for method in deep for name, step in steps_of(method, texts, layers).items()}
    best = dict.fromkeys(steps, float("inf"))
    for number in range(args.warm + args.rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            best[name] = min(best[name], time.perf_counter() - start) if number >= args.warm else best[name]
    reference = max(seconds for name, seconds in best.items() if name.split()[0] == REFERENCE)
    print(f"last layers that learn: {args.layers}; {BATCH} texts a step; best of {args.rounds} rounds\n")
    print("| step | ms | of SCCL's |\n|---|--:|--:|")
    for name, seconds in best.items():
        print(f"| {name} | {1000 * seconds:.0f} | {seconds / reference:.2f} |")


if __name__ == "__main__":
    main()
