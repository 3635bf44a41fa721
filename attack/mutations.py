"""Changes of bytes, JSON values and tensors that a stranger, or a bad disk, could make."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

STRANGE: list[Any] = [
    None, True, -1, 0, 10**30, 1e308, "", "x" * 70_000, "../../etc/passwd", "\x1b]0;owned\x07\u202e", "nan", [], {},
    [[]], {"__class__": "os.system"}, [1] * 10_000,
]  # fmt: skip


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with one change: bits, a cut, an insertion, zeros, or a part moved."""
    kind, place = rng.integers(6), int(rng.integers(max(len(data), 1)))
    if kind == 0:
        changed = bytearray(data)
        for i in rng.integers(max(len(data), 1), size=int(rng.integers(1, 9))):
            changed[i] ^= 1 << int(rng.integers(8))
        return bytes(changed)
    if kind == 1:
        return data[:place]
    if kind == 2:
        return data[:place] + rng.bytes(int(rng.integers(1, 64))) + data[place:]
    if kind == 3:
        return data[:place] + bytes(16) + data[place + 16 :]
    if kind == 4:
        return data[:place] + b"\xff" * 8 + data[place + 8 :]
    return data[place:] + data[:place]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every entry of a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value[:5]) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from leaves(inner, (*path, key))


def with_entry(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a copy of a JSON value with another entry at ``path``; without it if ``new`` is the function itself."""
    changed = copy.deepcopy(value)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if new is with_entry:
        del place[path[-1]]
    else:
        place[path[-1]] = new
    return changed


def tensor_mutations(array: Any, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Yield arrays that a file of weights could have instead of ``array``."""
    flat = np.ascontiguousarray(array)
    yield "empty", np.zeros((0, *flat.shape[1:]), dtype=flat.dtype)
    yield "one more axis", flat[None]
    yield "doubled", np.concatenate([flat.reshape(-1), flat.reshape(-1)])
    yield "other type", flat.astype(np.float64 if flat.dtype != np.float64 else np.int8)
    yield "zeros", np.zeros_like(flat)
    if flat.dtype.kind == "f":
        yield "nan", np.full_like(flat, np.nan)
        yield "huge", np.full_like(flat, np.finfo(flat.dtype).max)
    if flat.dtype.kind in "iu":
        yield "out of range", np.full_like(flat, np.iinfo(flat.dtype).max)
        yield "negative", np.full_like(flat, -7 if flat.dtype.kind == "i" else 0)
        yield "random", rng.integers(0, 100, flat.shape).astype(flat.dtype)
