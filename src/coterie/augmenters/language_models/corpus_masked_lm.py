"""A masked language model of the user's texts, built on the bundled encoder.

Its output vocabulary is the words of the texts. The output embedding of a word is initialized with the mean of its
tokens' embeddings in the encoder. Only the last layers and the head are trained, so that 20,000 short texts take
minutes on two cores.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from coterie.augmenters.language_models.fill_mask import Candidates, CandidateSelector
from coterie.data.atomic import atomic_folder
from coterie.data.ownership import write_marker
from coterie.encoders.bundled import BundledEncoder
from coterie.encoders.engine.network import TransformerNetwork
from coterie.encoders.engine.packed import PackedBert
from coterie.encoders.engine.tokens import Tokens, tokenize
from coterie.errors import InputError
from coterie.seeding import CONSTRUCTION, seeded

TRAINABLE_LAYERS = 2
MAX_LENGTH = 64  # tokens of a text that are read
_HEAD_BATCH = 64  # rows of every matrix product of the head, so that rounding does not depend on the other texts
_WEIGHTS_FILE = "masked-lm.safetensors"
_VOCABULARY_FILE = "masked-lm.json"


class Head(nn.Module):
    """Maps the state of a mask token to a logit for each word."""

    def __init__(self, word_embeddings: Tensor) -> None:
        super().__init__()
        n_words, dim = word_embeddings.shape
        self.linear = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.word_embeddings = nn.Parameter(word_embeddings.clone())  # (V, D)
        self.bias = nn.Parameter(torch.zeros(n_words))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (G, V) of the states x (G, D) of G mask tokens."""
        return F.linear(self.norm(F.gelu(self.linear(x))), self.word_embeddings, self.bias)


