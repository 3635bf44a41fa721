"""Translate with MarianMT models of the transformers library: hub ids or local folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from coterie.augmenters.language_models.hub import equal_length_batches, load_tokenizer_and_model
from coterie.encoders.engine.device import choose_device
from coterie.encoders.engine.tokens import tokenize
from coterie.errors import MissingExtraError
from coterie.progress import track

MAX_LENGTH = 128  # tokens
_ADVICE = (
    "Give folders with MarianMT models, or hub ids on a machine that can reach the hub; or use "
    "backtranslation:apertium, which needs neither."
)


class Translator:
    """Translates in one direction."""

    def __init__(self, source: str, device: str) -> None:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        try:
            self.tokenizer, model = load_tokenizer_and_model(source, AutoTokenizer, AutoModelForSeq2SeqLM, _ADVICE)
        except ImportError:  # Marian's tokenizer needs sentencepiece
            raise MissingExtraError("backtranslation:marian", "translation") from None
        self.device = choose_device(device)
        self.model = model.eval().to(self.device)
        self.max_length = min(MAX_LENGTH, model.config.max_position_embeddings, self.tokenizer.model_max_length)

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str], n_each: int) -> list[list[str]]:
        """Return ``n_each`` translations of each text, most probable first."""
        tokens = tokenize(self.tokenizer, texts, self.max_length)
        translations: list[list[str]] = [[] for _ in texts]
        with track("Translating", len(texts)) as advance:
            for rows in equal_length_batches(tokens):
                generated = self._generate(tokens[rows].values.view(len(rows), -1).to(self.device), n_each)
                lines = self.tokenizer.batch_decode(generated, skip_special_tokens=True)
                for i, row in enumerate(rows.tolist()):
                    translations[row] = [" ".join(line.split()) for line in lines[i * n_each : (i + 1) * n_each]]
                advance(len(rows))
        return translations

    def _generate(self, ids: Tensor, n_each: int) -> Any:
        """Return ``n_each`` sequences of token ids for each row of ids (B, T), by beam search."""
        return self.model.generate(
            ids, attention_mask=torch.ones_like(ids), num_beams=n_each, num_return_sequences=n_each,
            do_sample=False, max_length=min(2 * ids.shape[1] + 8, self.max_length),
        )  # fmt: skip


def back_translate(
    texts: Sequence[str], forward_model: str, backward_model: str, n_candidates: int, device: str
) -> list[list[str]]:
    """Return ``n_candidates`` candidates for each text: its best translations, each translated back once."""
    translated = Translator(forward_model, device)(texts, n_candidates)
    flat = [translation for translations in translated for translation in translations]
    back = [candidate for (candidate,) in Translator(backward_model, device)(flat, 1)]
    return [back[i * n_candidates : (i + 1) * n_candidates] for i in range(len(texts))]
