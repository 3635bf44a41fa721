"""Base class of objectives whose linear head assigns, and is trained by a loss on its own predictions."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from coterie.contracts import Corpus, Network
from coterie.float64 import in_float64
from coterie.heads.classifier import Classifier
from coterie.objectives.pseudo_label import PseudoLabelObjective

HeadInit = Literal["centers", "random"]


class ClusterHeadObjective(PseudoLabelObjective):
    r"""q = softmax(W s h + b), where s is ``scale``.

    With ``head_init="centers"`` W and b start such that q_{jk} \propto \exp(-s \|h_j - \mu_k\|^2 / 2) for the means
    \mu of the initial clusters: the head begins with what the initial labels know.
    """

    def __init__(self, network: Network, n_clusters: int, *, scale: float, head_init: HeadInit) -> None:
        super().__init__(network, n_clusters, Classifier(network.dim, n_clusters, width=None))
        self.scale, self.head_init = scale, head_init

    @torch.no_grad()
    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Take the initial labels, and start the head from their means."""
        super().initialize(corpus, seed)
        if self.head_init == "centers":
            mu = corpus.means(self.n_clusters)
            linear = self.classifier.layers[-1]
            assert isinstance(linear, nn.Linear)
            linear.weight.copy_(mu)
            linear.bias.copy_(-self.scale * mu.square().sum(dim=1) / 2)
        self.head_trained.fill_(self.head_init == "centers")

    def log_q(self, h: Tensor) -> Tensor:
        """Return log q (B, K) of h (B, D)."""
        logits: Tensor = self.classifier(self.scale * h)
        return logits.log_softmax(dim=1)

    @torch.no_grad()
    def logits(self, h: Tensor) -> Tensor:
        """Return the logits of the head (B, K) in float64."""
        return in_float64(self.classifier, self.scale * h)  # type: ignore[no-any-return]
