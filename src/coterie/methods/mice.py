r"""MiCE: Mixture of Contrastive Experts for Unsupervised Image Clustering (Tsai, Li and Zhu, ICLR 2021).

A gate gives the probabilities of the clusters, and each cluster has an expert that tells items apart, as MoCo does. The
likelihood that the right item is found is maximized by EM:

.. math:: L = -\frac{1}{B} \sum_i \log \sum_k \pi_k(x_i) p(y_i | x_i, k), \quad
          \pi_k(x) = \mathrm{softmax}_k(\omega_k g(x) / \tau) \tag{3, 9}

Paper: https://openreview.net/forum?id=gV3wdEOGy_V - Code: https://github.com/TsungWeiTsai/MiCE

Symbols: p(y | x, k) is ``expert_contrast``. With the posterior as q, the ELBO of Eq. 9 is the likelihood itself.
Departure: the gate reads the first view, not a third one, and g has K dimensions, in which \omega is a simplex.
Departure: new items are assigned by \pi_k exp(f_k \mu_k / \tau), without a second view and without the queue.
Departure: gate, experts and prototypes start from the initial clusters; ``head_init="random"`` starts as the paper.
Departure: prototypes are updated from the items without augmentation, by the network itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.contracts import Batch, Corpus, Network, Objective, Stage, Terms
from coterie.deep import DeepClusterer
from coterie.float64 import in_float64
from coterie.heads.experts import Experts
from coterie.heads.momentum import MomentumEncoder
from coterie.heads.projection import Projected
from coterie.heads.queue import Queue, queue_size_for
from coterie.hyper import hyper
from coterie.losses.contrastive import expert_contrast
from coterie.objectives.cluster_head import ClusterHeadObjective, HeadInit

_CHUNK = 1024  # items whose experts are in memory at once
_NEGATIVES = 65_536  # of all experts together, for which the queue has room


class MiCE(DeepClusterer, name="mice"):
    """A mixture of experts, one a cluster, that contrast items."""

    assign_by: Literal["method", "mixture"] = hyper(
        "method", "labels by gate and experts, or by a mixture over the trained vectors as in `neighbors`"
    )
    head_lr: float = hyper(1e-4, "learning rate of everything but the encoder", ge=0)
    temperature: float = hyper(0.5, "temperature of gate and experts; 1 in the paper", symbol="τ", eq="3, 5", gt=0)
    latent_dim: int = hyper(64, "width of the experts", symbol="d", ge=1)
    momentum: float = hyper(0.99, "of the momentum encoder; 0.999 for thousands of steps", symbol="m", ge=0, le=1)
    queue_size: int | None = hyper(
        None, "items kept as negatives; none: half of the items, at most 65536 / K", symbol="J", eq="5", ge=1
    )
    scale: float = hyper(20.0, "factor of the gate's input; 1 for vectors that are not unit length", gt=0)
    head_init: HeadInit = hyper(
        "centers", "initial gate and experts: from the means of the initial clusters, or random"
    )

    def build_objective(self, network: Network) -> Objective:
        """Return the MiCE objective."""
        return MiCEObjective(self, network)


class MiCEObjective(ClusterHeadObjective):
    """Gate g, which is the classifier, experts f with prototypes μ, momentum encoder, queue, and Eq. 3-13."""

    n_augmented = 2
    transient = ClusterHeadObjective.transient | {"momentum_encoder", "past_items"}

    def __init__(self, hp: MiCE, network: Network) -> None:
        super().__init__(network, hp.n_clusters, scale=hp.scale, head_init=hp.head_init)
        self.hp = hp
        self.experts = Experts(network.dim, hp.n_clusters, hp.latent_dim)
        self.momentum_encoder = MomentumEncoder(self.student, hp.momentum)
        self.past_items = Queue(hp.n_clusters * hp.latent_dim)

    @property
    def student(self) -> Projected:
        """The network with its experts; not a submodule, because both parts are."""
        return Projected(self.network, self.experts)

    @torch.no_grad()
    def initialize(self, corpus: Corpus, seed: int) -> None:
        """Start gate, experts and prototypes, and reset momentum encoder and queue."""
        super().initialize(corpus, seed)
        if self.head_init == "centers":
            self.experts.share()
            f = self.experts(corpus.means(self.n_clusters).to(self.experts.mu.device))  # (K, K, d)
            self.experts.mu.copy_(F.normalize(f.diagonal().T, dim=1))
        self.momentum_encoder.reset(self.student)
        most = max(_NEGATIVES // self.n_clusters, 1)
        size = queue_size_for(len(corpus.h), min(self.hp.batch_size, most), max_size=most)
        self.past_items.reset(self.hp.queue_size or size)

    def stages(self, epochs: int) -> Sequence[Stage]:
        """Return one stage."""
        start = self.start_pseudo_labeling
        return [Stage("experts", epochs, self.elbo, before=start, before_epoch=self.update_prototypes)]

    @torch.no_grad()
    def update_prototypes(self, corpus: Corpus, seed: int) -> None:
        r"""Set \mu_k to the direction of the sum of f_k over the items of cluster k; empty ones keep theirs. Eq. 13."""
        total = torch.zeros_like(self.experts.mu)
        for h in torch.split(corpus.h.to(total.device), _CHUNK):
            f = F.normalize(self.experts(h), dim=2)  # (B, K, d)
            assigned = F.one_hot(self._posterior(self.classifier(self.scale * h), f).argmax(dim=1), self.n_clusters).to(
                f.dtype
            )  # (B, K)
            total += torch.einsum("bk,bkd->kd", assigned, f)
        found = total.norm(dim=1, keepdim=True) > 0
        self.experts.mu.copy_(torch.where(found, F.normalize(total, dim=1), self.experts.mu))

    def elbo(self, batch: Batch) -> Terms:
        """Return the term of Eq. 9, with the posterior as q."""
        (h,) = self.network(batch.augmented[0])
        f = F.normalize(self.experts(h), dim=2)  # (B, K, d)
        v = self.momentum_encoder(self.student, batch.augmented[1])
        queue, same = self.past_items.exchange(v.flatten(1), *(batch.shown or (batch.rows, batch.rows)))
        mu = F.normalize(self.experts.mu, dim=1)
        log_phi = expert_contrast(f, v, mu, queue.view(-1, *f.shape[1:]), same, tau=self.hp.temperature)  # (B, K)
        return {"mixture": -(self.log_q(h) + log_phi).logsumexp(dim=1).mean()}

    def after_step(self) -> None:
        """Push the items of this step to the queue, and update the momentum encoder."""
        self.past_items.flush()
        self.momentum_encoder.update(self.student)

    def log_q(self, h: Tensor) -> Tensor:
        r"""Return log \pi (B, K) of h (B, D), Eq. 3."""
        return self._log_pi(self.classifier(self.scale * h))

    @torch.no_grad()
    def logits(self, h: Tensor) -> Tensor:
        r"""Return log \pi_k + f_k \mu_k / \tau (B, K) in float64."""
        f = F.normalize(in_float64(self.experts, h), dim=2)
        return self._posterior(in_float64(self.classifier, self.scale * h), f)

    def _posterior(self, g: Tensor, f: Tensor) -> Tensor:
        mu = F.normalize(self.experts.mu, dim=1).to(f.dtype)
        near: Tensor = (f * mu).sum(dim=2)  # (B, K)
        return self._log_pi(g) + near / self.hp.temperature

    def _log_pi(self, g: Tensor) -> Tensor:
        n = max(self.n_clusters, 2)
        factor: float = (n / (n - 1)) ** 0.5 / self.hp.temperature
        within = F.normalize(g - g.mean(dim=1, keepdim=True), dim=1)  # g(x), in the plane of the simplex
        return (factor * within).log_softmax(dim=1)
