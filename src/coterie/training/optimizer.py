"""Adam with one learning rate for the encoder and one for the heads."""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from coterie.contracts import Objective, Terms
from coterie.errors import TrainingError

Schedule = Literal["constant", "linear"]


class Optimizer:
    """Minimizes the sum of the loss terms."""

    def __init__(
        self,
        objective: Objective,
        *,
        encoder_lr: float,
        head_lr: float,
        schedule: Schedule,
        max_grad_norm: float | None,
    ) -> None:
        encoder = [weight for weight in objective.network.encoder_parameters() if weight.requires_grad]
        known = set(encoder)
        heads = [weight for weight in objective.parameters() if weight.requires_grad and weight not in known]
        groups = [{"params": encoder, "lr": encoder_lr}, {"params": heads, "lr": head_lr}]
        fused = all(weight.device.type in ("cpu", "cuda") for weight in encoder + heads)
        self.adam = torch.optim.Adam([group for group in groups if group["params"]], fused=fused)
        self.weights, self.max_grad_norm, self.schedule = encoder + heads, max_grad_norm, schedule
        self._full = [group["lr"] for group in self.adam.param_groups]

    def step(self, terms: Terms, *, progress: float) -> float:
        """Take one step and return the loss; ``progress`` is the fraction of the run that is done."""
        total = torch.stack([term.float() for term in terms.values()]).sum()
        loss = float(total.detach())
        if not torch.isfinite(total):
            values = ", ".join(f"{name} {float(term.detach()):.4g}" for name, term in terms.items())
            raise TrainingError(f"the loss is NaN or infinite ({values})")
        self.adam.zero_grad()
        total.backward()  # type: ignore[no-untyped-call]
        if self.max_grad_norm is not None:
            nn.utils.clip_grad_norm_(self.weights, self.max_grad_norm)
        for group, full in zip(self.adam.param_groups, self._full, strict=True):
            group["lr"] = full * (1 - progress) if self.schedule == "linear" else full
        self.adam.step()
        return loss
