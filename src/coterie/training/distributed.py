"""Training by several processes that torchrun started: each encodes its share of a batch (docs/adr/0014).

Outside of torchrun there is one process, and everything here does nothing.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parallel import DistributedDataParallel

from coterie.contracts import Batch, Network, Objective, Terms
from coterie.errors import TrainingStopped
from coterie.seeding import random_states, set_random_states

if TYPE_CHECKING:
    from coterie.training.trainer import Run

T = TypeVar("T")
_TIMEOUT = timedelta(hours=2)  # the others wait while the first process computes initial labels
_SYNC_BUFFERS = next(  # newer versions of torch have renamed it
    name
    for name in ("forward_sync_buffers", "broadcast_buffers")
    if name in signature(DistributedDataParallel).parameters
)
_LOST = ("connection", "gloo", "nccl", "peer", "store")  # words of errors when another process has ended


def start() -> None:
    """Connect the processes of torchrun; outside of it do nothing."""
    variables = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    if dist.is_initialized() or not all(name in os.environ for name in variables) or os.environ["WORLD_SIZE"] == "1":
        return
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, timeout=_TIMEOUT)
    atexit.register(stop)


def stop() -> None:
    """Disconnect."""
    if dist.is_initialized():
        dist.destroy_process_group()


def n_processes() -> int:
    """Return the number of processes of this training."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process; 0 is the one that writes."""
    return dist.get_rank() if n_processes() > 1 else 0


def once(function: Callable[[], T]) -> T:
    """Call ``function`` in the first process only, and return its result, or raise its error, in all of them."""
    if n_processes() == 1:
        return function()
    answer: list[Any] = [None, None]
    if rank() == 0:
        states = random_states() if _has_random_states() else {}
        try:
            answer[0] = function()
        except Exception as error:  # the others raise it, too
            answer[1] = error
        set_random_states(states)  # all processes go on with equal random numbers
    dist.broadcast_object_list(answer, src=0)
    if answer[1] is not None:
        raise answer[1]
    result: T = answer[0]
    return result


def any_process(flag: bool) -> bool:
    """Whether ``flag`` is true in one of the processes."""
    if n_processes() == 1:
        return flag
    flags: list[bool] = [False] * n_processes()
    dist.all_gather_object(flags, flag)
    return any(flags)


@contextmanager
def stopping_together(message: Callable[[], str]) -> Iterator[None]:
    """Raise :class:`TrainingStopped` with ``message`` when another process has ended, e.g. because it was killed."""
    try:
        yield
    except RuntimeError as error:
        if n_processes() == 1 or not any(word in str(error).lower() for word in _LOST):
            raise
        raise TrainingStopped(f"Another process of this training has ended. {message()}") from None


def copy_state(objective: Objective) -> None:
    """Give all processes the weights and buffers of the first."""
    if n_processes() > 1:
        state = once(lambda: {name: value.detach().cpu() for name, value in objective.trained_state().items()})
        objective.load_state_dict(state, strict=False)


def copy_run(run: Run) -> None:
    """Give all processes the position and the state of the first, after it has read a checkpoint."""
    if n_processes() > 1:
        states = once(lambda: (run.step, run.history, dict(run.sums), run.optimizer.adam.state_dict(), random_states()))
        run.step, run.history = states[0], states[1]
        run.sums.update(states[2])
        run.optimizer.adam.load_state_dict(states[3])
        set_random_states(states[4])
        copy_state(run.objective)


def encode(network: Network, prepared: Any) -> Tensor:
    """Return ``network.encode(prepared)`` (N, D); each process encodes its share."""
    if n_processes() == 1:
        return network.encode(prepared)
    rows = _shares(len(prepared))
    own = network.encode(prepared[rows[rank()]]) if len(rows[rank()]) else torch.empty(0, network.dim)
    return _gather(own, [len(share) for share in rows])


def loss_of(objective: Objective) -> Callable[[Callable[[Batch], Terms], Batch], Terms]:
    """Return a function that computes loss terms, by DistributedDataParallel where there are several processes."""
    module = _Loss(objective)
    if n_processes() == 1:
        return module
    # A stage may leave weights out, and buffers are equal because their inputs are.
    return DistributedDataParallel(module, find_unused_parameters=True, **{_SYNC_BUFFERS: False})


class _Loss(nn.Module):
    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def forward(self, loss: Callable[[Batch], Terms], batch: Batch) -> Terms:
        return loss(batch)


@contextmanager
def divided(run: Run) -> Iterator[None]:
    """While the block runs, the network encodes the own rows of a batch in each process and returns those of all."""
    network = run.objective.network
    if n_processes() == 1 or any(isinstance(module, _BatchNorm) for module in network.modules()):
        yield
        return
    share = _Share(lambda: run.settings.seed + 2**32 * run.step)
    hooks = [network.register_forward_pre_hook(share.divide), network.register_forward_hook(share.gather)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


class _Share:
    """The two hooks of a network: own rows in, all rows out."""

    def __init__(self, seed: Callable[[], int]) -> None:
        self.seed = seed  # of the dropout in the current step
        self.sizes: list[list[int]] = []  # rows of each view and process; empty: not divided
        self.states: dict[str, Tensor] = {}
        self.last_seed, self.n_calls = -1, 0

    def divide(self, _network: nn.Module, views: tuple[Any, ...]) -> tuple[Any, ...]:
        """Take the own rows of each view, and random numbers of this process."""
        shares = [_shares(len(view)) for view in views]
        self.sizes = [[len(share) for share in of_view] for of_view in shares]
        if any(0 in sizes for sizes in self.sizes):
            self.sizes = []
            return views
        self.states = random_states()
        seed = self.seed()
        self.n_calls = self.n_calls + 1 if seed == self.last_seed else 0
        self.last_seed = seed
        own = hash((seed, self.n_calls, rank())) % 2**63  # of whole numbers, so equal everywhere
        set_random_states({name: torch.Generator(name).manual_seed(own).get_state() for name in self.states})
        return tuple(view[of_view[rank()]] for view, of_view in zip(views, shares, strict=True))

    def gather(self, _network: nn.Module, _views: Any, own: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the embeddings of all rows, and go on with the random numbers that all processes share."""
        if not self.sizes:
            return own
        set_random_states(self.states)
        return tuple(_gather(h, sizes) for h, sizes in zip(own, self.sizes, strict=True))


def _shares(n_rows: int) -> list[Tensor]:
    """Return the rows of each process."""
    return list(torch.tensor_split(torch.arange(n_rows), n_processes()))


def _gather(own: Tensor, sizes: list[int]) -> Tensor:
    """Return the rows of all processes in their order."""
    gathered: Tensor = _Gather.apply(own, sizes)  # type: ignore[no-untyped-call]
    return gathered


class _Gather(torch.autograd.Function):
    """All-gather with a gradient, for a loss that all processes compute alike."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, sizes: list[int]) -> Tensor:
        ctx.sizes = sizes
        padded = own.new_zeros(max(sizes), *own.shape[1:])  # all-gather needs equal shapes
        padded[: len(own)] = own
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        # Times the number of processes, by which DistributedDataParallel divides.
        return len(ctx.sizes) * torch.split(gradients[0], ctx.sizes)[rank()].contiguous(), None


def _has_random_states() -> bool:
    try:
        random_states()
    except RuntimeError:
        return False
    return True
