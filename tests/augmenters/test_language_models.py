"""Contextual substitution with models from folders, and with one that learns the user's texts."""

import re

import numpy as np
import pytest
import torch
from tiny import WORDS, bert_tokenizer, write_bert, write_roberta

from coterie.augmenters.augmenter import make_augmenter
from coterie.augmenters.contextual import load_filler
from coterie.augmenters.language_models import own_training
from coterie.augmenters.language_models.filling import Choices, Likely
from coterie.augmenters.language_models.hub import HubMaskedLM, whole_words
from coterie.augmenters.language_models.own import load_own
from coterie.augmenters.words import edges
from coterie.errors import InputError

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


def n_different(text, view):
    pairs = zip(text.split(), view.split(), strict=True)
    return sum(edges(old)[1].lower() != edges(new)[1].lower() for old, new in pairs)


@pytest.mark.parametrize("strength", [0.1, 0.2, 0.3])
def test_so_many_words_are_replaced_by_whole_words_as_the_strength_says(bert, strength):
    texts = [" ".join(np.random.default_rng(i).permutation(WORDS)[:20]) for i in range(30)]
    for text, view in zip(
        texts, make_augmenter(f"contextual(model={bert},strength={strength})").view(texts, 0, seed=0), strict=True
    ):
        assert n_different(text, view) in {round(20 * strength) - 1, round(20 * strength)}  # a gap may be filled twice
        assert set(view.split()) <= set(WORDS)


def test_at_most_so_many_words_are_replaced(bert):
    text = " ".join(WORDS)
    assert (
        n_different(text, make_augmenter(f"contextual(model={bert},strength=1,most=3)").view([text], 0, seed=0)[0]) == 3
    )


def test_marks_and_capitals_stay(bert):
    view = make_augmenter(f"contextual(model={bert},strength=1)").view(["(Password), PAPER jam!"], 0, seed=0)[0]
    assert re.fullmatch(r"\([A-Z][a-z]+\), [A-Z]+ [a-z]+!", view)


def test_stop_words_can_be_kept(bert):
    augmenter = make_augmenter(f"contextual(model={bert},strength=1,stop_words=keep)")
    assert all(re.match("How do I .+ my ", augmenter.view(TEXTS, 0, seed=seed)[0]) for seed in range(10))


def test_two_models_take_turns(bert, roberta):
    both, alone = (
        make_augmenter(f"contextual(model={m})").views(TEXTS, 2, seed=0) for m in (f"{bert}+{roberta}", bert)
    )
    assert both[0] == alone[0]
    assert both[1] == make_augmenter(f"contextual(model={roberta})").views(TEXTS, 2, seed=0)[1]
    assert both[1] != alone[1]


def test_only_first_pieces_of_words_fill_a_gap(roberta):
    model = HubMaskedLM(str(roberta), "cpu")
    words = {word for word in model.vocabulary if word}
    assert "password" in words
    assert "<mask>" not in words
    pieces = model.tokenizer.convert_ids_to_tokens(range(len(model.vocabulary)))
    assert all(piece.startswith("Ġ") for piece, word in zip(pieces, model.vocabulary, strict=True) if word)
    assert "##ing" not in whole_words(bert_tokenizer(), 60)


def test_the_best_words_are_usable_other_than_the_old_one_and_sum_to_one():
    choices = Choices(["reset", "Reset", "a", "##x", "", "paper", "jam"])
    numbers, p = choices.best(torch.tensor([[9.0, 8, 7, 7, 7, 1, 0]]), ["RESET"], 2)
    assert numbers.tolist() == [[5, 6]]
    assert p[0].tolist() == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])


def test_words_are_drawn_as_often_as_they_are_likely(monkeypatch):
    class Three:
        gap, vocabulary = "_", ["one", "two", "three"]

        def fill(self, texts, instead_of, top_k):
            assert all(text.startswith("reset _ ") for text in texts)
            return Likely(np.tile([0, 1, 2], (len(texts), 1)), np.tile([0.5, 0.5, 0.0], (len(texts), 1)))

    augmenter = make_augmenter("contextual:0.3")
    monkeypatch.setattr(type(augmenter), "_filler", lambda *_: Three())
    monkeypatch.setattr(type(augmenter), "_may_change", lambda _, token: token == "it")
    view = augmenter.view([f"reset it {i}" for i in range(2000)], 0, seed=0)
    counts = [sum(f" {word} " in text for text in view) for word in Three.vocabulary]
    assert counts[2] == 0
    assert counts[0] == pytest.approx(1000, rel=0.1)
    assert sum(counts) == 2000


