"""Pretrained vision models of transformers: their features and their image preprocessing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from coterie.encoders.engine.loading import loading_options, reading_weights, without_progress_bars
from coterie.encoders.networks.image import Colors
from coterie.errors import EncoderError

_IMAGENET: Colors = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # of models without a preprocessor configuration


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


def load_backbone(source: str, size: int | None) -> tuple[Any, int, Colors]:
    """Return the model of a folder or hub id, its image size, and its color normalization."""
    from transformers import AutoModel
    from transformers.image_processing_base import ImageProcessingMixin

    try:
        with without_progress_bars(), _without_reports(), reading_weights():
            model = AutoModel.from_pretrained(source, dtype=torch.float32, **loading_options(source))
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise EncoderError(
            f"Cannot load the model {source!r}: {reason} Give a folder with a transformers vision model, or a hub id "
            "on a machine that reaches the hub; or use the encoder 'image' alone, which is trained from scratch."
        ) from error
    if model.main_input_name != "pixel_values":
        raise EncoderError(f"{source!r} reads {model.main_input_name}, not images. Name a vision model, e.g. a ViT.")
    try:
        options = loading_options(source)
        preprocessing: dict[str, Any] = ImageProcessingMixin.get_image_processor_dict(source, **options)[0]
    except OSError:  # no preprocessor configuration
        preprocessing = {}
    colors = (
        tuple(preprocessing.get("image_mean") or _IMAGENET[0]),
        tuple(preprocessing.get("image_std") or _IMAGENET[1]),
    )
    pooler = getattr(model, "pooler", None)
    if pooler is not None and list(pooler.parameters()):
        model.pooler = nn.Identity()  # unused, and random where the folder lacks its weights
    return model.eval(), size or _side(preprocessing, model.config), colors


@contextmanager
def _without_reports() -> Iterator[None]:
    """Silence transformers' report of missing weights: those of the pooler, which is unused."""
    from transformers.utils import logging as transformers_logging

    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)


def _side(preprocessing: dict[str, Any], config: Any) -> int:
    """Return the image size: the crop size, else the resize size, else that of the model."""
    for size in (preprocessing.get("crop_size"), preprocessing.get("size"), getattr(config, "image_size", None)):
        if isinstance(size, dict) and size:
            return int(size.get("height") or size.get("shortest_edge") or 224)
        if isinstance(size, int):
            return size
    return 224
