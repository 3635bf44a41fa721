"""What topics cost: a step of DECCRL against one of SCCL, and the memory of a fit, with K x T topics over V words.

    python benchmarks/topics.py                # a step, best of 5 interleaved rounds, as a ratio in one run
    python benchmarks/topics.py --fit 20000    # a short training on so many texts, and its peak memory
    python benchmarks/topics.py --tags         # the paper's Table 4 for all tags of StackOverflow; which are named?

Texts are titles of StackOverflow (their length is what a step of either method costs) with eight made-up words each, so
that there are V words whatever the size. To be kept: a step at most 1.5 times SCCL's, a fit in 4 GB, at
K = 152, T = 20, V = 20,000 and 20,000 texts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from coterie import datasets
from coterie.benchmarks.run import peak_gb
from coterie.contracts import Batch, Corpus, Network, Objective
from coterie.deep import DeepClusterer
from coterie.describe.topics import top_words
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.matching import match_clusters
from coterie.evaluation.topics import coherence, diversity
from coterie.methods.deccrl import DECCRL, DECCRLObjective
from coterie.methods.sccl import SCCL
from coterie.training.optimizer import Optimizer

K, T, V, BATCH = 152, 20, 20_000, 200
N_WORDS = 5  # of a topic
ENCODER = BundledEncoder(max_length=32, precision="float32")
WORDS = {"n_topics": T, "max_features": V, "min_texts": 1, "stop_words": False}


def main() -> None:
    """Print the comparison, or what a fit takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fit", type=int, help="texts to train on for ten steps")
    parser.add_argument("--tags", action="store_true", help="look for the tags of StackOverflow in its topics")
    args = parser.parse_args()
    if args.fit:
        _fit(args.fit)
        return
    if args.tags:
        _tags()
        return
    steps = {"sccl": _step(SCCL(n_clusters=K, encoder=ENCODER)), "deccrl": _step(_deccrl())}
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(args.rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            best[name] = min(best[name], time.perf_counter() - start)
    print(f"K {K}, T {T}, V {V}, batch {BATCH}, {torch.get_num_threads()} threads")
    for name, seconds in best.items():
        print(f"{name:8} {seconds:.3f} s  {seconds / best['sccl']:.2f} times SCCL's step")
    print(f"peak memory {peak_gb()} GB")


def _deccrl(**options: int) -> DECCRL:
    return DECCRL(n_clusters=K, encoder=ENCODER, **WORDS, **options)  # type: ignore[arg-type]


def _texts(n: int) -> list[str]:
    """Return titles, each with words of its own from V made-up ones."""
    titles = datasets.load("stackoverflow").texts
    drawn = np.random.default_rng(0).zipf(1.3, size=(n, 8)) % V
    return [f"{titles[i % len(titles)]} {' '.join(f'word{w}' for w in row)}" for i, row in enumerate(drawn.tolist())]


def _step(model: DeepClusterer) -> Callable[[], None]:
    """Return a step as the trainer takes it, on one batch of plain titles, with topics over V words."""
    network: Network = model._network(ENCODER, 384)
    objective: Objective = model.build_objective(network).train()
    texts = [f"{' '.join(f'word{w}' for w in range(i * 100, i * 100 + 100))}" for i in range(BATCH)]  # all V words
    h = torch.nn.functional.normalize(torch.randn(BATCH, 384), dim=1)
    objective.start(Corpus(texts, h, torch.ones(BATCH, dtype=torch.long), torch.arange(BATCH) % K), 0)
    if isinstance(objective, DECCRLObjective):
        vocabulary = objective.topics.vocabulary
        assert len(vocabulary) == V
        objective.topics.bags = vocabulary.bags(_texts(BATCH))
    tokens = network.prepare(datasets.load("stackoverflow").texts[:BATCH])
    batch = Batch(torch.arange(BATCH), tokens, (tokens, tokens))
    optimizer = Optimizer(objective, encoder_lr=1e-4, head_lr=1e-3, schedule="constant", clip_norm=None)

    def step() -> None:
        optimizer.step(objective.joint(batch), progress=0)  # type: ignore[operator]

    step()  # what is made at the first step only
    return step


def _fit(n: int) -> None:
    start = time.perf_counter()
    model = _deccrl(max_steps=10, epoch_steps=10).fit(_texts(n))
    n_words = len(model._topics.vocabulary)
    seconds = time.perf_counter() - start
    print(f"{n} texts, K {K}, T {T}, V {n_words}: {seconds:.0f} s for ten steps, peak memory {peak_gb()} GB")


def _tags() -> None:
    """Print, for each tag, the words of its cluster's topics; true tags are used for the matching alone."""
    data = datasets.load("stackoverflow")
    model = DECCRL(n_clusters=20, encoder=ENCODER, random_state=0).fit(data.texts)
    topics, named = model.topics(N_WORDS), 0
    for cluster, k in match_clusters(data.true_labels, model.labels_).items():
        tag, ranked = data.label_names[k], sorted(topics[cluster], key=lambda topic: -topic.weight)
        words = list(dict.fromkeys(word for topic in ranked for word in topic.words))
        there = set(tag.split("-")) <= set(words)
        named += there
        print(f"{'*' if there else ' '} {tag:14} {' '.join(words)}")
    texts, every = list(data.texts), top_words(model)
    print(
        f"{named} of {len(topics)} tags are among the first {N_WORDS} words of their cluster's topics; {model.guard_}"
    )
    print(f"coherence (NPMI) {coherence(every, texts):.3f}, diversity {diversity(every):.3f}")


if __name__ == "__main__":
    main()
