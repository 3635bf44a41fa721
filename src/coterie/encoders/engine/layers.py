"""The parts of the layers of BERT, RoBERTa, DistilBERT and MPNet, which name them differently."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.encoders.engine.packed import Dropout, PackedBert, PackedLayer, PlainTransformer
from coterie.errors import InputError


class Parts(NamedTuple):
    """One layer: attention and a feed-forward network, each with a norm after it."""

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    out: nn.Linear
    norm_1: nn.Module
    up: nn.Linear
    down: nn.Linear
    norm_2: nn.Module


def packed_layers(network: PackedBert | PlainTransformer) -> list[PackedLayer]:
    """Return the layers of ``network`` in packed form; they share its weights."""
    if isinstance(network, PackedBert):
        return [layer for layer in network.layers if isinstance(layer, PackedLayer)]
    model: Any = network.model
    stack = getattr(model, "encoder", None) or getattr(model, "transformer", None)
    layers = getattr(stack, "layer", [])
    width = model.get_input_embeddings().weight.shape[1]  # ELECTRA's words, say, are narrower than its states
    if not layers or width != model.config.hidden_size or not all(_parts(layer) for layer in layers):
        raise InputError(
            f"{type(model).__name__} is not built like BERT, so no decoder can be made of its layers. Use a BERT, "
            "RoBERTa, DistilBERT or MPNet, or another method."
        )
    return [SharedLayer(layer, model.config) for layer in layers]


class SharedLayer(PackedLayer):
    """A layer of another transformer in packed form. Queries, keys and values are concatenated when it runs."""

    def __init__(self, layer: Any, config: Any) -> None:
        nn.Module.__init__(self)
        parts = _parts(layer)
        assert parts is not None
        self.heads = config.num_attention_heads
        self.qkv = _Joined(parts.query, parts.key, parts.value)  # type: ignore[assignment] # called alike
        self.out, self.norm_1, self.up, self.down, self.norm_2 = parts[3:]
        self.activation = _activation(layer)
        self.drop = Dropout(_first(config, "hidden_dropout_prob", "dropout"))
        self.drop_attention = Dropout(_first(config, "attention_probs_dropout_prob", "attention_dropout"))


class _Joined(nn.Module):
    """Several linear layers in one matrix product."""

    def __init__(self, *layers: nn.Linear) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs of all layers in a row."""
        weights: list[Any] = [layer.weight for layer in self.layers]
        biases: list[Any] = [layer.bias for layer in self.layers]
        return F.linear(x, torch.cat(weights), torch.cat(biases))


def _parts(layer: Any) -> Parts | None:
    """Return the parts of a layer of BERT, RoBERTa, ELECTRA, ..., of DistilBERT or of MPNet; None for others."""
    try:
        if hasattr(layer, "sa_layer_norm"):  # DistilBERT
            a, f, norms = layer.attention, layer.ffn, (layer.sa_layer_norm, layer.output_layer_norm)
            return Parts(a.q_lin, a.k_lin, a.v_lin, a.out_lin, norms[0], f.lin1, f.lin2, norms[1])
        a, rest = layer.attention, (layer.intermediate.dense, layer.output.dense, layer.output.LayerNorm)
        if hasattr(a, "attn"):  # MPNet
            return Parts(a.attn.q, a.attn.k, a.attn.v, a.attn.o, a.LayerNorm, *rest)
        return Parts(a.self.query, a.self.key, a.self.value, a.output.dense, a.output.LayerNorm, *rest)
    except AttributeError:
        return None


def _activation(layer: Any) -> Any:
    return layer.ffn.activation if hasattr(layer, "ffn") else layer.intermediate.intermediate_act_fn


def _first(config: Any, *names: str) -> float:
    return next(float(getattr(config, name)) for name in names if hasattr(config, name))
