"""One training step of SCCL: coterie against the plain step, as ratios in one run.

    make bench-train                       # about six minutes on two cores
    python benchmarks/train.py --rounds 3  # more rounds
    python benchmarks/train.py --profile   # where the time goes

The plain step is what the papers' code does: three separate forward passes padded to 32 tokens, float32, all layers,
batch 400, distances from a (B, K, D) tensor, dropout on. Ours has the same batch, losses and dropout. Rounds are
interleaved and the best of each counts, because the machine is shared. Three things are shown besides: the loss of
both on one batch without dropout (they must agree), the share of the machine's matrix-product peak that our step
reaches, and memory and cost per text of a whole fit at 5,000 and 20,000 texts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from coterie import SCCL, datasets
from coterie.benchmarks.run import peak_gb
from coterie.contracts import Batch
from coterie.encoders.bundled import BundledEncoder
from coterie.encoders.trainable import TransformerNetwork
from coterie.methods.sccl import SCCLObjective
from coterie.training.optimizer import Optimizer

BATCH, TOKENS, K = 400, 32, 20
SETTINGS = SCCL(n_clusters=K, scale=1.0)


class PlainStep:
    """The step as a script would write it."""

    def __init__(self, texts: list[str]) -> None:
        tokenizer, self.model = BundledEncoder(max_length=TOKENS).load()
        options = {"padding": "max_length", "truncation": True, "max_length": TOKENS, "return_tensors": "pt"}
        self.batch = tokenizer(texts, **options)
        torch.manual_seed(0)
        self.g = nn.Sequential(nn.Linear(384, 384), nn.ReLU(), nn.Linear(384, 128))
        self.mu = nn.Parameter(F.normalize(torch.randn(K, 384), dim=1))
        heads = {"params": [*self.g.parameters(), self.mu], "lr": 5e-4}
        self.adam = torch.optim.Adam([{"params": self.model.parameters(), "lr": 5e-6}, heads])
        self.model.train()

    def encode(self) -> Tensor:
        """Return h of one padded pass."""
        states = self.model(**self.batch).last_hidden_state
        mask = self.batch["attention_mask"][..., None].float()
        return F.normalize((states * mask).sum(1) / mask.sum(1), dim=1)

    def loss(self) -> Tensor:
        """Return Eq. 7."""
        h, h_1, h_2 = self.encode(), self.encode(), self.encode()
        q = 1 / (1 + ((h[:, None] - self.mu) ** 2).sum(2))  # from (B, K, D)
        q = q / q.sum(1, keepdim=True)
        weight = q**2 / q.sum(0)
        p = (weight / weight.sum(1, keepdim=True)).detach()
        z = F.normalize(torch.cat([self.g(h_1), self.g(h_2)]), dim=1)
        logits = (z @ z.T / 0.5).masked_fill(torch.eye(len(z), dtype=torch.bool), -torch.inf)
        instance = F.cross_entropy(logits, torch.arange(len(z)).roll(len(h)))
        return 10 * instance + F.kl_div(q.log(), p, reduction="batchmean")

    def __call__(self) -> None:
        """Take the step."""
        self.adam.zero_grad()
        self.loss().backward()  # type: ignore[no-untyped-call]
        self.adam.step()


class OurStep:
    """The step as the trainer takes it."""

    def __init__(self, texts: list[str], trainable_layers: int | None, plain: PlainStep) -> None:
        network = TransformerNetwork(BundledEncoder(max_length=TOKENS, precision="float32"), trainable_layers)
        objective = SETTINGS.build_objective(network)
        assert isinstance(objective, SCCLObjective)
        objective.g.load_state_dict(plain.g.state_dict())
        objective.mu.data.copy_(plain.mu)
        self.objective: SCCLObjective = objective.train()
        self.tokens = network.prepare(texts)
        self.views = Batch(torch.arange(len(texts)), self.tokens, (self.tokens, self.tokens))
        self.optimizer = Optimizer(objective, encoder_lr=5e-6, head_lr=5e-4, schedule="constant", clip_norm=None)

    def loss(self) -> Tensor:
        """Return Eq. 7."""
        return torch.stack(list(self.objective.joint(self.views).values())).sum()

    def __call__(self) -> None:
        """Take the step."""
        self.optimizer.step(self.objective.joint(self.views), progress=0)


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--profile", action="store_true", help="show only where the time of our step goes")
    parser.add_argument("--fit", type=int, help=argparse.SUPPRESS)  # a whole fit, in a process of its own
    args = parser.parse_args()
    if args.fit:
        _fit(args.fit)
        return
    texts = datasets.load("stackoverflow").texts
    batch = texts[:BATCH]
    plain = PlainStep(batch)
    if args.profile:
        _profile(OurStep(batch, 2, plain))
        return
    ours = {"all layers": OurStep(batch, None, plain), "last 2 layers": OurStep(batch, 2, plain)}
    _compare_losses(plain, ours["all layers"])
    steps: dict[str, Callable[[], None]] = {"plain": plain, **ours}
    seconds = _interleaved(steps, args.rounds)
    peak = _peak()
    print("\n| step | s | texts/s | ratio | of the matmul peak |\n|---|--:|--:|--:|--:|")
    n_tokens = int(ours["all layers"].tokens.lengths.sum())
    for name, best in seconds.items():
        work = 0.0 if name == "plain" else _work(3 * n_tokens, 6 if name == "all layers" else 2)
        share = f"{work / best / peak:.0%}" if work else "–"
        print(f"| {name} | {best:.2f} | {BATCH / best:.0f} | {seconds['plain'] / best:.2f} | {share} |")
    _frozen_part(texts, seconds)
    for n in (5000, 20000):
        subprocess.run([sys.executable, __file__, "--fit", str(n)], check=True)


def _profile(step: OurStep) -> None:
    step()
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        step()
    print(seen.key_averages().table(sort_by="self_cpu_time_total", row_limit=20, max_name_column_width=45))


def _compare_losses(plain: PlainStep, ours: OurStep) -> None:
    plain.model.eval()
    ours.objective.eval()
    with torch.no_grad():
        a, b = float(plain.loss()), float(ours.loss())
    plain.model.train()
    ours.objective.train()
    print(f"loss without dropout: plain {a:.6f}, ours {b:.6f}, difference {abs(a - b):.1e}")


def _interleaved(steps: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(steps, float("inf"))
    for number in range(rounds + 1):  # the first round warms up
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            taken = time.perf_counter() - start
            best[name] = min(best[name], taken) if number else best[name]
    return best


def _work(tokens: int, layers: int) -> float:
    """Return the floating-point operations of a step's linear layers: forward, and twice that backward."""
    return 3 * 2 * tokens * layers * 12 * 384**2


