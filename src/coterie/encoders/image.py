"""Embeddings of images: a small ResNet trained from scratch, or a pretrained backbone."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from coterie.contracts import Items, Network, Pixels, Vectors
from coterie.data.images import Images, check_images
from coterie.data.rows import OnEmpty
from coterie.encoders.encoder import Encoder, EncoderState
from coterie.encoders.engine.device import choose_device
from coterie.encoders.engine.loading import weights_sha256
from coterie.encoders.engine.network import freeze_below, layers_of
from coterie.encoders.networks.image import Colors, ImageNetwork, Shape, embed_pixels, n_pixels
from coterie.encoders.networks.resnet import SmallResNet, initialize_batch_norms
from coterie.encoders.networks.vision_backbone import Backbone, load_backbone
from coterie.errors import InputError
from coterie.hyper import hyper

_GRAY_LEVELS: Colors = ((0.5,), (0.25,))  # the same for every channel: the first batch norm does the rest
_MAX_SIZE = 1024  # pixels: N images take N * 3 * size ** 2 bytes
_SAMPLE = 256  # images for the initial batch-norm statistics


class ImageEncoder(Encoder, name="image"):
    """Reads images: a small ResNet trained from scratch, or a pretrained vision model."""

    main_setting = "model"
    input_type = "images"
    default_augmenter = "crop"

    model: str = hyper("", "folder or hub id of a vision model, also image:MODEL; empty: a ResNet from scratch")
    size: int | None = hyper(
        None, "side length that images are resized to; none: their own up to 32, or the model's", ge=4, le=_MAX_SIZE
    )
    width: int = hyper(32, "channels of the ResNet's first stage; the last has four times as many", ge=1)
    blocks: int = hyper(1, "residual blocks in each of its three stages", ge=1)
    pooling: Literal["mean", "cls"] = hyper(
        "mean", "pooling over the patches of a pretrained model: their mean, or the first (cls)"
    )
    normalize: bool = hyper(True, "scale the features of the network to length one")
    device: str = hyper("auto", "auto, cpu, cuda, mps, ...")

    def check(self, X: Any, column: str | None = None, *, on_empty: OnEmpty = "keep") -> Images:  # noqa: N803
        """Return the distinct images, resized to the shape of the training images."""
        if self.model:
            return check_images(X, column, side=self._pretrained().shape[0], channels=3, on_empty=on_empty)
        side, _, channels = getattr(self, "_shape", (self.size, self.size, None))
        return check_images(X, column, side=side, channels=channels, on_empty=on_empty)

    def fit(self, items: Items) -> Self:
        """Record the shape of the images."""
        pixels: Pixels = np.asarray(items)
        height, width, channels = pixels.shape[1:]
        self._shape: Shape = (height, width, channels)
        self._sample = pixels[:: -(-len(pixels) // _SAMPLE)]
        return self

    @property
    def dim(self) -> int:
        """The number of pixels, or the width of the backbone."""
        return self._pretrained().dim if self.model else n_pixels(self._fitted_shape())

    def embed(self, items: Items) -> Vectors:
        """Return the downsampled, centered pixels, or the features of the backbone (N, D)."""
        return self._pretrained().embed(items) if self.model else embed_pixels(items)

    @property
    def is_slow(self) -> bool:
        """A pretrained model is."""
        return bool(self.model)

    def network(self, trainable_layers: int | None = None) -> Network:
        """Return the backbone, whose last layers are trained, or the ResNet, which is trained whole."""
        if self.model:
            return self._backbone(trainable_layers)
        shape = self._fitted_shape()
        body = SmallResNet(shape[2], self.width, self.blocks)
        network = ImageNetwork(body, body.dim, shape, _GRAY_LEVELS, normalize=self.normalize)
        network.from_scratch = True
        if hasattr(self, "_sample"):  # absent when a saved model is loaded
            initialize_batch_norms(body, network.scaled(network.prepare(self._sample)))
        return network.to(choose_device(self.device))

    def state(self) -> EncoderState:
        """Return the shape of the images."""
        return EncoderState({"shape": np.array(self._fitted_shape(), dtype=np.int64)})

    def restore(self, state: EncoderState) -> None:
        """Load the shape."""
        height, width, channels = (int(n) for n in state.tensors["shape"])
        if height != width or not 1 <= height <= _MAX_SIZE or channels not in (1, 3):
            raise InputError(f"Images of the shape {(height, width, channels)} are not those that coterie reads.")
        self._shape = (height, width, channels)

    def fingerprint(self) -> str:
        """Return the hash of the backbone's weights; the weights of the ResNet are saved with the model."""
        return weights_sha256(self._pretrained().body) if self.model else ""

    def outside_sources(self) -> list[str]:
        """Return the folder or hub id of the pretrained model."""
        return [self.model] if self.model else []

    def _fitted_shape(self) -> Shape:
        if not hasattr(self, "_shape"):
            raise InputError("The encoder 'image' has seen no images yet. Fit it first.")
        return self._shape

    def _pretrained(self) -> ImageNetwork:
        if not hasattr(self, "_network"):
            self._network = self._backbone(0).eval()
        return self._network

    def _backbone(self, trainable_layers: int | None) -> ImageNetwork:
        model, side, colors = load_backbone(self.model, self.size)
        body = Backbone(model, self.pooling)
        network = ImageNetwork(body, body.dim, (side, side, 3), colors, normalize=self.normalize)
        if trainable_layers is not None:
            layers = layers_of(model)
            network.freeze(layers[freeze_below(model, layers, trainable_layers) :])
        return network.to(choose_device(self.device))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the backbone and the sample out of a pickle; the backbone is loaded again when needed."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_network", "_sample")}
