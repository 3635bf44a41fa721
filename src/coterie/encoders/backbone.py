"""Vision models of transformers: their features, and how they want their images."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from coterie.encoders.image_network import Colours
from coterie.encoders.transformer import without_bars
from coterie.errors import EncoderError

_IMAGENET: Colours = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # of models that do not say


class Backbone(nn.Module):
    """A vision model, whose feature map is averaged, or whose patches are pooled."""

    def __init__(self, model: Any, pooling: Literal["mean", "cls"]) -> None:
        super().__init__()
        self.model, self.pooling = model, pooling
        config = model.config
        self.dim = int(getattr(config, "hidden_size", 0) or config.hidden_sizes[-1])

    def forward(self, x: Tensor) -> Tensor:
        """Return features (B, D) of x (B, 3, S, S)."""
        states: Tensor = self.model(pixel_values=x).last_hidden_state  # (B, D, S', S') or (B, T, D)
        if states.ndim == 4:
            return states.mean(dim=(2, 3))
        return states.mean(dim=1) if self.pooling == "mean" else states[:, 0]


def load_backbone(source: str, size: int | None) -> tuple[Any, int, Colours]:
    """Return the model of a folder or hub id, the side it reads and the colours it knows."""
    from transformers import AutoModel
    from transformers.image_processing_base import ImageProcessingMixin

    try:
        with without_bars(), _without_reports():
            model = AutoModel.from_pretrained(source, dtype=torch.float32)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise EncoderError(
            f"Cannot load the model {source!r}: {reason} Give a folder with a transformers vision model, or a hub id "
            "on a machine that reaches the hub; or use the encoder 'image' alone, which learns from scratch."
        ) from error
    if model.main_input_name != "pixel_values":
        raise EncoderError(f"{source!r} reads {model.main_input_name}, not images. Name a vision model, e.g. a ViT.")
    try:
        wants: dict[str, Any] = ImageProcessingMixin.get_image_processor_dict(source)[0]
    except OSError:  # a model without a preprocessor's file
        wants = {}
    colours = (tuple(wants.get("image_mean") or _IMAGENET[0]), tuple(wants.get("image_std") or _IMAGENET[1]))
    pooler = getattr(model, "pooler", None)
    if pooler is not None and list(pooler.parameters()):
        model.pooler = nn.Identity()  # it is not asked, and where its weights are not in the folder they are random
    return model.eval(), size or _side(wants, model.config), colours


@contextmanager
def _without_reports() -> Iterator[None]:
    """Keep transformers from reporting weights that are missing: those of a pooler, which is not asked."""
    from transformers.utils import logging as transformers_logging

    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)


def _side(wants: dict[str, Any], config: Any) -> int:
    """Return the side of the images: what is cut out, else what they are resized to, else what the model says."""
    for told in (wants.get("crop_size"), wants.get("size"), getattr(config, "image_size", None)):
        if isinstance(told, dict) and told:
            return int(told.get("height") or told.get("shortest_edge") or 224)
        if isinstance(told, int):
            return told
    return 224


def weights_sha256(model: nn.Module) -> str:
    """Return a hash of the weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
