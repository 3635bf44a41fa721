"""Random numbers that belong to a text: the same whatever comes before it, beside it, or on another processor."""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence, Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")


def dice(texts: Sequence[str], number: int, *, seed: int, name: str) -> Iterator[tuple[str, Random]]:
    """Yield each text with a generator seeded by the text, ``seed``, the view's ``number`` and who asks (``name``).

    The generator is one object, seeded again for each text: use it before asking for the next.
    """
    rng = Random()
    salt = (seed % 2**64).to_bytes(8) + number.to_bytes(8)
    person = name.encode()[:16]
    for text in texts:
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt, person=person).digest()
        rng.seed(int.from_bytes(digest))
        yield text, rng


def draw(rng: Random, items: Sequence[T]) -> T:
    """Return one item."""
    return items[int(rng.random() * len(items))]


def draw_some(rng: Random, items: MutableSequence[T], n: int) -> MutableSequence[T]:
    """Return ``n`` different items, fewer where there are not so many; ``items`` is left in another order."""
    n = min(n, len(items))
    random = rng.random
    for i in range(n):
        j = i + int(random() * (len(items) - i))
        items[i], items[j] = items[j], items[i]
    return items[:n]
