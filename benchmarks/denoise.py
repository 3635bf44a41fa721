"""Time of a training step of ClusterBERT, compared with a plain implementation and with SCCL.

    make bench-denoise                       # some minutes on two cores
    python benchmarks/denoise.py --rounds 5  # more rounds
    python benchmarks/denoise.py --layers 2  # only with the last two layers trained

The plain step is a script with transformers: texts padded to 32 tokens, BertModel encodes the noised texts,
BertLMHeadModel with cross-attention to their embeddings reconstructs the originals, tied layer by layer, with logits of
the whole vocabulary for every token. Ours has the same batch, noise, layers and dropout. The reconstruction losses of
both, with the same weights and without dropout, are printed too. They must agree.
"""

from __future__ import annotations

import argparse
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
from coterie.encoders.engine.decoder import TokenDecoder
from coterie.encoders.engine.network import TransformerNetwork
from coterie.methods.clusterbert import ClusterBERTObjective
from coterie.training.optimizer import Optimizer
from timing import best_seconds

BATCH = 200
MAX_TOKENS = 32
K = 20
ENCODER = BundledEncoder(max_length=MAX_TOKENS, precision="float32")
Step = Callable[[], object]


class PlainStep:
    """A training step as in a plain script, with the weights of ``ours``."""

    def __init__(self, texts: list[str], noised: list[str], ours: ClusterBERTObjective) -> None:
        network, decoder = ours.network, ours.decoder
        assert isinstance(network, TransformerNetwork)
        assert isinstance(decoder, TokenDecoder)
        tokenizer, self.encoder = network.to_transformers()
        options = {"padding": "max_length", "truncation": True, "max_length": MAX_TOKENS, "return_tensors": "pt"}
        self.noised = tokenizer(noised, **options)
        self.ids = tokenizer(texts, **options)["input_ids"]
        self.targets = self.ids[:, 1:].masked_fill(self.ids[:, 1:] == tokenizer.pad_token_id, -100)
        self.decoder = _lm_head(self.encoder, decoder, network.n_frozen)
        self.head = nn.Linear(network.dim, K)
        self.head.load_state_dict(ours.classifier.layers[-1].state_dict())
        self.pseudo_labels = ours.pseudo_labels
        for weight in self.encoder.parameters():
            weight.requires_grad_(not network.n_frozen)
        for layer in self.encoder.encoder.layer[network.n_frozen :]:
            layer.requires_grad_(True)
        weights = {w for part in (self.encoder, self.decoder, self.head) for w in part.parameters() if w.requires_grad}
        self.adam = torch.optim.Adam(list(weights), lr=1e-4)

    def reconstruction(self) -> tuple[Tensor, Tensor]:
        """Return h (B, D) of the noised texts, and the reconstruction loss of the originals."""
        states = self.encoder(**self.noised).last_hidden_state
        mask = self.noised["attention_mask"][..., None].float()
        h = F.normalize((states * mask).sum(1) / mask.sum(1), dim=1)
        decoded = self.decoder(input_ids=self.ids[:, :-1], encoder_hidden_states=(h * h.shape[1] ** 0.5)[:, None])
        return h, F.cross_entropy(decoded.logits.flatten(0, 1), self.targets.flatten())

    def __call__(self) -> None:
        """Run one step."""
        h, reconstruction = self.reconstruction()
        loss = 0.8 * F.cross_entropy(self.head(20 * h), self.pseudo_labels) + 0.2 * reconstruction
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.adam.step()


def _lm_head(encoder: Any, decoder: TokenDecoder, n_frozen: int) -> Any:
    """Return the decoder of transformers with the weights of ours. Tied layers are the modules of the encoder."""
    changes = {
        "is_decoder": True,
        "add_cross_attention": True,
        "num_hidden_layers": len(decoder.layers),
        "use_cache": False,
    }
    config = BertConfig.from_dict(encoder.config.to_dict() | changes)
    model: Any = BertLMHeadModel(config)
    model.bert.embeddings = encoder.embeddings
    for layer, cross, source in zip(
        model.bert.encoder.layer, decoder.cross, encoder.encoder.layer[n_frozen:], strict=True
    ):
        _tie_layer(layer, source)
        _copy_cross_attention(layer.crossattention, cross)
    predictions = model.cls.predictions
    predictions.transform.dense.load_state_dict(decoder.head[0].state_dict())
    predictions.transform.LayerNorm.load_state_dict(decoder.head[2].state_dict())
    predictions.decoder.weight = encoder.embeddings.word_embeddings.weight
    predictions.decoder.bias.data.copy_(decoder.bias.data)
    return model


