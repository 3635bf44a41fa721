"""Vectors of images: a small network that learns from scratch, or a pretrained backbone."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from coterie.contracts import Items, Network, Pixels, Vectors
from coterie.data.images import Images, check_images
from coterie.data.rows import OnEmpty
from coterie.encoders.backbone import Backbone, load_backbone, weights_sha256
from coterie.encoders.encoder import Encoder, EncoderState
from coterie.encoders.image_network import Colours, ImageNetwork, Shape, embed_pixels, n_pixels
from coterie.encoders.resnet import SmallResNet, settle_norms
from coterie.encoders.trainable import freeze_below, layers_of
from coterie.encoders.transformer import choose_device
from coterie.errors import InputError
from coterie.hyper import hyper

_GRAY_LEVELS: Colours = ((0.5,), (0.25,))  # the same for every channel: the first batch norm does the rest
_SAMPLE = 256  # images that an untrained network's batch norms see


class ImageEncoder(Encoder, name="image"):
    """Reads images: by their pixels before a small ResNet has learnt from scratch, or by a pretrained backbone."""

    after_colon = "model"
    reads = "images"
    augmenter = "crop"

    model: str = hyper("", "folder or hub id of a vision model, also image:MODEL; empty: a ResNet from scratch")
    size: int | None = hyper(None, "side that images are resized to; none: their own up to 32, or the model's", ge=4)
    width: int = hyper(32, "channels of the ResNet's first stage; it ends with four times as many", ge=1)
    blocks: int = hyper(1, "residual blocks in each of its three stages", ge=1)
    pooling: Literal["mean", "cls"] = hyper("mean", "of a pretrained model's patches: their mean, or the first's state")
    device: str = hyper("auto", "auto, cpu, cuda, mps, ...")

    def check(self, X: Any, column: str | None = None, *, on_empty: OnEmpty = "keep") -> Images:  # noqa: N803
        """Return the distinct images, in the shape of those that it was fitted on."""
        if self.model:
            return check_images(X, column, side=self._pretrained().shape[0], channels=3, on_empty=on_empty)
        side, _, channels = getattr(self, "_shape", (self.size, self.size, None))
        return check_images(X, column, side=side, channels=channels, on_empty=on_empty)

    def fit(self, images: Items) -> Self:
        """Learn the shape of the images."""
        pixels: Pixels = np.asarray(images)
        height, width, channels = pixels.shape[1:]
        self._shape: Shape = (height, width, channels)
        self._sample = pixels[:: -(-len(pixels) // _SAMPLE)]
        return self

    def embed(self, images: Items) -> Vectors:
        """Return the pixels, small and around zero, or what the backbone makes of them (N, D)."""
        return self._pretrained().embed(images) if self.model else embed_pixels(images)

    def network(self, dim: int, trainable_layers: int | None = None) -> Network:
        """Return the backbone, whose last layers learn, or the ResNet, of which everything does."""
        if self.model:
            return self._backbone(trainable_layers)
        shape = self._fitted_shape()
        body = SmallResNet(shape[2], self.width, self.blocks)
        network = ImageNetwork(body, body.dim, shape, _GRAY_LEVELS)
        network.from_scratch, network.takes = True, n_pixels(shape)
        if hasattr(self, "_sample"):  # not when a saved model is loaded
            settle_norms(body, network.scaled(network.prepare(self._sample)))
        return network.to(choose_device(self.device))

    def state(self) -> EncoderState:
        """Return the shape of the images."""
        return EncoderState({"shape": np.array(self._fitted_shape(), dtype=np.int64)})

    def restore(self, state: EncoderState) -> None:
        """Take the shape back."""
        height, width, channels = (int(n) for n in state.tensors["shape"])
        self._shape = (height, width, channels)

    def fingerprint(self) -> str:
        """Return the hash of the backbone's weights; the ResNet's are learnt and saved."""
        return weights_sha256(self._pretrained().body) if self.model else ""

    def _fitted_shape(self) -> Shape:
        if not hasattr(self, "_shape"):
            raise InputError("The encoder 'image' has seen no images yet. Fit it first.")
        return self._shape

    def _pretrained(self) -> ImageNetwork:
        if not hasattr(self, "_network"):
            self._network = self._backbone(0).eval()
        return self._network

    def _backbone(self, trainable_layers: int | None) -> ImageNetwork:
        model, side, colours = load_backbone(self.model, self.size)
        body = Backbone(model, self.pooling)
        network = ImageNetwork(body, body.dim, (side, side, 3), colours)
        if trainable_layers is not None:
            layers = layers_of(model)
            network.freeze(layers[freeze_below(model, layers, trainable_layers) :])
        return network.to(choose_device(self.device))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the backbone and the sample out of a pickle; the first is loaded again when needed."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_network", "_sample")}
