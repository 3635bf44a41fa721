"""Train a masked language model on the user's texts, starting from the bundled encoder."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.augmenters.language_models.corpus_masked_lm import (
    MAX_LENGTH,
    TRAINABLE_LAYERS,
    CorpusMaskedLM,
    find_masks,
    is_corpus_masked_lm,
    load_corpus_masked_lm,
)
from coterie.augmenters.text_rng import random_sample, text_rngs
from coterie.augmenters.view_cache import cache_folder
from coterie.augmenters.word_tokens import is_word, n_words_to_change, split_punctuation
from coterie.encoders.engine.tokens import Tokens, tokenize
from coterie.errors import InputError
from coterie.progress import track
from coterie.seeding import CONSTRUCTION, seeded

MAX_TEXTS = 50_000  # texts that are trained on
MAX_WORDS = 30_000  # size of the output vocabulary
_MASKED_SHARE = 0.15  # of the words of a text
_BATCH_SIZE = 32
_MIN_STEPS = 300  # few texts are trained on for more epochs
_SEED = 0  # fixed: the model does not depend on the seed of the views
_MASK_RNG_NAME = "own gaps"  # part of the seed of the masked positions: another name would train another model
_NETWORK_LR = 5e-4
_HEAD_LR = 1e-3
_WARMUP_SHARE = 0.05  # share of the steps in which the learning rate rises
_VERSION = 1  # increase it when the same texts give another model


class MaskedTexts(NamedTuple):
    """Texts with mask tokens, and the words that were masked."""

    ids: Tokens
    states: Tokens  # outputs of the frozen layers
    word_ids: list[list[int]]  # of the masked words of each text, in order


def load_or_train(texts: Sequence[str], epochs: int, device: str, similarity_weight: float = 0.0) -> CorpusMaskedLM:
    """Return a masked language model trained on ``texts``, from the cache if it is there."""
    texts = sorted(set(texts))  # the order of the texts does not matter
    folder = model_folder(texts, epochs)
    if not is_corpus_masked_lm(folder):
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        train(texts, epochs, device).save(folder)
    return load_corpus_masked_lm(folder, device, similarity_weight)


def model_folder(texts: Sequence[str], epochs: int) -> Path:
    """Return the folder in the cache of the model of ``texts``, named by a hash of all that the model depends on."""
    settings = [_VERSION, epochs, TRAINABLE_LAYERS, MAX_LENGTH, MAX_TEXTS, MAX_WORDS]
    digest = hashlib.sha256(json.dumps([settings, sorted(set(texts))]).encode()).hexdigest()
    return cache_folder() / f"masked-lm-{digest[:32]}"


def train(texts: Sequence[str], epochs: int, device: str) -> CorpusMaskedLM:
    """Return a model trained on every text for ``epochs`` epochs or more, each time with other words masked."""
    texts = _shuffled(texts)[:MAX_TEXTS]
    vocabulary = frequent_words(texts)
    if len(vocabulary) < 2:
        raise InputError(
            "contextual(model=corpus) needs words that occur in two texts or more, and there are almost none. "
            "Give more texts, or use another augmenter."
        )
    with seeded(_SEED):
        with CONSTRUCTION:
            model = CorpusMaskedLM(list(vocabulary), device)
        frequency = torch.tensor(list(vocabulary.values()), dtype=torch.float)
        model.head.bias.data = (frequency / frequency.sum()).log().to(model.head.bias.device)
        _run_training(model, texts, epochs)
    return model.eval()


def frequent_words(texts: Sequence[str]) -> dict[str, int]:
    """Return the words that occur in two texts or more, and the number of texts of each, most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        words = [split_punctuation(token)[1].lower() for token in text.split()]
        counts.update(list(dict.fromkeys(words)))  # each word once; a set would make the order differ between processes
    return {word: n for word, n in counts.most_common(MAX_WORDS) if n > 1 and is_word(word)}


def _run_training(model: CorpusMaskedLM, texts: Sequence[str], epochs: int) -> None:
    steps_per_epoch = -(-len(texts) // _BATCH_SIZE)
    epochs = max(epochs, -(-_MIN_STEPS // steps_per_epoch))
    n_steps = epochs * steps_per_epoch
    network_weights = [weight for weight in model.network.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(
        [
            {"params": network_weights, "lr": _NETWORK_LR},
            {"params": list(model.head.parameters()), "lr": _HEAD_LR},
        ],
        weight_decay=0.01,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (_WARMUP_SHARE * n_steps + 1), 1 - step / n_steps)
    )
    with track("Training the masked language model", epochs * len(texts)) as advance:
        for epoch in range(epochs):
            masked = mask_texts(model, texts, epoch)
            model.train()
            for rows in _batches(len(texts), epoch):
                loss = masked_lm_loss(model, masked, rows)
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                optimizer.step()
                schedule.step()
                advance(len(rows), note=f"loss {loss.item():.2f}")


def mask_texts(model: CorpusMaskedLM, texts: Sequence[str], epoch: int) -> MaskedTexts:
    """Return ``texts`` with random words masked, others in every epoch; only words of the vocabulary are masked."""
    word_ids = {word: i for i, word in enumerate(model.vocabulary)}
    masked_texts: list[str] = []
    masked_ids: list[list[int]] = []
    for text, rng in text_rngs(texts, epoch, seed=_SEED, name=_MASK_RNG_NAME):
        tokens = text.replace(model.mask_token, "mask").split()
        parts = [split_punctuation(token) for token in tokens]
        known = [i for i, (_, word, _) in enumerate(parts) if word.lower() in word_ids]
        positions = sorted(random_sample(rng, known, n_words_to_change(_MASKED_SHARE, len(tokens))))
        for i in positions:
            before, _, after = parts[i]
            tokens[i] = before + model.mask_token + after
        masked_texts.append(" ".join(tokens))
        masked_ids.append([word_ids[parts[i][1].lower()] for i in positions])
    model.eval()
    ids = tokenize(model.tokenizer, masked_texts, MAX_LENGTH)
    return MaskedTexts(ids, model.network.prepare(masked_texts), masked_ids)


def masked_lm_loss(model: CorpusMaskedLM, masked: MaskedTexts, rows: Tensor) -> Tensor:
    """Return the mean cross-entropy over the masked words of the texts ``rows`` (B,)."""
    rows = rows[masked.ids.lengths[rows].argsort(stable=True)]
    positions, text_indices = find_masks(masked.ids[rows], model.tokenizer.mask_token_id)
    n_masks = text_indices.bincount(minlength=len(rows)).tolist()  # truncation may remove mask tokens
    word_ids = [word_id for row, n in zip(rows.tolist(), n_masks, strict=True) for word_id in masked.word_ids[row][:n]]
    logits = model.masked_logits(masked.states[rows], positions)  # (G, V)
    targets = torch.tensor(word_ids, dtype=torch.long, device=logits.device)
    return F.cross_entropy(logits, targets, reduction="sum") / max(len(word_ids), 1)


def _batches(n_texts: int, epoch: int) -> Iterator[Tensor]:
    """Yield the rows (B,) of each batch of an epoch, shuffled."""
    generator = torch.Generator().manual_seed(_SEED + epoch)
    yield from torch.split(torch.randperm(n_texts, generator=generator), _BATCH_SIZE)


def _shuffled(texts: Sequence[str]) -> list[str]:
    """Return the texts in random order, so that the first ``MAX_TEXTS`` are a random sample."""
    shuffled = list(texts)
    Random(_SEED).shuffle(shuffled)
    return shuffled
