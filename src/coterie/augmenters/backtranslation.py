"""Back-translation: translate into another language and back (SCCL's "Para" views).

SCCL translates with fairseq's mixture of experts (English, French) and selects two of ten candidates by their BLEU
score against the text: the two highest, two in the middle, or the two lowest. The lowest are best there.
Departure: the ten candidates are MarianMT's ten best by beam search. Apertium gives one candidate, so that all views
of a text are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from coterie.augmenters.augmenter import Augmenter
from coterie.augmenters.bleu import sentence_bleu
from coterie.hyper import hyper

BleuRank = Literal["highest", "medium", "lowest"]
Engine = Literal["marian", "apertium"]


class Translation(NamedTuple):
    """All settings that the candidates depend on."""

    engine: Engine
    forward_model: str
    backward_model: str
    language_pair: str
    n_candidates: int
    device: str


class BackTranslationAugmenter(Augmenter, name="backtranslation"):
    """Translates into another language and back, and selects among candidates by BLEU."""

    main_setting = "engine"
    is_random = False

    engine: Engine = hyper(
        "marian", "translator: marian (models from a hub) or apertium (a program); also backtranslation:ENGINE"
    )
    bleu: BleuRank = hyper("lowest", "which candidates become views, by BLEU score against the text")
    n_candidates: int = hyper(10, "translations of each text (marian)", ge=1)
    forward_model: str = hyper("Helsinki-NLP/opus-mt-en-fr", "model into the other language (marian): hub id or folder")
    backward_model: str = hyper("Helsinki-NLP/opus-mt-fr-en", "model back (marian): hub id or folder")
    language_pair: str = hyper("eng-spa", "language of the texts and the other language (apertium)")
    device: str = hyper("auto", "auto, cpu, cuda, mps, ... (marian)")

    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> list[str]:
        """Return candidate ``view_index`` of each text, in the order of ``bleu``; the seed is not used."""
        translation = Translation(
            self.engine,
            self.forward_model,
            self.backward_model,
            self.language_pair,
            self.n_candidates,
            self.device,
        )
        return [
            select_candidate(text, candidates, self.bleu, view_index)
            for text, candidates in zip(texts, _candidates(tuple(texts), translation), strict=True)
        ]


def select_candidate(text: str, candidates: Sequence[str], bleu: BleuRank, view_index: int) -> str:
    """Return candidate ``view_index`` in the order of ``bleu``; the text itself if no candidate differs from it."""
    distinct = [candidate for candidate in dict.fromkeys(candidates) if candidate and candidate.lower() != text.lower()]
    ranked = sorted(distinct, key=lambda candidate: -sentence_bleu(candidate, text))
    if bleu == "lowest":
        ranked.reverse()
    if bleu == "medium":
        middle = (len(ranked) - 1) / 2
        ranked = [ranked[i] for i in sorted(range(len(ranked)), key=lambda i: abs(i - middle))]
    return ranked[view_index % len(ranked)] if ranked else text


@lru_cache(maxsize=1)  # all views select from the same candidates
def _candidates(texts: tuple[str, ...], translation: Translation) -> list[list[str]]:
    """Return the back-translations of each text."""
    if translation.engine == "apertium":
        from coterie.augmenters.language_models import apertium

        return apertium.back_translate(texts, translation.language_pair)
    from coterie.augmenters.language_models import marian

    return marian.back_translate(
        texts,
        translation.forward_model,
        translation.backward_model,
        translation.n_candidates,
        translation.device,
    )
