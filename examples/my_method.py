r"""MyMethod: prototypes of the clusters, trained together with the encoder.

Each text is classified into its initial cluster by its similarity to the prototypes:

.. math:: L = -\frac{1}{B} \sum_j \log q_{j y_j}, \qquad q_{jk} \propto \exp(\cos(h_j, \mu_k) / \tau) \tag{1}

Paper: none - Code: this file
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.hyper import hyper


class MyMethod(DeepClusterer, name="my_method"):
    """Trains prototypes and encoder by classification into the initial clusters."""

    temperature: float = hyper(0.1, "temperature of the cosines", symbol="τ", eq="1", gt=0)

    def build_objective(self, network: Network) -> Objective:
        """Return the objective of this method."""
        return MyObjective(self, network)


class MyObjective(Objective):
    """The prototypes μ, and Eq. 1."""

    n_augmented = 1  # views of each text in a batch
    transient = frozenset({"y"})  # not part of a saved model

    def __init__(self, hp: MyMethod, network: Network) -> None:
        super().__init__(network)
        self.hp = hp
        self.mu = nn.Parameter(torch.zeros(hp.n_clusters, network.dim))
        self.register_buffer("y", torch.zeros(0, dtype=torch.long))  # (N,) initial labels

    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Place the prototypes at the means of the initial clusters."""
        self.mu.data.copy_(corpus.means(self.hp.n_clusters))
        self.y = torch.as_tensor(corpus.labels, device=self.mu.device)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage."""
        return [Stage("classify", epochs, self.classify)]

    def classify(self, batch: Batch) -> Terms:
        """Return Eq. 1 of the views."""
        (h,) = self.network(*batch.augmented)  # (B, D)
        return {"classification": F.nll_loss(self.log_q(h), self.y[batch.rows])}

    def log_q(self, h: Tensor) -> Tensor:
        """Return log q (B, K) of h (B, D)."""
        cosine = F.normalize(h, dim=1) @ F.normalize(self.mu.to(h.dtype), dim=1).T
        return (cosine / self.hp.temperature).log_softmax(dim=1)

    @property
    def centers(self) -> Tensor:
        """The prototypes (K, D)."""
        return self.mu

    def assign(self, h: Tensor) -> Tensor:
        """Return q (B, K), in float64 so that a row does not depend on its batch."""
        return self.log_q(h.double()).exp()
