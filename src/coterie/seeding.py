"""Random numbers of torch from a generator of one's own, so that threads do not disturb each other.

torch has one generator for the whole process, and many of its functions draw from it: dropout, the initialization of
layers. Two trainings in two threads would share it, and the result of each would depend on the other.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

CONSTRUCTION = threading.RLock()
"""Held while layers are created or loaded. transformers replaces the functions of ``torch.nn.init`` while it loads a
model, for all threads: a layer that another thread creates meanwhile could stay without initial weights."""

_WITH_GENERATOR: frozenset[Callable[..., Any]] = frozenset(
    [
        *(torch.rand, torch.randn, torch.randint, torch.randperm),
        *(torch.normal, torch.bernoulli, torch.multinomial, torch.poisson),
        *(Tensor.uniform_, Tensor.normal_, Tensor.random_, Tensor.exponential_, Tensor.log_normal_, Tensor.cauchy_),
        *(Tensor.geometric_, Tensor.bernoulli_, Tensor.bernoulli, Tensor.multinomial),
    ]
)
_UNSUPPORTED: frozenset[Callable[..., Any]] = frozenset(
    [F.alpha_dropout, F.feature_alpha_dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.rrelu]
)


class _OwnGenerator(TorchFunctionMode):
    """While it is active, the random functions of torch draw from its generator, in this thread only."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self.generators: dict[str, torch.Generator] = {}
        self.on(torch.device("cpu"))

    def on(self, device: torch.device) -> torch.Generator:
        """Return the generator of a device."""
        name = device.type if device.index is None else str(device)
        if name not in self.generators:
            self.generators[name] = torch.Generator(device).manual_seed(self.seed)
        return self.generators[name]

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        replacement = _REPLACEMENTS.get(func)
        if replacement is not None:
            return replacement(self, *args, **kwargs)
        if func in _UNSUPPORTED and kwargs.get("training"):
            raise TypeError(
                f"{func.__name__} draws from torch's global generator, which all threads share. Use dropout instead."
            )
        if (func in _WITH_GENERATOR or "generator" in kwargs) and kwargs.get("generator") is None:
            device = _device(args, kwargs)
            if device.type != "meta":  # such tensors have no values
                kwargs = kwargs | {"generator": self.on(device)}
        return func(*args, **kwargs)


def _device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.device:
    """Return the device of a call: of its first tensor, or of its argument ``device``."""
    tensor = next((x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)), None)
    return tensor.device if tensor is not None else torch.device(kwargs.get("device") or torch.get_default_device())


# -- functions of torch that draw and take no generator: the same formulas, with a generator


def _dropout(own: _OwnGenerator, x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if not training or not p:
        return F.dropout(x, p, training=False)
    keep = torch.empty_like(x).bernoulli_(1 - p, generator=own.on(x.device)).div_(max(1 - p, 1e-12))
    return x.mul_(keep) if inplace else x * keep


def _gumbel_softmax(
    own: _OwnGenerator, logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    noise = -torch.empty_like(logits).exponential_(generator=own.on(logits.device)).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    drawn = torch.zeros_like(logits).scatter_(dim, soft.argmax(dim, keepdim=True), 1.0)
    return drawn - soft.detach() + soft  # one-hot, with the gradient of the softmax


def _attention(  # noqa: PLR0913, PLR0917
    own: _OwnGenerator,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **options: Any,
) -> Tensor:
    if not dropout_p:
        return F.scaled_dot_product_attention(query, key, value, attn_mask, is_causal=is_causal, **options)
    if options.get("enable_gqa"):
        raise TypeError("Attention with dropout and grouped queries draws from torch's global generator.")
    score = query @ key.transpose(-2, -1) * (options.get("scale") or 1 / math.sqrt(query.shape[-1]))
    if is_causal:
        attn_mask = torch.ones(score.shape[-2:], dtype=torch.bool, device=score.device).tril()
    if attn_mask is not None:
        score = score.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else score + attn_mask
    return _dropout(own, score.softmax(dim=-1), dropout_p) @ value


def _randn_like(own: _OwnGenerator, x: Tensor, **options: Any) -> Tensor:
    return torch.empty_like(x, **options).normal_(generator=own.on(x.device))


def _rand_like(own: _OwnGenerator, x: Tensor, **options: Any) -> Tensor:
    return torch.empty_like(x, **options).uniform_(generator=own.on(x.device))


_REPLACEMENTS: dict[Callable[..., Any], Callable[..., Tensor]] = {
    F.dropout: _dropout,
    F.gumbel_softmax: _gumbel_softmax,
    F.scaled_dot_product_attention: _attention,
    torch.randn_like: _randn_like,
    torch.rand_like: _rand_like,
}

# -- the generator of a block

_current: ContextVar[_OwnGenerator | None] = ContextVar("generator", default=None)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside the block, torch draws from a new generator with this seed; its global generator stays untouched."""
    own = _OwnGenerator(seed)
    token = _current.set(own)
    try:
        with own:
            yield
    finally:
        _current.reset(token)


def random_states() -> dict[str, Tensor]:
    """Return the states of the generators of the innermost :func:`seeded` block, one for each device."""
    return {device: generator.get_state() for device, generator in _innermost().generators.items()}


def set_random_states(states: dict[str, Tensor]) -> None:
    """Restore what :func:`random_states` returned."""
    for device, state in states.items():
        _innermost().on(torch.device(device)).set_state(state)


def _innermost() -> _OwnGenerator:
    own = _current.get()
    if own is None:
        raise RuntimeError("There is no random state outside of a `seeded` block.")
    return own
