"""Contextual substitution with masked language models from folders."""

import re

import numpy as np
import pytest
import torch

from coterie.augmenters.augmenter import make_augmenter
from coterie.augmenters.language_models.fill_mask import Candidates, CandidateSelector
from coterie.augmenters.language_models.hub_masked_lm import HubMaskedLM, whole_words
from coterie.augmenters.word_tokens import split_punctuation
from coterie.errors import InputError
from tiny import WORDS, bert_tokenizer, write_bert, write_roberta

TEXTS = [
    "How do I reset my password?",
    "forgot my password, please help",
    "paper jam in the new printer",
    "Invoice error!",
]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return write_roberta(tmp_path_factory.mktemp("roberta"))


def n_changed(text, view):
    pairs = zip(text.split(), view.split(), strict=True)
    return sum(split_punctuation(old)[1].lower() != split_punctuation(new)[1].lower() for old, new in pairs)


@pytest.mark.parametrize("strength", [0.1, 0.2, 0.3])
def test_strength_is_the_share_of_replaced_words(bert, strength):
    texts = [" ".join(np.random.default_rng(i).permutation(WORDS)[:20]) for i in range(30)]
    view = make_augmenter(f"contextual(model={bert},strength={strength})").view(texts, 0, seed=0)
    for text, changed in zip(texts, view, strict=True):
        # a replacement can differ from its word and still equal the word at its position in the text
        assert n_changed(text, changed) in {round(20 * strength) - 1, round(20 * strength)}
        assert set(changed.split()) <= set(WORDS)


def test_max_words_limits_the_replacements(bert):
    text = " ".join(WORDS)
    view = make_augmenter(f"contextual(model={bert},strength=1,max_words=3)").view([text], 0, seed=0)
    assert n_changed(text, view[0]) == 3


def test_punctuation_and_capitals_stay(bert):
    view = make_augmenter(f"contextual(model={bert},strength=1)").view(["(Password), PAPER jam!"], 0, seed=0)
    assert re.fullmatch(r"\([A-Z][a-z]+\), [A-Z]+ [a-z]+!", view[0])


def test_stop_words_can_be_kept(bert):
    augmenter = make_augmenter(f"contextual(model={bert},strength=1,stop_words=keep)")
    assert all(re.match("How do I .+ my ", augmenter.view(TEXTS, 0, seed=seed)[0]) for seed in range(10))


def test_several_models_are_used_for_the_views_in_turn(bert, roberta):
    only_bert = make_augmenter(f"contextual(model={bert})").views(TEXTS, 2, seed=0)
    only_roberta = make_augmenter(f"contextual(model={roberta})").views(TEXTS, 2, seed=0)
    both = make_augmenter(f"contextual(model={bert}+{roberta})").views(TEXTS, 2, seed=0)
    assert both == (only_bert[0], only_roberta[1])
    assert both[1] != only_bert[1]


def test_only_whole_words_are_candidates(roberta):
    model = HubMaskedLM(str(roberta), "cpu")
    assert "password" in model.vocabulary
    assert "<mask>" not in model.vocabulary
    tokens = model.tokenizer.convert_ids_to_tokens(range(len(model.vocabulary)))
    assert all(token.startswith("Ġ") for token, word in zip(tokens, model.vocabulary, strict=True) if word)
    assert "##ing" not in whole_words(bert_tokenizer(), 60)


def test_candidates_are_the_best_usable_words_without_the_original():
    selector = CandidateSelector(["reset", "Reset", "a", "##x", "", "paper", "jam"])
    word_ids, probabilities = selector.select(torch.tensor([[9.0, 8, 7, 7, 7, 1, 0]]), ["RESET"], 2)
    assert word_ids.tolist() == [[5, 6]]
    assert probabilities[0].tolist() == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])


def test_candidates_are_drawn_by_their_probabilities(monkeypatch):
    class ThreeWords:
        mask_token = "_"
        vocabulary = ("one", "two", "three")

        def fill(self, texts, original_words, top_k):
            assert all(text.startswith("reset _ ") for text in texts)
            assert set(original_words) == {"it"}
            word_ids = np.tile([0, 1, 2], (len(texts), 1))
            return Candidates(word_ids, np.tile([0.5, 0.5, 0.0], (len(texts), 1)))

    augmenter = make_augmenter("contextual:0.3")
    monkeypatch.setattr(type(augmenter), "_load_model", lambda *_: ThreeWords())
    monkeypatch.setattr(type(augmenter), "_is_replaceable", lambda _, token: token == "it")
    view = augmenter.view([f"reset it {i}" for i in range(2000)], 0, seed=0)
    counts = [sum(f" {word} " in text for text in view) for word in ThreeWords.vocabulary]
    assert counts[2] == 0
    assert counts[0] == pytest.approx(1000, rel=0.1)
    assert sum(counts) == 2000


def test_a_text_stays_when_truncation_removes_the_mask_token(bert):
    text = "? " * 200 + "password"
    assert make_augmenter(f"contextual(model={bert})").view([text], 0, seed=0) == [text]


def test_mask_tokens_in_the_texts_are_not_filled(bert):
    text = "please [MASK] my password [MASK]"
    view = make_augmenter(f"contextual(model={bert},strength=1)").view([text], 0, seed=0)[0]
    assert view.count("[") == 2


def test_a_missing_model_is_explained(tmp_path):
    with pytest.raises(InputError, match=r"Cannot load the model '.*nowhere'.*contextual\(model=corpus\)"):
        make_augmenter(f"contextual(model={tmp_path / 'nowhere'})").views(TEXTS, 1, seed=0)
