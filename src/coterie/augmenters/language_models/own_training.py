"""Teach the bundled encoder which words of the user's texts fit a gap."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.augmenters.cache import cache_folder
from coterie.augmenters.language_models.own import LAYERS, MAX_LENGTH, OwnMaskedLM, find_gaps, is_own, load_own
from coterie.augmenters.seeds import dice, draw_some
from coterie.augmenters.words import edges, how_many, is_spelt
from coterie.encoders.tokens import Tokens, tokenize
from coterie.errors import InputError
from coterie.progress import track

MOST_TEXTS = 50_000  # that are learnt from
MOST_WORDS = 30_000  # that are known
_SHARE = 0.15  # of the words that are gaps while learning
_BATCH = 32  # texts of a step
_LEAST_STEPS = 300  # small sets are passed over more often
_SEED = 0  # the model is the same whatever seed the views have
_LR = {"network": 5e-4, "head": 1e-3}
_WARM_UP = 0.05  # share of the steps in which the learning rate rises
_VERSION = 1  # to be raised when the same texts would give another model


class Gapped(NamedTuple):
    """Texts with gaps, as the frozen layers leave them, and the words that stood in the gaps."""

    ids: Tokens
    states: Tokens
    words: list[list[int]]


def own_model(texts: Sequence[str], epochs: int, device: str, closeness: float = 0.0) -> OwnMaskedLM:
    """Return a masked language model of ``texts``, from the cache where it was made before."""
    texts = sorted(set(texts))  # the order in which texts come does not matter
    folder = cache_folder() / f"own-{own_key(texts, epochs)[:32]}"
    if not is_own(folder):
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        train(texts, epochs, device).save(folder)
    return load_own(folder, device, closeness)


def own_key(texts: Sequence[str], epochs: int) -> str:
    """Return a hash of all that the model depends on."""
    settings = [_VERSION, epochs, LAYERS, MAX_LENGTH, MOST_TEXTS, MOST_WORDS]
    return hashlib.sha256(json.dumps([settings, sorted(set(texts))]).encode()).hexdigest()


def train(texts: Sequence[str], epochs: int, device: str) -> OwnMaskedLM:
    """Return a model that has seen every text ``epochs`` times or more, each time with other gaps."""
    texts = _shuffled(texts)[:MOST_TEXTS]
    vocabulary = frequent_words(texts)
    if len(vocabulary) < 2:
        raise InputError(
            "contextual(model=own) learns from words that occur in two texts or more, and there are hardly any. "
            "Give more texts, or use another augmenter."
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        model = OwnMaskedLM(list(vocabulary), device)
        frequency = torch.tensor(list(vocabulary.values()), dtype=torch.float)
        model.head.bias.data = (frequency / frequency.sum()).log().to(model.head.bias.device)
        _train(model, texts, epochs)
    return model.eval()


def frequent_words(texts: Sequence[str]) -> dict[str, int]:
    """Return the words that occur in two texts or more, and in how many."""
    counts = Counter(word for text in texts for word in {edges(token)[1].lower() for token in text.split()})
    return {word: n for word, n in counts.most_common(MOST_WORDS) if n > 1 and is_spelt(word)}


def _train(model: OwnMaskedLM, texts: Sequence[str], epochs: int) -> None:
    per_epoch = -(-len(texts) // _BATCH)
    epochs = max(epochs, -(-_LEAST_STEPS // per_epoch))
    learning = [
        {"params": [weight for weight in part.parameters() if weight.requires_grad], "lr": _LR[name]}
        for name, part in (("network", model.network), ("head", model.head))
    ]
    optimizer = torch.optim.AdamW(learning, weight_decay=0.01)
    steps = epochs * per_epoch
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (_WARM_UP * steps + 1), 1 - step / steps)
    )
    with track("Learning words in context", epochs * len(texts)) as advance:
        for epoch in range(epochs):
            gapped = with_gaps(model, texts, epoch)
            model.train()
            for rows in _batches(gapped.ids, epoch):
                loss = _loss(model, gapped, rows)
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                optimizer.step()
                schedule.step()
                advance(len(rows), note=f"loss {loss.item():.2f}")


def with_gaps(model: OwnMaskedLM, texts: Sequence[str], epoch: int) -> Gapped:
    """Return ``texts`` with other gaps in every epoch; a text without a known word has none."""
    number = {word: i for i, word in enumerate(model.vocabulary)}
    gapped, words = [], []
    for text, rng in dice(texts, epoch, seed=_SEED, name="own gaps"):
        tokens = text.replace(model.gap, "mask").split()
        parts = [edges(token) for token in tokens]
        known = [i for i, (_, word, _) in enumerate(parts) if word.lower() in number]
        places = sorted(draw_some(rng, known, how_many(_SHARE, len(tokens))))
        for i in places:
            tokens[i] = parts[i][0] + model.gap + parts[i][2]
        gapped.append(" ".join(tokens))
        words.append([number[parts[i][1].lower()] for i in places])
    model.eval()
    return Gapped(tokenize(model.tokenizer, gapped, MAX_LENGTH), model.network.prepare(gapped), words)


def _loss(model: OwnMaskedLM, gapped: Gapped, rows: Tensor) -> Tensor:
    rows = rows[gapped.ids.lengths[rows].argsort(stable=True)]
    gaps, owners = find_gaps(gapped.ids[rows], model.tokenizer.mask_token_id)
    found = owners.bincount(minlength=len(rows)).tolist()  # fewer than were made where a text was cut
    words = [word for row, n in zip(rows.tolist(), found, strict=True) for word in gapped.words[row][:n]]
    logits = model.logits(gapped.states[rows], gaps)
    return F.cross_entropy(logits, torch.tensor(words, device=logits.device), reduction="sum") / max(len(words), 1)


def _batches(tokens: Tokens, epoch: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(_SEED + epoch)
    yield from torch.split(torch.randperm(len(tokens), generator=generator), _BATCH)


def _shuffled(texts: Sequence[str]) -> list[str]:
    """Return the texts in an order that has nothing to do with what they say."""
    order = list(texts)
    Random(_SEED).shuffle(order)
    return order
