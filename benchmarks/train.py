"""Time of a training step of SCCL, compared with a plain implementation of the papers' step.

    make bench-train                       # about six minutes on two cores
    python benchmarks/train.py --rounds 3  # more rounds
    python benchmarks/train.py --profile   # profile of our step

The plain step is that of the official code: three separate forward passes padded to 32 tokens, float32, all layers,
batches of 400, distances from a (B, K, D) tensor, dropout on. Ours has the same batch, losses and dropout. Three more
things are printed: the loss of both on one batch without dropout (they must agree), the share of the machine's peak in
matrix products that our step reaches, and the memory and time per text of a whole fit with 5,000 and 20,000 texts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from coterie import SCCL, datasets
from coterie.contracts import Batch
from coterie.encoders.bundled import BundledEncoder
from coterie.encoders.engine.network import TransformerNetwork
from coterie.experiments.runner import peak_gb
from coterie.methods.sccl import SCCLObjective
from coterie.training.optimizer import Optimizer
from coterie.training.trainer import Evaluation
from timing import best_seconds, elapsed

BATCH = 400
MAX_TOKENS = 32
K = 20
DIM = 384
SETTINGS = SCCL(n_clusters=K, scale=1.0)


class PlainStep:
    """A training step as in a plain script."""

    def __init__(self, texts: list[str]) -> None:
        tokenizer, self.model = BundledEncoder(max_length=MAX_TOKENS).load()
        options = {"padding": "max_length", "truncation": True, "max_length": MAX_TOKENS, "return_tensors": "pt"}
        self.batch = tokenizer(texts, **options)
        torch.manual_seed(0)
        self.g = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Linear(DIM, 128))
        self.mu = nn.Parameter(F.normalize(torch.randn(K, DIM), dim=1))
        heads = {"params": [*self.g.parameters(), self.mu], "lr": 5e-4}
        self.adam = torch.optim.Adam([{"params": self.model.parameters(), "lr": 5e-6}, heads])
        self.model.train()

    def encode(self) -> Tensor:
        """Return h (B, D) of one padded forward pass."""
        states = self.model(**self.batch).last_hidden_state
        mask = self.batch["attention_mask"][..., None].float()
        return F.normalize((states * mask).sum(1) / mask.sum(1), dim=1)

    def loss(self) -> Tensor:
        """Return the loss, Eq. 7."""
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
        """Run one step."""
        self.adam.zero_grad()
        self.loss().backward()  # type: ignore[no-untyped-call]
        self.adam.step()


class OurStep:
    """A training step as in :class:`Trainer`, with the initial head of ``plain``."""

    def __init__(self, texts: list[str], trainable_layers: int | None, plain: PlainStep) -> None:
        network = TransformerNetwork(BundledEncoder(max_length=MAX_TOKENS, precision="float32"), trainable_layers)
        objective = SETTINGS.build_objective(network)
        assert isinstance(objective, SCCLObjective)
        objective.g.load_state_dict(plain.g.state_dict())
        objective.mu.data.copy_(plain.mu)
        self.objective: SCCLObjective = objective.train()
        self.tokens = network.prepare(texts)
        self.batch = Batch(torch.arange(len(texts)), self.tokens, (self.tokens, self.tokens))
        self.optimizer = Optimizer(objective, encoder_lr=5e-6, head_lr=5e-4, schedule="constant", max_grad_norm=None)

    def loss(self) -> Tensor:
        """Return the loss, Eq. 7."""
        return torch.stack(list(self.objective.joint(self.batch).values())).sum()

    def __call__(self) -> None:
        """Run one step."""
        self.optimizer.step(self.objective.joint(self.batch), progress=0)


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--profile", action="store_true", help="only print a profile of our step")
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
    seconds = best_seconds(steps, args.rounds)
    _report(seconds, n_tokens=int(ours["all layers"].tokens.lengths.sum()))
    _frozen_layers(texts, seconds)
    for n in (5000, 20000):
        subprocess.run([sys.executable, __file__, "--fit", str(n)], check=True)


def _report(seconds: dict[str, float], n_tokens: int) -> None:
    peak = _peak_flops()
    flops = {"all layers": _step_flops(3 * n_tokens, 6), "last 2 layers": _step_flops(3 * n_tokens, 2)}
    print("\n| step | s | texts/s | ratio | share of the matmul peak |\n|---|--:|--:|--:|--:|")
    for name, best in seconds.items():
        share = f"{flops[name] / best / peak:.0%}" if name in flops else "–"
        print(f"| {name} | {best:.2f} | {BATCH / best:.0f} | {seconds['plain'] / best:.2f} | {share} |")


def _profile(step: OurStep) -> None:
    step()
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        step()
    print(profiled.key_averages().table(sort_by="self_cpu_time_total", row_limit=20, max_name_column_width=45))


def _compare_losses(plain: PlainStep, ours: OurStep) -> None:
    plain.model.eval()
    ours.objective.eval()
    with torch.no_grad():
        a = float(plain.loss())
        b = float(ours.loss())
    plain.model.train()
    ours.objective.train()
    print(f"loss without dropout: plain {a:.6f}, ours {b:.6f}, difference {abs(a - b):.1e}")


def _step_flops(tokens: int, layers: int) -> float:
    """Return the floating-point operations of the linear layers in a step: forward, and twice as many backward."""
    return 3 * 2 * tokens * layers * 12 * DIM**2


def _peak_flops(size: int = 2048, repeats: int = 10) -> float:
    """Return the floating-point operations per second of large matrix products."""
    a, b = torch.randn(size, size), torch.randn(size, size)

    def multiply() -> None:
        for _ in range(repeats):
            a @ b

    a @ b  # warm-up
    return repeats * 2 * size**3 / elapsed(multiply)


def _frozen_layers(texts: list[str], seconds: dict[str, float]) -> None:
    network = TransformerNetwork(BundledEncoder(max_length=MAX_TOKENS), 2)
    once = elapsed(lambda: network.prepare(texts[:5000])) / 5000
    saved = (seconds["all layers"] - seconds["last 2 layers"]) / BATCH
    print(
        f"\nfrozen layers, computed once: {1000 * once:.2f} ms per text. This saves {1000 * saved:.2f} ms per text and "
        f"epoch compared with training all layers, so it pays off after {once / saved:.2f} epochs"
    )


def _fit(n: int) -> None:
    texts = datasets.load("stackoverflow").texts[:: 20000 // n]
    epoch_seconds: list[float] = []

    def callback(evaluation: Evaluation) -> None:
        epoch_seconds.append(evaluation.record.get("seconds", 0.0))

    model = SCCL(n_clusters=K, encoder=BundledEncoder(max_length=MAX_TOKENS), epochs=1)
    total = elapsed(lambda: model.fit(texts, callback=callback))
    print(
        f"fit of {n:,} texts, one epoch: {total:.0f} s in total, {1000 * epoch_seconds[-1] / n:.2f} ms per text and "
        f"epoch, peak memory {peak_gb()} GB",
        flush=True,
    )


if __name__ == "__main__":
    main()