def _tie_layer(layer: Any, source: Any) -> None:
    for name in ("query", "key", "value"):  # only the projections: the self-attention of a decoder is causal
        setattr(layer.attention.self, name, getattr(source.attention.self, name))
    layer.attention.output = source.attention.output
    layer.intermediate = source.intermediate
    layer.output = source.output


def _copy_cross_attention(theirs: Any, ours: Any) -> None:
    theirs.self.value.load_state_dict(ours.value.state_dict())
    theirs.output.dense.load_state_dict(ours.out.state_dict())
    theirs.output.LayerNorm.load_state_dict(ours.norm.state_dict())


def our_step(model: DeepClusterer, texts: list[str], noised: list[str]) -> tuple[Any, Batch, Step]:
    """Return an objective, a batch, and a training step as in :class:`Trainer`."""
    torch.manual_seed(0)
    network = model.build_network(ENCODER)
    objective: Any = model.build_objective(network)
    tokens = network.prepare(texts)
    counts = torch.ones(len(texts), dtype=torch.long)
    corpus = Corpus(texts, network.encode(tokens), counts, torch.arange(len(texts)) % K, tokens)
    objective.initialize(corpus, 0)
    if isinstance(objective, ClusterBERTObjective):  # the output vocabulary is that of the data set, not of one batch
        objective.decoder.initialize(datasets.load("stackoverflow").texts)
    views = (tokens,) * 2 if isinstance(model, SCCL) else (network.prepare(noised),)
    batch = Batch(torch.arange(len(texts)), tokens, views)
    optimizer = Optimizer(objective.train(), encoder_lr=1e-4, head_lr=1e-4, schedule="constant", max_grad_norm=None)
    loss = objective.joint if isinstance(model, SCCL) else objective.cluster
    return objective, batch, lambda: optimizer.step(loss(batch), progress=0)


def make_steps(layers: int | None, texts: list[str], noised: list[str]) -> dict[str, Step]:
    """Return the steps to compare. Print whether the losses of ours and the plain one agree."""
    common: dict[str, Any] = {"n_clusters": K, "trainable_layers": layers, "encoder": ENCODER}
    objective, batch, whole_vocabulary = our_step(ClusterBERT(**common, vocabulary="all"), texts, noised)
    plain = PlainStep(texts, noised, objective)
    objective.eval()
    plain.encoder.eval()
    plain.decoder.eval()
    with torch.no_grad():
        ours = float(objective.adapt(batch)["reconstruction"])
        theirs = float(plain.reconstruction()[1])
    objective.train()
    plain.encoder.train()
    plain.decoder.train()
    print(f"reconstruction without dropout: plain {theirs:.5f}, ours {ours:.5f}, difference {abs(ours - theirs):.1e}")
    return {
        "plain ClusterBERT": plain,
        "ClusterBERT, whole vocabulary": whole_vocabulary,
        "ClusterBERT, vocabulary of the texts": our_step(ClusterBERT(**common), texts, noised)[2],
        "SCCL": our_step(SCCL(**common), texts, noised)[2],
    }


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--layers", default="2,none", help="numbers of last layers that are trained, separated by commas; none: all"
    )
    args = parser.parse_args()
    texts = datasets.load("stackoverflow").texts[:: 20000 // BATCH][:BATCH]
    noised = list(DeleteAugmenter().views(texts, 1, seed=0)[0])
    for layers in args.layers.split(","):
        seconds = best_seconds(make_steps(None if layers == "none" else int(layers), texts, noised), args.rounds)
        print(f"\ntrained layers: {layers}; batches of {BATCH}; best of {args.rounds} rounds\n")
        print("| step | ms | speedup over plain | relative to SCCL |\n|---|--:|--:|--:|")
        for name, value in seconds.items():
            speedup = f"{seconds['plain ClusterBERT'] / value:.2f}" if "ClusterBERT" in name else "–"
            print(f"| {name} | {1000 * value:.0f} | {speedup} | {value / seconds['SCCL']:.2f} |")
        print()


if __name__ == "__main__":
    main()
