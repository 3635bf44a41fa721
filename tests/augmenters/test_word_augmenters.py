"""EDA, WordNet, chars and delete: what they change, how much, and what they leave unchanged."""

import re
from difflib import SequenceMatcher
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.augmenters.augmenter import make_augmenter
from coterie.augmenters.chars import misspell
from coterie.augmenters.word_tokens import n_words_to_change, split_punctuation

TOKENS = ["password", "printer", "paper", "reset", "the", "of", "Broken!", "mice,", "64bit", "日本語のテキスト", "🙂"]
TOKEN_LISTS = st.lists(st.sampled_from(TOKENS), min_size=1)
SPECS = [
    "eda:0.3",
    "eda(operation=replace)",
    "eda(operation=insert)",
    "eda(operation=swap)",
    "eda(operation=delete)",
    "eda(operation=plain)",
    "eda(ascii_lowercase=true)",
    "wordnet:0.3",
    "chars:0.3",
    "delete:0.6",
    "chain(eda:0.2,chars:0.2)",
]


def make_view(spec, text, seed=0):
    return make_augmenter(spec).view([text], 0, seed=seed)[0]


@pytest.mark.parametrize("spec", SPECS)
@given(text=st.one_of(st.text(min_size=1), TOKEN_LISTS.map(" ".join)), seed=st.integers(0, 2**64 - 1))
@settings(max_examples=40, deadline=None)
def test_any_text_gives_the_same_valid_view_each_time(spec, text, seed):
    view = make_view(spec, text, seed)
    assert view.strip() or not text.strip()
    assert view == make_view(spec, text, seed)
    assert view.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass") == view


@given(tokens=TOKEN_LISTS, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_deletion_keeps_the_order_and_at_least_one_word(tokens, seed):
    kept = make_view("delete:0.6", " ".join(tokens), seed).split()
    assert 1 <= len(kept) <= len(tokens)
    remaining = iter(tokens)
    assert all(token in remaining for token in kept)  # each is found after the one before


@given(tokens=TOKEN_LISTS, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_swapping_keeps_every_word(tokens, seed):
    assert sorted(make_view("eda(operation=swap)", " ".join(tokens), seed).split()) == sorted(tokens)


@given(tokens=TOKEN_LISTS, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_typos_change_one_letter_of_some_words(tokens, seed):
    view = make_view("chars:0.3", " ".join(tokens), seed).split()
    changed = [(old, new) for old, new in zip(tokens, view, strict=True) if old != new]
    assert len(changed) <= n_words_to_change(0.3, len(tokens))
    for old, new in changed:
        assert split_punctuation(old)[1].isalpha()
        assert abs(len(old) - len(new)) <= 1
        assert SequenceMatcher(None, old, new).ratio() > 0.3


@pytest.mark.parametrize("strength", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("spec", ["wordnet:{}", "chars:{}", "eda(operation=replace,strength={})"])
def test_strength_is_the_share_of_changed_words(spec, strength):
    tokens = ["password", "printer", "paper", "reset", "password"] * 4
    for seed in range(20):
        view = make_view(spec.format(strength), " ".join(tokens), seed)
        changed = re.sub("set back|wiped out", "set", view).split()  # synonyms of two words
        assert sum(old != new for old, new in zip(tokens, changed, strict=True)) == round(20 * strength)


@pytest.mark.parametrize("strength", [0.1, 0.3, 0.6])
def test_strength_is_the_probability_of_deletion(strength):
    texts = [f"{i} b c d e f g h i j" for i in range(2000)]
    (view,) = make_augmenter(f"delete:{strength}").views(texts, 1, seed=0)
    assert np.mean([len(text.split()) for text in view]) / 10 == pytest.approx(1 - strength, abs=0.01)


def test_eda_draws_its_four_operations_equally_often():
    texts = [f"password printer paper reset broken number{i}" for i in range(4000)]
    counts = {"delete": 0, "swap": 0, "replace": 0, "insert": 0}
    (view,) = make_augmenter("eda(strength=0.5)").views(texts, 1, seed=0)
    for text, changed in zip(texts, view, strict=True):
        old = text.split()
        new = changed.replace("set back", "back").replace("wiped out", "out").split()
        if len(new) > len(old):
            counts["insert"] += 1
        elif len(new) < len(old):
            counts["delete"] += 1
        else:
            counts["swap" if sorted(old) == sorted(new) else "replace"] += 1
    assert all(count == pytest.approx(1000, rel=0.12) for count in counts.values()), counts


def test_eda_can_write_lower_case_ascii_only():
    text = "How do I fill a DataSet (64bit) from John's LINQ-query?"
    assert re.fullmatch("[a-z ]+", make_view("eda(ascii_lowercase=true)", text))
    assert make_view("eda(ascii_lowercase=true,operation=replace)", "日本語 64") == "日本語 64"


def test_synonyms_keep_punctuation_capitals_and_function_words():
    for seed in range(20):
        view = make_view("wordnet:0.3", "The (Password), of the", seed)
        assert re.fullmatch(r"The \((Watchword|Parole)\), of the", view)
        assert make_view("wordnet", "PASSWORD", seed) in ("WATCHWORD", "PAROLE")


def test_synonyms_of_inflected_words():
    assert make_view("wordnet", "mice") == "rodent"
    assert make_view("wordnet", "printers") == "pressman"
    assert make_view("wordnet", "forgot") == "bury"


def test_typos_use_letters_of_the_same_alphabet():
    for seed in range(30):
        assert set(make_view("chars(operation=substitute,strength=1)", "привет", seed)) <= set("привет")
    assert make_view("chars", "日本語 שלום 64 C#") == "日本語 שלום 64 C#"


@pytest.mark.parametrize(("typo", "length_change"), [("substitute", 0), ("delete", -1), ("insert", 1), ("swap", 0)])
def test_every_typo_changes_the_word(typo, length_change):
    rng = Random(0)
    for word in ("ab", "Hello", "ЯЯ", "мир") * 20:
        changed = misspell(word, typo, rng)
        assert changed != word
        one_letter = len(set(word)) == 1  # nothing to swap or to substitute, so a letter is deleted or inserted
        assert len(changed) - len(word) in ({-1, 1} if one_letter else {length_change})


def test_plain_eda_needs_no_wordnet_and_only_swaps_and_deletes(monkeypatch, tmp_path):
    monkeypatch.setenv("COTERIE_WORDNET", str(tmp_path))  # no files there
    tokens = "one two three four five".split()
    views = [make_view("eda(operation=plain)", " ".join(tokens), seed).split() for seed in range(40)]
    assert {len(view) < 5 for view in views} == {True, False}  # deleted, swapped
    assert all(set(view) <= set(tokens) and view != tokens for view in views)
