"""The part of every model that scikit-learn asks for: how to copy it, what it reads, and which vectors are valid."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from coterie.contracts import Vectors
from coterie.encoders.encoder import EncoderLike, input_type_of
from coterie.errors import InputError


class Estimator(BaseEstimator):
    """An estimator with an encoder."""

    encoder: EncoderLike

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy. It shares the encoder, which may be a large object of the user's."""
        other = copy.copy(self)
        other.encoder = type(self).encoder
        clone: Self = super(Estimator, other).__sklearn_clone__()
        clone.encoder = self.encoder
        return clone

    def __sklearn_tags__(self) -> Any:
        """Return what the model reads: texts or file names, vectors, or images."""
        tags = super().__sklearn_tags__()
        input_type = input_type_of(self.encoder)
        tags.input_tags.string = tags.input_tags.one_d_array = input_type != "vectors"  # texts, or file names
        tags.input_tags.two_d_array = input_type == "vectors"
        tags.input_tags.three_d_array = input_type == "images"
        return tags

    def _check_vectors(self, X: Any, *, reset: bool) -> Vectors:  # noqa: N803
        """Return vectors (N, D) as scikit-learn validates them."""
        try:
            h = validate_data(self, X, reset=reset, dtype=np.float32)
            return np.require(h, requirements=["C", "W"])  # torch takes neither reversed nor read-only arrays
        except ValueError as error:
            hint = "encoder='precomputed' takes vectors, rows of numbers; on the command line --vectors names them"
            raise InputError(f"{error} ({hint}.)") from None
