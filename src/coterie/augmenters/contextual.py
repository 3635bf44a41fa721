"""Words in the place of words, as a masked language model would fill the gap: SCCL's Ctxt views.

Kobayashi, NAACL 2018 (arXiv:1805.06201). SCCL: RoBERTa for the first view, BERT for the second, at 10, 20, 30 %.
Each gap is filled before the next one is made, so that a model never sees two gaps at once.
The model own also weighs how much a word resembles the old one: docs/augmenters.md shows what that is worth.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from coterie.augmenters.augmenter import Augmenter, Texts
from coterie.augmenters.seeds import dice, draw_some
from coterie.augmenters.words import STOP_WORDS, edges, is_spelt, like
from coterie.hyper import hyper

if TYPE_CHECKING:
    from coterie.augmenters.language_models.filling import Filler

_AT_ONCE = 4096  # texts between two steps of the progress bar


class Gap(NamedTuple):
    """A place in a text, and the number in [0, 1) that decides what comes there."""

    place: int
    u: float


class ContextualAugmenter(Augmenter, name="contextual"):
    """Replaces words by others that fit the context, as a masked language model says."""

    after_colon = "strength"

    strength: float = hyper(
        0.2, "share of the words that are replaced, at least one; SCCL: 0.1, 0.2, 0.3; also contextual:STRENGTH",
        symbol="aug_p", gt=0, le=1,
    )  # fmt: skip
    model: str = hyper(
        "roberta-base+bert-base-uncased", "hub ids or folders, of the views in turn; own: one that learns your texts"
    )
    top_k: int = hyper(100, "most probable words from which one is drawn", ge=1)
    most: int = hyper(10, "words that are replaced at most", symbol="aug_max", ge=1)
    stop_words: Literal["replace", "keep"] = hyper("replace", "whether words like the and how are replaced too")
    closeness: float = hyper(
        10.0, "model own: how much a substitute must resemble the word it replaces; 0: the context alone decides", ge=0
    )
    epochs: int = hyper(4, "passes over your texts when the model is own; few texts are passed over more often", ge=1)
    device: str = hyper("auto", "auto, cpu, cuda, mps, ...")

    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Iterator[str]:
        """Yield each text with other words in it."""
        model = self._filler(texts, number)
        for first in range(0, len(texts), _AT_ONCE):
            yield from self._substituted(texts[first : first + _AT_ONCE], number, seed, model)

    def _substituted(self, texts: Texts, number: int, seed: int, model: Filler) -> list[str]:
        words, gaps = [], []
        for text, rng in dice(texts, number, seed=seed, name=self.name):
            words.append(text.split())
            places = [i for i, token in enumerate(words[-1]) if self._may_change(token)]
            n = min(self.most, ceil(self.strength * len(words[-1]) - 1e-9))
            gaps.append([Gap(place, rng.random()) for place in draw_some(rng, places, n)])
        changed: set[int] = set()
        for turn in range(max(map(len, gaps), default=0)):
            rows = [row for row, some in enumerate(gaps) if len(some) > turn]
            changed |= self._fill(rows, [words[row] for row in rows], [gaps[row][turn] for row in rows], model)
        return [" ".join(words[row]) if row in changed else text for row, text in enumerate(texts)]

    def _fill(self, rows: list[int], words: list[list[str]], gaps: list[Gap], model: Filler) -> set[int]:
        """Fill one gap in each of ``words``, and return the ``rows`` where a word was found."""
        old = [edges(tokens[gap.place]) for tokens, gap in zip(words, gaps, strict=True)]
        likely = model.fill(
            [_with_gap(*part, model.gap) for part in zip(words, gaps, old, strict=True)],
            [word for _, word, _ in old],
            self.top_k,
        )
        below = likely.p.cumsum(axis=1)  # (N, k)
        found = set()
        for i, (tokens, gap, (before, word, after)) in enumerate(zip(words, gaps, old, strict=True)):
            if below[i, -1] == 0:  # no word fits, or the text is longer than the model reads
                continue
            choice = min(int((below[i] <= gap.u * below[i, -1]).sum()), below.shape[1] - 1)
            tokens[gap.place] = before + like(model.vocabulary[likely.words[i, choice]], word) + after
            found.add(rows[i])
        return found

    def _may_change(self, token: str) -> bool:
        _, word, _ = edges(token)
        return is_spelt(word) and (self.stop_words == "replace" or word.lower() not in STOP_WORDS)

    def _filler(self, texts: Texts, number: int) -> Filler:
        models = [name.strip() for name in self.model.split("+") if name.strip()] or ["own"]
        name = models[number % len(models)]
        return load_filler(name, tuple(texts) if name == "own" else (), self.epochs, self.device, self.closeness)

    def identity(self) -> str:
        """Return the settings, and a hash of what is in a folder that they name."""
        folders = [Path(name.strip()) for name in self.model.split("+")]
        files = sorted(path for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_file())
        return f"{self!r} {[(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]}"


def _with_gap(tokens: list[str], gap: Gap, old: tuple[str, str, str], mark: str) -> str:
    """Return the text with one gap; what looks like a gap in it already is none."""
    others = [token.replace(mark, "mask") for token in tokens]
    others[gap.place] = old[0] + mark + old[2]
    return " ".join(others)


@lru_cache(maxsize=3)
def load_filler(name: str, texts: tuple[str, ...], epochs: int, device: str, closeness: float) -> Filler:
    """Return a masked language model, loaded once; ``texts`` are what ``own`` learns from."""
    if name == "own":
        from coterie.augmenters.language_models.own_training import own_model

        return own_model(texts, epochs, device, closeness)
    from coterie.augmenters.language_models.hub import HubMaskedLM
    from coterie.augmenters.language_models.own import is_own, load_own

    return load_own(Path(name), device, closeness) if is_own(Path(name)) else HubMaskedLM(name, device)
