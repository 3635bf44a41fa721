"""A step of ClusterBERT against a plain one and against SCCL's, on the same batch and layers, as ratios in one run.

    make bench-denoise                       # some minutes on two cores
    python benchmarks/denoise.py --rounds 5  # more rounds
    python benchmarks/denoise.py --layers 2  # only with the last two layers learning

The plain step is what a script would write with transformers: texts padded to 32 tokens, BertModel reads the noised
ones, BertLMHeadModel with cross-attention to their vectors tells the whole ones, tied layer by layer, with logits of
the whole vocabulary at every place. Ours has the same batch, noise, layers and dropout. Rounds are interleaved and
the best of each counts, because the machine is shared. Shown besides: the reconstruction of both without dropout and
from the same weights, which must agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertConfig, BertLMHeadModel

from coterie import SCCL, ClusterBERT, datasets
from coterie.augmenters.delete import DeleteAugmenter
from coterie.contracts import Batch, Corpus
from coterie.deep import DeepClusterer
from coterie.encoders.bundled import BundledEncoder
from coterie.encoders.decoder import TokenDecoder
from coterie.encoders.trainable import TransformerNetwork
from coterie.methods.clusterbert import ClusterBERTObjective
from coterie.training.optimizer import Optimizer

BATCH, TOKENS, K = 200, 32, 20
ENCODER = BundledEncoder(max_length=TOKENS, precision="float32")
Step = Callable[[], object]


class PlainStep:
    """The step as a script would write it; its weights are those of ``ours``."""

    def __init__(self, texts: list[str], noised: list[str], ours: ClusterBERTObjective) -> None:
        network, decoder = ours.encoder, ours.decoder
        assert isinstance(network, TransformerNetwork)
        assert isinstance(decoder, TokenDecoder)
        tokenizer, self.encoder = network.pretrained()
        options = {"padding": "max_length", "truncation": True, "max_length": TOKENS, "return_tensors": "pt"}
        self.noised, self.ids = tokenizer(noised, **options), tokenizer(texts, **options)["input_ids"]
        self.targets = self.ids[:, 1:].masked_fill(self.ids[:, 1:] == tokenizer.pad_token_id, -100)
        self.decoder = _lm_head(self.encoder, decoder, network.n_frozen)
        self.head = nn.Linear(network.dim, K)
        self.head.load_state_dict(ours.classifier.layers[-1].state_dict())
        self.groups = ours.groups
        for weight in self.encoder.parameters():
            weight.requires_grad_(not network.n_frozen)
        for layer in self.encoder.encoder.layer[network.n_frozen :]:
            layer.requires_grad_(True)
        weights = {w for part in (self.encoder, self.decoder, self.head) for w in part.parameters() if w.requires_grad}
        self.adam = torch.optim.Adam(list(weights), lr=1e-4)

    def reconstruction(self) -> tuple[Tensor, Tensor]:
        """Return h (B, D) of the noised texts, and what the whole ones cost."""
        states = self.encoder(**self.noised).last_hidden_state
        mask = self.noised["attention_mask"][..., None].float()
        h = F.normalize((states * mask).sum(1) / mask.sum(1), dim=1)
        told = self.decoder(input_ids=self.ids[:, :-1], encoder_hidden_states=(h * h.shape[1] ** 0.5)[:, None])
        return h, F.cross_entropy(told.logits.flatten(0, 1), self.targets.flatten())

    def __call__(self) -> None:
        """Take the step."""
        h, reconstruction = self.reconstruction()
        loss = 0.8 * F.cross_entropy(self.head(20 * h), self.groups) + 0.2 * reconstruction
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.adam.step()


def _lm_head(encoder: Any, ours: Any, n_frozen: int) -> Any:
    """Return transformers' own decoder with the weights of ours; what is tied is the encoder's module itself."""
    config = BertConfig.from_dict(
        encoder.config.to_dict()
        | {"is_decoder": True, "add_cross_attention": True, "num_hidden_layers": len(ours.layers), "use_cache": False}
    )
    model: Any = BertLMHeadModel(config)
    model.bert.embeddings = encoder.embeddings
    for layer, cross, source in zip(
        model.bert.encoder.layer, ours.cross, encoder.encoder.layer[n_frozen:], strict=True
    ):
        for name in (
            "query",
            "key",
            "value",
        ):  # the self-attention of a decoder is causal, so only its parts are shared
            setattr(layer.attention.self, name, getattr(source.attention.self, name))
        layer.attention.output, layer.intermediate, layer.output = (
            source.attention.output,
            source.intermediate,
            source.output,
        )
        parts = ((layer.crossattention.self.value, cross.value), (layer.crossattention.output.dense, cross.out))
        for theirs, own in (*parts, (layer.crossattention.output.LayerNorm, cross.norm)):
            theirs.load_state_dict(own.state_dict())
    transform, predictions = model.cls.predictions.transform, model.cls.predictions
    transform.dense.load_state_dict(ours.head[0].state_dict())
    transform.LayerNorm.load_state_dict(ours.head[2].state_dict())
    predictions.decoder.weight = encoder.embeddings.word_embeddings.weight
    predictions.decoder.bias.data.copy_(ours.bias.data)
    return model


def our_step(model: DeepClusterer, texts: list[str], noised: list[str]) -> tuple[Any, Batch, Step]:
    """Return objective, batch and step as the trainer takes it."""
    torch.manual_seed(0)
    network = model._network(ENCODER, 384)
    objective: Any = model.build_objective(network)
    tokens = network.prepare(texts)
    corpus = Corpus(texts, network.look(tokens), torch.ones(len(texts), dtype=torch.long), torch.arange(len(texts)) % K)
    objective.start(corpus, 0)
    if isinstance(objective, ClusterBERTObjective):  # words are those of the whole set, not of one batch
        objective.decoder.begin(datasets.load("stackoverflow").texts)
    views = (tokens,) * 2 if isinstance(model, SCCL) else (network.prepare(noised),)
    batch = Batch(torch.arange(len(texts)), tokens, views)
    optimizer = Optimizer(objective.train(), encoder_lr=1e-4, head_lr=1e-4, schedule="constant", clip_norm=None)
    loss = objective.joint if isinstance(model, SCCL) else objective.cluster
    return objective, batch, lambda: optimizer.step(loss(batch), progress=0)


def steps_of(layers: int | None, texts: list[str], noised: list[str]) -> dict[str, Step]:
    """Return every step to compare; print whether ours and the plain one agree."""
    common: dict[str, Any] = {"n_clusters": K, "trainable_layers": layers, "encoder": ENCODER}
    everything, batch, all_words = our_step(ClusterBERT(**common, words="all"), texts, noised)
    plain = PlainStep(texts, noised, everything)
    everything.eval()
    plain.encoder.eval()
    plain.decoder.eval()
    with torch.no_grad():
        ours, theirs = float(everything.adapt(batch)["reconstruction"]), float(plain.reconstruction()[1])
    everything.train()
    plain.encoder.train()
    plain.decoder.train()
    print(f"reconstruction without dropout: plain {theirs:.5f}, ours {ours:.5f}, difference {abs(ours - theirs):.1e}")
    return {
        "plain ClusterBERT": plain,
        "ClusterBERT, all words": all_words,
        "ClusterBERT, words of the texts": our_step(ClusterBERT(**common), texts, noised)[2],
        "SCCL": our_step(SCCL(**common), texts, noised)[2],
    }


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", default="2,none", help="last layers that learn, between commas; none: all")
    args = parser.parse_args()
    texts = datasets.load("stackoverflow").texts[:: 20000 // BATCH][:BATCH]
    noised = list(DeleteAugmenter().views(texts, 1, seed=0)[0])
    for word in args.layers.split(","):
        steps = steps_of(None if word == "none" else int(word), texts, noised)
        best = dict.fromkeys(steps, float("inf"))
        for number in range(args.rounds + 1):  # the first round warms up
            for name, step in steps.items():
                start = time.perf_counter()
                step()
                best[name] = min(best[name], time.perf_counter() - start) if number else best[name]
        print(f"\nlast layers that learn: {word}; {BATCH} titles a step; best of {args.rounds} rounds\n")
        print("| step | ms | faster than plain | of SCCL's |\n|---|--:|--:|--:|")
        for name, seconds in best.items():
            ratio = f"{best['plain ClusterBERT'] / seconds:.2f}" if "ClusterBERT" in name else "–"
            print(f"| {name} | {1000 * seconds:.0f} | {ratio} | {seconds / best['SCCL']:.2f} |")
        print()


if __name__ == "__main__":
    main()
