"""Translate with MarianMT models through transformers: hub ids or local folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from coterie.augmenters.language_models.hub import equal_lengths, load_pair
from coterie.encoders.tokens import tokenize
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import MissingExtraError
from coterie.progress import track

MAX_LENGTH = 128  # tokens


class Translator:
    """One direction."""

    def __init__(self, source: str, device: str) -> None:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        try:
            self.tokenizer, model = load_pair(source, AutoTokenizer, AutoModelForSeq2SeqLM, _ADVICE)
        except ImportError:  # Marian's tokenizer reads sentencepiece files
            raise MissingExtraError("backtranslation:marian", "translation") from None
        self.where = TransformerEncoder(device=device).where
        self.model = model.eval().to(self.where)
        self.max_length = min(MAX_LENGTH, model.config.max_position_embeddings, self.tokenizer.model_max_length)

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str], n_each: int) -> list[list[str]]:
        """Return ``n_each`` translations of each text, the most probable first."""
        tokens = tokenize(self.tokenizer, texts, self.max_length)
        found: list[list[str]] = [[] for _ in texts]
        with track("Translating", len(texts)) as advance:
            for rows in equal_lengths(tokens):
                said = self._generate(tokens[rows].values.view(len(rows), -1).to(self.where), n_each)
                lines = self.tokenizer.batch_decode(said, skip_special_tokens=True)
                for i, row in enumerate(rows.tolist()):
                    found[row] = [" ".join(line.split()) for line in lines[i * n_each : (i + 1) * n_each]]
                advance(len(rows))
        return found

    def _generate(self, ids: Tensor, n_each: int) -> Any:
        return self.model.generate(
            ids, attention_mask=torch.ones_like(ids), num_beams=n_each, num_return_sequences=n_each,
            do_sample=False, max_length=min(2 * ids.shape[1] + 8, self.max_length),
        )  # fmt: skip


def there_and_back(texts: Sequence[str], there: str, back: str, n_candidates: int, device: str) -> list[list[str]]:
    """Return for each text the best translations by beam search, each translated back once."""
    foreign = Translator(there, device)(texts, n_candidates)
    ours = Translator(back, device)([text for some in foreign for text in some], 1)
    flat = [candidate for (candidate,) in ours]
    return [flat[i * n_candidates : (i + 1) * n_candidates] for i in range(len(texts))]


_ADVICE = (
    "Give folders with MarianMT models, or hub ids on a machine that reaches the hub; or use backtranslation:apertium, "
    "which needs neither."
)