class CorpusMaskedLM(nn.Module):
    """Fills mask tokens with words of the user's texts; :mod:`corpus_masked_lm_training` trains it."""

    def __init__(self, vocabulary: Sequence[str], device: str, similarity_weight: float = 0.0) -> None:
        super().__init__()
        self.similarity_weight = similarity_weight
        self.encoder = BundledEncoder(device=device, max_length=MAX_LENGTH)
        self.network = TransformerNetwork(self.encoder, TRAINABLE_LAYERS)
        self.tokenizer = self.network.tokenizer
        self.mask_token: str = self.tokenizer.mask_token
        self.vocabulary = list(vocabulary)
        self.selector = CandidateSelector(self.vocabulary)
        with torch.no_grad():
            word_embeddings = self._mean_token_embeddings(self.vocabulary)
        self.head = Head(word_embeddings).to(self.encoder.torch_device)
        self._unit_embeddings: Tensor | None = None  # (V, D), of length one

    @property
    def bert(self) -> PackedBert:
        """The encoder's transformer."""
        assert isinstance(self.network.bert, PackedBert)
        return self.network.bert

    def masked_logits(self, states: Tokens, mask_positions: Tensor) -> Tensor:
        """Return logits (G, V) at G mask tokens, for training.

        ``states`` are the outputs of the frozen layers for some texts, sorted by length. ``mask_positions`` (G,) are
        positions among all their tokens.
        """
        values, packed = states.pack()
        device = self.encoder.torch_device
        with torch.autocast(device.type, torch.bfloat16, enabled=self.encoder.resolved_precision == "bfloat16"):
            x = self.bert.above(values.to(device).float(), packed, layers=self.network.n_frozen)
            logits: Tensor = self.head(x[mask_positions.to(device)])
        return logits.float()

    @torch.inference_mode()
    def fill(self, texts: Sequence[str], original_words: Sequence[str], top_k: int) -> Candidates:
        """Return candidates for the mask token of each text."""
        tokens = tokenize(self.tokenizer, texts, MAX_LENGTH)
        bert = self.network.inference_copy()
        chunk_tokens = self.encoder.chunk_tokens
        k = min(top_k, len(self.vocabulary))
        word_ids = np.zeros((len(texts), k), dtype=np.int64)
        probabilities = np.zeros((len(texts), k))
        for rows in tokens.chunks(chunk_tokens):
            ids, packed = tokens[rows].pack(chunk_tokens)
            states = bert(ids.to(self.encoder.torch_device), packed)
            positions, text_indices = find_masks(tokens[rows], self.tokenizer.mask_token_id)
            masked_rows = rows[text_indices]
            parts = torch.split(positions, _HEAD_BATCH)
            for part, part_rows in zip(parts, torch.split(masked_rows, _HEAD_BATCH), strict=True):
                words = [original_words[row] for row in part_rows]
                logits = self._logits(states[part.to(states.device)].float())
                logits = logits + self.similarity_weight * self._similarity(words)
                best_ids, best_probabilities = self.selector.select(logits, words, top_k)
                word_ids[part_rows] = best_ids.cpu().numpy()
                probabilities[part_rows] = best_probabilities.cpu().numpy()
        return Candidates(word_ids, probabilities)

    def save(self, folder: Path) -> None:
        """Write the trained weights and the vocabulary, both or nothing."""
        trained = {name: value.detach().cpu() for name, value in self.named_parameters() if value.requires_grad}
        with atomic_folder(folder, overwrite=True) as temporary:
            save_file(trained, temporary / _WEIGHTS_FILE)
            (temporary / _VOCABULARY_FILE).write_text(json.dumps(self.vocabulary), encoding="utf-8")
            write_marker(temporary)

    def _logits(self, states: Tensor) -> Tensor:
        """Return logits (G, V) of states (G, D), computed at the fixed height of ``_HEAD_BATCH`` rows."""
        logits: Tensor = self.head(_pad_rows(states))
        return logits[: len(states)]

    def _similarity(self, words: Sequence[str]) -> Tensor:
        """Return the cosines (G, V) between ``words`` and the vocabulary, from the encoder's token embeddings."""
        if self._unit_embeddings is None:
            self._unit_embeddings = F.normalize(self._mean_token_embeddings(self.vocabulary), dim=1)
        padded = _pad_rows(F.normalize(self._mean_token_embeddings(words), dim=1))
        return (padded @ self._unit_embeddings.T)[: len(words)]

    def _mean_token_embeddings(self, words: Sequence[str]) -> Tensor:
        """Return the mean (N, D) of the token embeddings of each word; zero for a word without tokens."""
        token_ids = self.tokenizer(list(words), add_special_tokens=False)["input_ids"]
        weight = self.bert.words.weight
        return torch.stack([weight[ids].mean(dim=0) if ids else weight[0] * 0 for ids in token_ids])


def is_corpus_masked_lm(folder: Path) -> bool:
    """Whether ``folder`` was written by :meth:`CorpusMaskedLM.save`."""
    return (folder / _VOCABULARY_FILE).is_file()


def load_corpus_masked_lm(folder: Path, device: str, similarity_weight: float = 0.0) -> CorpusMaskedLM:
    """Return a saved model, or raise :class:`InputError` if it is damaged."""
    try:
        vocabulary = json.loads((folder / _VOCABULARY_FILE).read_text(encoding="utf-8"))
        with CONSTRUCTION, seeded(0):  # random weights, which the saved ones replace
            model = CorpusMaskedLM(vocabulary, device, similarity_weight)
        model.load_state_dict(load_file(folder / _WEIGHTS_FILE), strict=False)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"The masked language model in {folder} is incomplete or damaged ({error}). Remove the folder; the model "
            "is then trained again."
        ) from None
    return model.eval()


def find_masks(tokens: Tokens, mask_id: int) -> tuple[Tensor, Tensor]:
    """Return the positions (G,) of mask tokens among all token ids, and the index (G,) of the text of each."""
    positions = (tokens.values == mask_id).nonzero()[:, 0]
    return positions, torch.repeat_interleave(torch.arange(len(tokens)), tokens.lengths)[positions]


def _pad_rows(x: Tensor) -> Tensor:
    """Return x (G, D) padded with zero rows to (_HEAD_BATCH, D)."""
    return F.pad(x, (0, 0, 0, _HEAD_BATCH - len(x)))
