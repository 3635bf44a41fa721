"""Into another language and back: SCCL's Para views.

SCCL translates by fairseq's mixture of experts (English, French) and chooses by BLEU two of ten candidates: the two
that keep most of the wording, two in the middle, or the two that keep least, which is best there.
Departure: the ten are MarianMT's ten best by beam search. Apertium gives one, so that its views are all the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from coterie.augmenters.augmenter import Augmenter, Texts
from coterie.augmenters.bleu import sentence_bleu
from coterie.hyper import hyper

Wording = Literal["highest", "medium", "lowest"]
Engine = Literal["marian", "apertium"]


class How(NamedTuple):
    """All that candidates depend on, but for the texts."""

    engine: Engine
    there: str
    back: str
    pair: str
    candidates: int
    device: str


class BackTranslationAugmenter(Augmenter, name="backtranslation"):
    """Translates into another language and back, and takes candidates by how much wording they keep."""

    after_colon = "engine"

    engine: Engine = hyper("marian", "what translates: models from a hub, or the program; also backtranslation:ENGINE")
    choose: Wording = hyper("lowest", "which candidates, by BLEU against the text")
    candidates: int = hyper(10, "translations of each text (marian)", ge=1)
    there: str = hyper("Helsinki-NLP/opus-mt-en-fr", "model into the other language (marian): hub id or folder")
    back: str = hyper("Helsinki-NLP/opus-mt-fr-en", "model back (marian): hub id or folder")
    pair: str = hyper("eng-spa", "language of the texts and the other one (apertium)")
    device: str = hyper("auto", "auto, cpu, cuda, mps, ... (marian)")

    def rewrite(self, texts: Texts, number: int, *, seed: int) -> list[str]:
        """Return the candidate ``number`` of each text; nothing is random here."""
        how = How(self.engine, self.there, self.back, self.pair, self.candidates, self.device)
        return [
            chosen(text, candidates, self.choose, number)
            for text, candidates in zip(texts, _translated(tuple(texts), how), strict=True)
        ]


def chosen(text: str, candidates: list[str], wording: Wording, number: int) -> str:
    """Return the candidate ``number`` in the order that ``wording`` asks for; the text where all say just that."""
    distinct = [candidate for candidate in dict.fromkeys(candidates) if candidate and candidate.lower() != text.lower()]
    ranked = sorted(distinct, key=lambda candidate: -sentence_bleu(candidate, text))
    if wording == "lowest":
        ranked.reverse()
    if wording == "medium":
        middle = (len(ranked) - 1) / 2
        ranked = [ranked[i] for i in sorted(range(len(ranked)), key=lambda i: abs(i - middle))]
    return ranked[number % len(ranked)] if ranked else text


@lru_cache(maxsize=1)  # every view chooses from the same candidates
def _translated(texts: tuple[str, ...], how: How) -> list[list[str]]:
    if how.engine == "apertium":
        from coterie.augmenters.language_models import apertium

        return apertium.there_and_back(texts, how.pair)
    from coterie.augmenters.language_models import marian

    return marian.there_and_back(texts, how.there, how.back, how.candidates, how.device)
