"""A random generator for each text, so that a view does not depend on the other texts, the order or the process."""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence, Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")


def text_rngs(texts: Sequence[str], view_index: int, *, seed: int, name: str) -> Iterator[tuple[str, Random]]:
    """Yield each text with a generator seeded by the text, ``seed``, ``view_index`` and ``name``.

    ``name`` is the augmenter's, so that two augmenters draw different numbers for the same text. All texts share one
    generator object, which is seeded again for each text: use it before the next iteration.
    """
    rng = Random()
    salt = (seed % 2**64).to_bytes(8) + view_index.to_bytes(8)
    person = name.encode()[:16]
    for text in texts:
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt, person=person).digest()
        rng.seed(int.from_bytes(digest))
        yield text, rng


def random_choice(rng: Random, items: Sequence[T]) -> T:
    """Return one of ``items``; faster than :meth:`random.Random.choice`."""
    return items[int(rng.random() * len(items))]


def random_sample(rng: Random, items: MutableSequence[T], n: int) -> MutableSequence[T]:
    """Return ``n`` of ``items`` without replacement, all if there are fewer; reorders ``items`` in place.

    This is the beginning of a Fisher-Yates shuffle; faster than :meth:`random.Random.sample`.
    """
    n = min(n, len(items))
    random = rng.random
    for i in range(n):
        j = i + int(random() * (len(items) - i))
        items[i], items[j] = items[j], items[i]
    return items[:n]
