r"""VaSCL: Virtual Augmentation Supported Contrastive Learning of Sentence Representations.

Zhang et al., Findings of ACL 2022.

Two dropout views of a text are contrasted, and the text is contrasted with a perturbation of its embedding, chosen such
that it is hard to tell from the nearest neighbors in the batch:

.. math:: L = L_{dropout} + L_N, \quad
          L_N = \frac{1}{B} \sum_i \ell_{N(i)}(e_i, e_i + \delta_i) + \ell_{N(i)}(e_i + \delta_i, e_i) \tag{6}

.. math:: \delta_i = \arg\max_{\|\delta\| \le \Delta} \ell_{N(i)}(e_i, e_i + \delta) \tag{4}

Paper: https://arxiv.org/abs/2110.08552 - Code: https://github.com/amazon-science/sentence-representations

Symbols: e in the paper is h here.
Departure: trained on the texts to be clustered, not on Wikipedia; then k-means from the initial clusters.
Departure: Δ is relative to the mean length of the embeddings; it is 15 in the official code, whose vectors are longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.contracts import Batch, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.heads.projection import projection
from coterie.hyper import hyper
from coterie.losses.contrastive import neighborhood_contrast, nt_xent
from coterie.objectives.final_kmeans import FinalKMeansObjective


class VaSCL(DeepClusterer, name="vascl"):
    """Contrast of dropout views, and of embeddings with their hardest perturbation."""

    assign_by: Literal["method", "mixture"] = hyper(
        "method", "labels by k-means, or by a mixture over the trained vectors as in `neighbors`"
    )
    encoder_lr: float = hyper(5e-6, "learning rate of the encoder, as in the paper", ge=0)
    head_lr: float = hyper(5e-4, "learning rate of the projection, as in the paper", ge=0)
    n_neighbors: int = hyper(0, "views are of one of so many nearest texts; 0: of the text itself", symbol="k", ge=0)
    temperature: float = hyper(0.05, "temperature of both contrasts", symbol="τ", eq="2, 5", gt=0)
    neighborhood_size: int = hyper(16, "nearest texts of the batch in a neighborhood", symbol="|N|", eq="3", ge=1)
    radius: float = hyper(1.0, "of perturbations, relative to the mean length of embeddings", symbol="Δ", eq="4", gt=0)
    kmeans_restarts: int = hyper(0, "random starts of the final k-means; 0: it starts from the initial clusters", ge=0)

    def build_objective(self, network: Network) -> Objective:
        """Return the VaSCL objective."""
        return VaSCLObjective(self, network)


class VaSCLObjective(FinalKMeansObjective):
    """Projection head g, and Eq. 2-6."""

    n_augmented = 2
    transient = FinalKMeansObjective.transient | {"g"}

    def __init__(self, hp: VaSCL, network: Network) -> None:
        super().__init__(network, hp.n_clusters, restarts=hp.kmeans_restarts)
        self.hp = hp
        self.g = projection(network.dim, bias=False)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage."""
        return [Stage("contrast", epochs, self.contrast)]

    def contrast(self, batch: Batch) -> Terms:
        """Return the terms of Eq. 6."""
        h_1, h_2 = self.network(*batch.augmented)
        z_1 = self.g(h_1)
        instance = nt_xent(z_1, self.g(h_2), tau=self.hp.temperature)  # Eq. 2
        near = self.neighborhoods(h_1.detach())
        if not near.shape[1]:  # a batch of one text has no neighborhood
            return {"instance": instance}
        delta = self.perturbation(h_1.detach(), near)
        virtual = neighborhood_contrast(z_1, self.g(h_1 + delta), near, tau=self.hp.temperature)  # Eq. 5
        return {"instance": instance, "neighborhood": virtual}

    def neighborhoods(self, h: Tensor) -> Tensor:
        """Return the rows (B, n) of the nearest other texts of a batch h (B, D), by inner product, Eq. 3."""
        similarity = (h @ h.T).fill_diagonal_(-torch.inf)
        return similarity.topk(min(self.hp.neighborhood_size, len(h) - 1), dim=1).indices

    def perturbation(self, h: Tensor, near: Tensor) -> Tensor:
        r"""Return \delta (B, D): one step of length \Delta along the gradient at a random direction, Eq. 4."""
        radius = self.hp.radius * h.norm(dim=1).mean()
        d = (radius * F.normalize(torch.randn_like(h), dim=1)).requires_grad_()
        with torch.enable_grad():
            loss = neighborhood_contrast(self.g(h), self.g(h + d), near, tau=self.hp.temperature)
        gradient: Tensor = torch.autograd.grad(loss, d)[0]
        delta: Tensor = radius * F.normalize(gradient, dim=1)
        return delta

    def diagnostics(self, h: Tensor) -> dict[str, Tensor]:
        """Return z (B, d), the input of Eq. 2."""
        return {"z": self.g(h)}