def _peak(size: int = 2048, repeats: int = 10) -> float:
    a, b = torch.randn(size, size), torch.randn(size, size)
    a @ b
    start = time.perf_counter()
    for _ in range(repeats):
        a @ b
    return repeats * 2 * size**3 / (time.perf_counter() - start)


def _frozen_part(texts: list[str], seconds: dict[str, float]) -> None:
    network = TransformerNetwork(BundledEncoder(max_length=TOKENS), 2)
    start = time.perf_counter()
    network.prepare(texts[:5000])
    once = (time.perf_counter() - start) / 5000
    saved = (seconds["all layers"] - seconds["last 2 layers"]) / BATCH
    print(
        f"\nfrozen layers, once: {1000 * once:.2f} ms a text; a text of an epoch then costs {1000 * saved:.2f} ms less "
        f"than with all layers: paid back after {once / saved:.2f} epochs"
    )


def _fit(n: int) -> None:
    texts = datasets.load("stackoverflow").texts[:: 20000 // n]
    seconds: list[float] = []

    def watch(evaluation: Any) -> None:
        seconds.append(evaluation.record.get("seconds", 0.0))

    start = time.perf_counter()
    SCCL(n_clusters=K, encoder=BundledEncoder(max_length=TOKENS), epochs=1).fit(texts, watch=watch)
    whole = time.perf_counter() - start
    memory = peak_gb()
    print(
        f"fit of {n:,} texts, one epoch: {whole:.0f} s in all, {1000 * seconds[-1] / n:.2f} ms a text and epoch, "
        f"peak memory {memory} GB",
        flush=True,
    )


if __name__ == "__main__":
    main()
