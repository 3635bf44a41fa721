"""Contextual substitution: replace words by predictions of a masked language model (SCCL's "Ctxt" views).

Kobayashi, NAACL 2018 (arXiv:1805.06201). SCCL uses RoBERTa for the first view and BERT for the second, at a strength
of 0.1, 0.2 or 0.3. Words of a text are replaced one after the other, so that the model always sees one mask token.
With ``model=corpus`` candidates are also weighted by their similarity to the word that they replace:
docs/augmenters.md shows the effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from coterie.augmenters.augmenter import Augmenter
from coterie.augmenters.text_rng import random_sample, text_rngs
from coterie.augmenters.word_tokens import is_word, match_case, split_punctuation
from coterie.hyper import hyper
from coterie.words.stop_words import FUNCTION_WORDS

if TYPE_CHECKING:
    from coterie.augmenters.language_models.fill_mask import MaskFiller

CORPUS_MODEL = "corpus"  # the value of `model` that trains a masked language model on the user's texts
_CHUNK_SIZE = 4096  # texts between two progress updates


class Replacement(NamedTuple):
    """A word that is to be replaced."""

    position: int  # in the list of tokens
    u: float  # uniform in [0, 1); selects the candidate


class ContextualAugmenter(Augmenter, name="contextual"):
    """Replaces words by words that a masked language model predicts from the context."""

    main_setting = "strength"

    strength: float = hyper(
        0.2, "share of the words that are replaced, at least one; SCCL: 0.1, 0.2, 0.3; also contextual:STRENGTH",
        symbol="aug_p", gt=0, le=1,
    )  # fmt: skip
    model: str = hyper(
        "roberta-base+bert-base-uncased",
        "hub ids or folders joined by +, used for the views in turn; corpus: a model trained on your texts",
    )
    top_k: int = hyper(100, "a replacement is drawn from so many most probable words", ge=1)
    max_words: int = hyper(10, "most words of a text that are replaced", symbol="aug_max", ge=1)
    stop_words: Literal["replace", "keep"] = hyper("replace", "whether words like the and how are replaced too")
    similarity_weight: float = hyper(
        10.0, "weight of the similarity between a replacement and the original word (model=corpus); 0: context only",
        ge=0,
    )  # fmt: skip
    epochs: int = hyper(4, "epochs of training (model=corpus); more if there are few texts", ge=1)
    device: str = hyper("auto", "auto, cpu, cuda, mps, ...")

    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Iterator[str]:
        """Yield each text with some words replaced."""
        model = self._load_model(texts, view_index)
        for start in range(0, len(texts), _CHUNK_SIZE):
            yield from self._replace_words(texts[start : start + _CHUNK_SIZE], view_index, seed, model)

    def fingerprint(self) -> str:
        """Return the settings, and the sizes and times of the files in folders that they name."""
        folders = [Path(name.strip()) for name in self.model.split("+")]
        files = sorted(path for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_file())
        return f"{self!r} {[(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]}"

    def _replace_words(self, texts: Sequence[str], view_index: int, seed: int, model: MaskFiller) -> list[str]:
        tokens: list[list[str]] = []
        replacements: list[list[Replacement]] = []
        for text, rng in text_rngs(texts, view_index, seed=seed, name=self.name):
            words = text.split()
            positions = [i for i, token in enumerate(words) if self._is_replaceable(token)]
            n = min(self.max_words, ceil(self.strength * len(words) - 1e-9))
            tokens.append(words)
            replacements.append([Replacement(i, rng.random()) for i in random_sample(rng, positions, n)])
        changed: set[int] = set()
        for step in range(max(map(len, replacements), default=0)):  # one replacement in each text
            rows = [row for row, planned in enumerate(replacements) if len(planned) > step]
            changed |= self._replace_one(
                rows, [tokens[row] for row in rows], [replacements[row][step] for row in rows], model
            )
        return [" ".join(tokens[row]) if row in changed else text for row, text in enumerate(texts)]

    def _replace_one(
        self, rows: list[int], tokens: list[list[str]], replacements: list[Replacement], model: MaskFiller
    ) -> set[int]:
        """Replace one word in each of ``tokens`` in place, and return the ``rows`` for which there was a candidate."""
        parts = [split_punctuation(words[r.position]) for words, r in zip(tokens, replacements, strict=True)]
        candidates = model.fill(
            [
                _mask(words, r.position, part, model.mask_token)
                for words, r, part in zip(tokens, replacements, parts, strict=True)
            ],
            [word for _, word, _ in parts],
            self.top_k,
        )
        cumulative = candidates.probabilities.cumsum(axis=1)  # (N, k)
        changed = set()
        for i, (words, r, (before, word, after)) in enumerate(zip(tokens, replacements, parts, strict=True)):
            total = cumulative[i, -1]
            if total == 0:  # no candidate, or the mask token was truncated
                continue
            choice = min(int((cumulative[i] <= r.u * total).sum()), cumulative.shape[1] - 1)
            words[r.position] = before + match_case(model.vocabulary[candidates.word_ids[i, choice]], word) + after
            changed.add(rows[i])
        return changed

    def _is_replaceable(self, token: str) -> bool:
        _, word, _ = split_punctuation(token)
        return is_word(word) and (self.stop_words == "replace" or word.lower() not in FUNCTION_WORDS)

    def _load_model(self, texts: Sequence[str], view_index: int) -> MaskFiller:
        names = [name.strip() for name in self.model.split("+") if name.strip()] or [CORPUS_MODEL]
        name = names[view_index % len(names)]
        training_texts = tuple(texts) if name == CORPUS_MODEL else ()
        return load_mask_filler(name, training_texts, self.epochs, self.device, self.similarity_weight)


def _mask(tokens: list[str], position: int, part: tuple[str, str, str], mask_token: str) -> str:
    """Return the text with the word at ``position`` masked; a mask token of the user's is replaced by "mask"."""
    masked = [token.replace(mask_token, "mask") for token in tokens]
    before, _, after = part
    masked[position] = before + mask_token + after
    return " ".join(masked)


@lru_cache(maxsize=3)
def load_mask_filler(
    name: str, texts: tuple[str, ...], epochs: int, device: str, similarity_weight: float
) -> MaskFiller:
    """Return a masked language model, loaded once; ``texts`` are the training texts of the model "corpus"."""
    if name == CORPUS_MODEL:
        from coterie.augmenters.language_models.corpus_masked_lm_training import load_or_train

        return load_or_train(texts, epochs, device, similarity_weight)
    from coterie.augmenters.language_models.corpus_masked_lm import is_corpus_masked_lm, load_corpus_masked_lm
    from coterie.augmenters.language_models.hub_masked_lm import HubMaskedLM

    if is_corpus_masked_lm(Path(name)):
        return load_corpus_masked_lm(Path(name), device, similarity_weight)
    return HubMaskedLM(name, device)
