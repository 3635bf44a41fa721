"""A limit on the tensors that are created while a saved model is built.

The sizes in a configuration are not trusted: a changed number could ask for terabytes. What a model needs is known
from the header of its weights, so anything much larger is refused before the memory is requested.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from coterie.errors import ArtifactError

_FACTOR = 4  # optimizer-free training parts, such as a decoder, are built too and not saved
_MIN_ELEMENTS = 2**24
_MIN_TENSORS = 4096


class AllocationLimit(TorchDispatchMode):
    """Count the elements of all new tensors; with a limit, raise :class:`ArtifactError` before they exceed it."""

    def __init__(self, max_elements: float = math.inf, max_tensors: float = math.inf, place: Path | str = "") -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.max_elements, self.max_tensors, self.place = max_elements, max_tensors, place
        self.n_elements = 0
        self.n_tensors = 0

    def plus(self, saved: dict[str, tuple[int, ...]], place: Path) -> AllocationLimit:
        """Return the limit for a model: what was counted here, for its encoder, and a multiple of the saved tensors."""
        elements = sum(math.prod(shape) for shape in saved.values())
        return AllocationLimit(
            _FACTOR * (self.n_elements + elements) + _MIN_ELEMENTS,
            _FACTOR * (self.n_tensors + len(saved)) + _MIN_TENSORS,
            place,
        )

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation; one that creates a tensor is first tried without memory, to know its size."""
        kwargs = kwargs or {}
        names = {argument.name for argument in func._schema.arguments}
        if "device" in names and not _has_tensor(args):
            on_meta = {"device": torch.device("meta"), "pin_memory": None, "generator": None}
            self._count(func(*args, **kwargs | {name: value for name, value in on_meta.items() if name in names}))
        return func(*args, **kwargs)

    def _count(self, tensor: Any) -> None:
        self.n_elements += tensor.numel()
        self.n_tensors += 1
        if self.n_elements > self.max_elements or self.n_tensors > self.max_tensors:
            raise ArtifactError(
                f"{self.place}: its settings ask for far more memory than the saved weights take, so the two do not "
                "belong together. The model is not loaded."
            )


def _has_tensor(args: Any) -> bool:
    if isinstance(args, torch.Tensor):
        return True
    return isinstance(args, list | tuple) and any(_has_tensor(value) for value in args)
