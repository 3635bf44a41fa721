"""A convolutional network above word vectors, trained from scratch; before training, the mean of the word vectors."""

from __future__ import annotations

import torch
from torch import Tensor

from coterie.contracts import Items, Network
from coterie.encoders.networks.word_cnn import WordCNNNetwork
from coterie.encoders.sif import SifEncoder
from coterie.hyper import hyper


class CNNEncoder(SifEncoder, name="cnn"):
    """Convolutions over word vectors, for methods that train; for others the embeddings of `sif`."""

    max_length: int = hyper(32, "words read of each text; the rest is ignored", ge=1, le=1024)
    dropout: float = hyper(0.1, "of the word vectors, in training", ge=0, lt=1)

    def network(self, trainable_layers: int | None = None) -> Network:
        """Return the convolutional network, which is trained whole."""
        vectors = torch.from_numpy(self._loaded().vectors)
        return WordCNNNetwork(self.word_ids, vectors, max_length=self.max_length, dropout=self.dropout)

    def word_ids(self, texts: Items) -> Tensor:
        """Return the rows of the word vectors (N, T) of each text's known words; -1 after its end."""
        row = self._loaded().row
        ids = torch.full((len(texts), self.max_length), -1, dtype=torch.int32)
        for i, text in enumerate(texts):
            known = [row[word] for word in self._split(text) if word in row][: self.max_length]
            ids[i, : len(known)] = torch.tensor(known, dtype=torch.int32)
        return ids