def test_a_text_that_the_model_cannot_read_to_its_gap_stays(bert):
    text = " ".join("?" for _ in range(200)) + " password"
    assert make_augmenter(f"contextual(model={bert})").view([text], 0, seed=0) == [text]


def test_a_model_that_is_not_there_is_said_with_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"Cannot load the model '.*nowhere'.*contextual\(model=own\)"):
        make_augmenter(f"contextual(model={tmp_path / 'nowhere'})").views(TEXTS, 1, seed=0)


# -- own ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own(helpdesk, tmp_path_factory):
    """A model that saw some help-desk messages once, saved in a folder."""
    folder = tmp_path_factory.mktemp("own") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own_training, "_LEAST_STEPS", 0)
        own_training.train(sorted(set(helpdesk.texts))[:120], 1, "cpu").save(folder)
    return folder


def test_own_learns_which_words_fit(topics, monkeypatch):
    texts, _ = topics  # a gap in five words of one of three topics: log 21 without the context, log 7 with it
    monkeypatch.setattr(own_training, "_LEAST_STEPS", 30)
    model = own_training.train(texts, 1, "cpu")
    with torch.no_grad():
        loss = own_training._loss(model, own_training.with_gaps(model, texts, epoch=99), torch.arange(len(texts)))
    assert loss < np.log(21) - 0.5


def test_own_replaces_words_by_words_of_the_texts(helpdesk, own):
    texts = helpdesk.texts[:40]
    words = set(load_own(own, "cpu").vocabulary)
    view = make_augmenter(f"contextual(model={own})").view(texts, 0, seed=0)
    changed = [
        (old, new)
        for text, other in zip(texts, view, strict=True)
        for old, new in zip(text.split(), other.split(), strict=True)
        if old != new
    ]
    assert len(changed) >= 40
    assert all(edges(new)[1].lower() in words for _, new in changed)


def test_a_view_of_own_depends_on_its_own_text_alone(helpdesk, own):
    augmenter, texts = make_augmenter(f"contextual(model={own},strength=0.3)"), helpdesk.texts[:24]
    together = augmenter.view(texts, 0, seed=0)
    assert augmenter.view(texts[::-1], 0, seed=0)[::-1] == together
    assert [augmenter.view([text], 0, seed=0)[0] for text in texts[:3]] == together[:3]


def test_own_prefers_words_that_resemble_the_old_one_as_much_as_it_is_told(helpdesk, own):
    words = load_own(own, "cpu").vocabulary
    old = next(word for word in words if len(word) > 4 and f"{word}s" in words)
    likely = {c: load_own(own, "cpu", c).fill(["please help with my [MASK]"], [old], 5) for c in (0.0, 100.0)}
    best = {c: words[found.words[0, found.p[0].argmax()]] for c, found in likely.items()}
    assert best[100.0] == f"{old}s" != best[0.0]


def test_own_is_learnt_once_and_kept(helpdesk, monkeypatch, tmp_path):
    texts = helpdesk.texts[:20]
    monkeypatch.setattr(own_training, "_LEAST_STEPS", 0)
    load_filler.cache_clear()
    spec = "contextual(model=own,epochs=1)"
    first = make_augmenter(spec).views(texts, 2, seed=0)
    load_filler.cache_clear()
    monkeypatch.setattr(own_training, "train", lambda *_: pytest.fail("learnt again"))
    assert make_augmenter(spec).views(texts[::-1], 2, seed=0)[0] == first[0][::-1]
    (kept,) = (tmp_path / "cache" / "augmenters").glob("own-*")
    assert {path.name for path in kept.iterdir()} == {"own-masked-lm.json", "own-masked-lm.safetensors"}


def test_own_refuses_texts_that_have_no_words_in_common():
    load_filler.cache_clear()
    with pytest.raises(InputError, match="words that occur in two texts or more"):
        make_augmenter("contextual(model=own)").views(["one", "two"], 1, seed=0)


def test_a_damaged_model_is_refused(own, tmp_path):
    (tmp_path / "own-masked-lm.json").write_text('["one", "two"]')
    (tmp_path / "own-masked-lm.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match="no whole masked language model"):
        make_augmenter(f"contextual(model={tmp_path})").views(TEXTS, 1, seed=0)


def test_own_never_takes_a_gap_of_the_user_for_its_own(helpdesk, own):
    view = make_augmenter(f"contextual(model={own})").view(["please [MASK] my password [MASK]"], 0, seed=0)[0]
    assert view.count("[") == 2
