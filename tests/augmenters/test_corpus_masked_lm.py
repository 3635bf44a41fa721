"""Contextual substitution with a masked language model trained on the user's texts."""

import numpy as np
import pytest
import torch

from coterie.augmenters.augmenter import make_augmenter
from coterie.augmenters.contextual import load_mask_filler
from coterie.augmenters.language_models import corpus_masked_lm_training as training
from coterie.augmenters.language_models.corpus_masked_lm import load_corpus_masked_lm
from coterie.augmenters.word_tokens import split_punctuation
from coterie.errors import InputError


@pytest.fixture(scope="module")
def folder(helpdesk, tmp_path_factory):
    """The folder of a model trained for one epoch on some help-desk messages."""
    folder = tmp_path_factory.mktemp("corpus") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "_MIN_STEPS", 0)
        training.train(sorted(set(helpdesk.texts))[:120], 1, "cpu").save(folder)
    return folder


def test_training_learns_which_words_fit_the_context(topics, monkeypatch):
    texts, _ = topics  # three topics of seven words: the loss is log 21 without the context, log 7 with it
    monkeypatch.setattr(training, "_MIN_STEPS", 18)
    model = training.train(texts, 1, "cpu")
    masked = training.mask_texts(model, texts, epoch=99)
    with torch.no_grad():
        loss = training.masked_lm_loss(model, masked, torch.arange(len(texts)))
    assert loss < np.log(21) - 0.5


def test_a_batch_without_a_known_word_has_loss_zero(folder):
    model = load_corpus_masked_lm(folder, "cpu")
    masked = training.mask_texts(model, ["qwertz", "64 ??"], epoch=0)
    assert training.masked_lm_loss(model, masked, torch.arange(2)).item() == 0


def test_equally_frequent_words_are_ordered_by_first_occurrence():
    words = [f"{first}{second}" for first in "zxcvb" for second in "qwert"]
    texts = [" ".join(words), " ".join(reversed(words)), "once zq"]
    assert training.frequent_words(texts) == {"zq": 3} | dict.fromkeys(words[1:], 2)
    assert list(training.frequent_words(texts)) == words  # whatever PYTHONHASHSEED is


def test_words_are_replaced_by_words_of_the_texts(helpdesk, folder):
    texts = helpdesk.texts[:40]
    vocabulary = set(load_corpus_masked_lm(folder, "cpu").vocabulary)
    view = make_augmenter(f"contextual(model={folder})").view(texts, 0, seed=0)
    replacements = [
        new
        for text, changed in zip(texts, view, strict=True)
        for old, new in zip(text.split(), changed.split(), strict=True)
        if old != new
    ]
    assert len(replacements) >= 40
    assert all(split_punctuation(new)[1].lower() in vocabulary for new in replacements)


def test_a_view_depends_on_its_own_text_only(helpdesk, folder):
    augmenter = make_augmenter(f"contextual(model={folder},strength=0.3)")
    texts = helpdesk.texts[:24]
    together = augmenter.view(texts, 0, seed=0)
    assert augmenter.view(texts[::-1], 0, seed=0)[::-1] == together
    assert [augmenter.view([text], 0, seed=0)[0] for text in texts[:3]] == together[:3]


def test_similarity_weight_prefers_words_similar_to_the_original(folder):
    best = {}
    for weight in (0.0, 100.0):
        model = load_corpus_masked_lm(folder, "cpu", weight)
        word = next(word for word in model.vocabulary if len(word) > 4 and f"{word}s" in model.vocabulary)
        candidates = model.fill(["please help with my [MASK]"], [word], 5)
        best[weight] = model.vocabulary[candidates.word_ids[0, candidates.probabilities[0].argmax()]]
    assert best[100.0] == f"{word}s" != best[0.0]


def test_the_model_is_trained_once_and_cached(helpdesk, monkeypatch, tmp_path):
    texts = helpdesk.texts[:20]
    monkeypatch.setattr(training, "_MIN_STEPS", 0)
    load_mask_filler.cache_clear()
    spec = "contextual(model=corpus,epochs=1)"
    first = make_augmenter(spec).views(texts, 2, seed=0)
    load_mask_filler.cache_clear()
    monkeypatch.setattr(training, "train", lambda *_: pytest.fail("trained again"))
    assert make_augmenter(spec).views(texts[::-1], 2, seed=0)[0] == first[0][::-1]
    (cached,) = (tmp_path / "cache" / "augmenters").glob("masked-lm-*")
    assert {path.name for path in cached.iterdir()} == {"coterie.json", "masked-lm.json", "masked-lm.safetensors"}


def test_texts_without_common_words_are_refused():
    with pytest.raises(InputError, match="words that occur in two texts or more"):
        training.train(["one", "two"], 1, "cpu")


def test_a_damaged_model_is_refused(tmp_path):
    (tmp_path / "masked-lm.json").write_text('["one", "two"]')
    (tmp_path / "masked-lm.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match="incomplete or damaged"):
        make_augmenter(f"contextual(model={tmp_path})").views(["a text"], 1, seed=0)
