"""Time of a training step of DECCRL relative to SCCL, and memory of a fit, with K x T topics over V words.

    python benchmarks/topic_cost.py                # a step, best of 5 interleaved rounds
    python benchmarks/topic_cost.py --fit 20000    # a short training on so many texts, and its peak memory
    python benchmarks/topic_cost.py --tags         # Table 4 of the paper for all tags of StackOverflow

Texts are titles of StackOverflow, with eight synthetic words each, so that there are V words for any number of texts.
Targets: a step at most 1.5 times that of SCCL and a fit in 4 GB, with K = 152, T = 20, V = 20,000 and 20,000 texts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import torch

from coterie import datasets
from coterie.clustering.matching import match_clusters
from coterie.contracts import Batch, Corpus
from coterie.deep import DeepClusterer
from coterie.encoders.bundled import BundledEncoder
from coterie.evaluation.topic_metrics import coherence, diversity
from coterie.experiments.runner import peak_gb
from coterie.methods.deccrl import DECCRL, DECCRLObjective
from coterie.methods.sccl import SCCL, SCCLObjective
from coterie.training.optimizer import Optimizer
from timing import best_seconds, elapsed

K = 152  # clusters
T = 20  # topics of a cluster
V = 20_000  # words
BATCH = 200
DIM = 384
N_WORDS = 5  # of a topic
ENCODER = BundledEncoder(max_length=32, precision="float32")


def main() -> None:
    """Print the comparison, the memory of a fit, or the topics of StackOverflow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fit", type=int, help="train ten steps on so many texts")
    parser.add_argument("--tags", action="store_true", help="look for the tags of StackOverflow in its topics")
    args = parser.parse_args()
    if args.fit:
        _fit(args.fit)
        return
    if args.tags:
        _tags()
        return
    steps = {"sccl": _make_step(SCCL(n_clusters=K, encoder=ENCODER)), "deccrl": _make_step(_deccrl())}
    seconds = best_seconds(steps, args.rounds)
    print(f"K {K}, T {T}, V {V}, batch {BATCH}, {torch.get_num_threads()} threads")
    for name, value in seconds.items():
        print(f"{name:8} {value:.3f} s  {value / seconds['sccl']:.2f} times SCCL")
    print(f"peak memory {peak_gb()} GB")


def _deccrl(max_steps: int | None = None, epoch_steps: int | None = 25) -> DECCRL:
    return DECCRL(
        n_clusters=K,
        encoder=ENCODER,
        n_topics=T,
        max_features=V,
        min_df=1,
        stop_words=False,
        max_steps=max_steps,
        epoch_steps=epoch_steps,
    )


def _texts(n: int) -> list[str]:
    """Return titles, each with eight of the V synthetic words."""
    titles = datasets.load("stackoverflow").texts
    drawn = np.random.default_rng(0).zipf(1.3, size=(n, 8)) % V
    return [f"{titles[i % len(titles)]} {' '.join(f'word{w}' for w in row)}" for i, row in enumerate(drawn.tolist())]


def _make_step(model: DeepClusterer) -> Callable[[], None]:
    """Return a training step as in :class:`Trainer`, on one batch of titles, with topics over V words."""
    network = model.build_network(ENCODER)
    objective = model.build_objective(network).train()
    assert isinstance(objective, SCCLObjective | DECCRLObjective)
    texts = [" ".join(f"word{w}" for w in range(i * 100, i * 100 + 100)) for i in range(BATCH)]  # all V words
    h = torch.nn.functional.normalize(torch.randn(BATCH, DIM), dim=1)
    objective.initialize(Corpus(texts, h, torch.ones(BATCH, dtype=torch.long), torch.arange(BATCH) % K), 0)
    if isinstance(objective, DECCRLObjective):
        vocabulary = objective.topics.vocabulary
        assert len(vocabulary) == V
        objective.topics.bags = vocabulary.bag_of_words(_texts(BATCH))
    tokens = network.prepare(datasets.load("stackoverflow").texts[:BATCH])
    batch = Batch(torch.arange(BATCH), tokens, (tokens, tokens))
    optimizer = Optimizer(objective, encoder_lr=1e-4, head_lr=1e-3, schedule="constant", max_grad_norm=None)

    def step() -> None:
        optimizer.step(objective.joint(batch), progress=0)

    return step


def _fit(n: int) -> None:
    texts = _texts(n)
    model = _deccrl(max_steps=10, epoch_steps=10)
    seconds = elapsed(lambda: model.fit(texts))
    objective = model.objective_
    assert isinstance(objective, DECCRLObjective)
    n_words = len(objective.topics.vocabulary)
    print(f"{n} texts, K {K}, T {T}, V {n_words}: {seconds:.0f} s for ten steps, peak memory {peak_gb()} GB")


def _tags() -> None:
    """Print, for each tag, the words of its cluster's topics. True tags are used for the matching only."""
    data = datasets.load("stackoverflow")
    model = DECCRL(n_clusters=20, encoder=ENCODER, random_state=0).fit(data.texts)
    topics = model.topics(N_WORDS)
    n_found = 0
    for cluster, k in match_clusters(data.true_labels, model.labels_).items():
        tag = data.label_names[k]
        by_weight = sorted(topics[cluster], key=lambda topic: -topic.weight)
        words = list(dict.fromkeys(word for topic in by_weight for word in topic.words))
        is_found = set(tag.split("-")) <= set(words)
        n_found += is_found
        print(f"{'*' if is_found else ' '} {tag:14} {' '.join(words)}")
    print(
        f"{n_found} of {len(topics)} tags are among the first {N_WORDS} words of their cluster's topics; {model.guard_}"
    )
    words_of_topics = [topic.words for of_cluster in model.topics() for topic in of_cluster]
    npmi = coherence(words_of_topics, list(data.texts))
    print(f"coherence (NPMI) {npmi:.3f}, diversity {diversity(words_of_topics):.3f}")


if __name__ == "__main__":
    main()
