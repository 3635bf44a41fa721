"""A masked language model of the user's own texts: the bundled encoder learns which word fits a gap.

Its words are those of the texts, whole ones; each starts as the mean of its word pieces in the encoder's table.
Only the last layers and what is above them learn, so that 20,000 short texts take minutes on two cores.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from coterie.augmenters.language_models.filling import Choices, Likely
from coterie.data.atomic import atomic_folder
from coterie.encoders.bundled import BundledEncoder
from coterie.encoders.packed import PackedBert
from coterie.encoders.tokens import Tokens, tokenize
from coterie.encoders.trainable import TransformerNetwork
from coterie.errors import InputError

LAYERS = 2  # that learn
MAX_LENGTH = 64  # tokens of a text that are read
_HEIGHT = 64  # rows of every matrix product of the head, so that rounding depends on no other text
_WEIGHTS, _WORDS = "own-masked-lm.safetensors", "own-masked-lm.json"


class Head(nn.Module):
    """From the state at a gap to a logit for each word."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        n_words, dim = table.shape
        self.mix, self.norm = nn.Linear(dim, dim), nn.LayerNorm(dim)
        self.words = nn.Parameter(table.clone())  # (V, D)
        self.bias = nn.Parameter(torch.zeros(n_words))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (G, V) of states (G, D)."""
        return F.linear(self.norm(F.gelu(self.mix(x))), self.words, self.bias)


class OwnMaskedLM(nn.Module):
    """A filler of gaps; :mod:`own_training` teaches it."""

    def __init__(self, vocabulary: Sequence[str], device: str, closeness: float = 0.0) -> None:
        super().__init__()
        self.closeness = closeness
        self.encoder = BundledEncoder(device=device, max_length=MAX_LENGTH)
        self.network = TransformerNetwork(self.encoder, LAYERS)
        self.tokenizer = self.network.tokenizer
        self.gap: str = self.tokenizer.mask_token
        self.vocabulary = list(vocabulary)
        self.choices = Choices(self.vocabulary)
        self.head = Head(self._table()).to(self.encoder.where)
        self._units: Tensor | None = None  # (V, D)
        self._ready: list[nn.Module] = []  # in a list, because it is neither trained nor saved

    @property
    def bert(self) -> PackedBert:
        """The encoder's layers."""
        assert isinstance(self.network.bert, PackedBert)
        return self.network.bert

    @torch.no_grad()
    def _table(self) -> Tensor:
        """Return a vector (V, D) for each word: the mean of its pieces."""
        return self._vectors(self.vocabulary)

    def _vectors(self, words: Sequence[str]) -> Tensor:
        """Return the mean (N, D) of each word's pieces in the encoder's table."""
        pieces = self.tokenizer(list(words), add_special_tokens=False)["input_ids"]
        weight = self.bert.words.weight
        return torch.stack([weight[ids].mean(dim=0) if ids else weight[0] * 0 for ids in pieces])

    def _resemblance(self, words: Sequence[str]) -> Tensor:
        """Return the cosine (N, V) of ``words`` and the known words, as the encoder's table has them."""
        if self._units is None:
            self._units = F.normalize(self._vectors(self.vocabulary), dim=1)
        filled = F.pad(F.normalize(self._vectors(words), dim=1), (0, 0, 0, _HEIGHT - len(words)))
        return (filled @ self._units.T)[: len(words)]

    def logits(self, states: Tokens, gaps: Tensor) -> Tensor:
        """Return logits (G, V) at the places ``gaps`` (G,) of what the frozen layers made of texts, shortest first."""
        values, packed = states.pack()
        where = self.encoder.where
        with torch.autocast(where.type, torch.bfloat16, enabled=self.encoder.fast == "bfloat16"):
            x = self.bert.above(values.to(where).float(), packed, layers=self.network.n_frozen)
            logits: Tensor = self.head(x[gaps.to(where)])
        return logits.float()

    @torch.inference_mode()
    def fill(self, texts: Sequence[str], instead_of: Sequence[str], top_k: int) -> Likely:
        """Return likely words for the gap of each text."""
        tokens = tokenize(self.tokenizer, texts, MAX_LENGTH)
        if not self._ready:
            self._ready = [self.encoder.arranged(copy.deepcopy(self.bert).eval(), self.tokenizer)]
        k = min(top_k, len(self.vocabulary))
        words, p = np.zeros((len(texts), k), dtype=np.int64), np.zeros((len(texts), k))
        for rows in tokens.chunks(self.encoder.budget):
            ids, packed = tokens[rows].pack(self.encoder.budget)
            states = self._ready[0](ids.to(self.encoder.where), packed)
            gaps, owners = find_gaps(tokens[rows], self.tokenizer.mask_token_id)
            for some, whose in zip(torch.split(gaps, _HEIGHT), torch.split(rows[owners], _HEIGHT), strict=True):
                x = states[some.to(states.device)].float()
                logits = self.head(F.pad(x, (0, 0, 0, _HEIGHT - len(x))))[: len(x)]
                old = [instead_of[row] for row in whose]
                best = self.choices.best(logits + self.closeness * self._resemblance(old), old, top_k)
                words[whose], p[whose] = (part.cpu().numpy() for part in best)
        return Likely(words, p)

    def save(self, folder: Path) -> None:
        """Write what was learnt, whole or not at all."""
        learnt = {name: value.detach().cpu() for name, value in self.named_parameters() if value.requires_grad}
        with atomic_folder(folder) as temporary:
            save_file(learnt, temporary / _WEIGHTS)
            (temporary / _WORDS).write_text(json.dumps(self.vocabulary), encoding="utf-8")


def is_own(folder: Path) -> bool:
    """Whether ``folder`` is one that :meth:`OwnMaskedLM.save` wrote."""
    return (folder / _WORDS).is_file()


def load_own(folder: Path, device: str, closeness: float = 0.0) -> OwnMaskedLM:
    """Return a model that was saved."""
    try:
        model = OwnMaskedLM(json.loads((folder / _WORDS).read_text(encoding="utf-8")), device, closeness)
        model.load_state_dict(load_file(folder / _WEIGHTS), strict=False)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"{folder} is no whole masked language model ({error}). Remove it; it is made again."
        ) from None
    return model.eval()


def find_gaps(tokens: Tokens, mask_id: int) -> tuple[Tensor, Tensor]:
    """Return the places (G,) of gaps among the token ids, and the number (G,) of the text that each is in."""
    gaps = (tokens.values == mask_id).nonzero()[:, 0]
    return gaps, torch.repeat_interleave(torch.arange(len(tokens)), tokens.lengths)[gaps]
