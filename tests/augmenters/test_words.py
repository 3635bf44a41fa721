"""EDA, WordNet, chars and delete: what they change, how much, and what they leave alone."""

import re
from difflib import SequenceMatcher
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.augmenters.augmenter import make_augmenter
from coterie.augmenters.chars import misspelt
from coterie.augmenters.seeds import dice, draw_some
from coterie.augmenters.words import edges, how_many, is_phrase, is_spelt, like

WORDY = st.lists(
    st.sampled_from("password printer paper reset the of Broken! mice, 64bit 日本語のテキスト 🙂".split()), min_size=1
)
CHEAP = ["eda:0.3", "wordnet:0.3", "chars:0.3", "delete:0.6", "chain(eda:0.2,chars:0.2)", "eda(plain=true)"] + [
    f"eda(operation={operation})" for operation in ("replace", "insert", "swap", "delete")
]


def view(spec, text, seed=0):
    return make_augmenter(spec).view([text], 0, seed=seed)[0]


@pytest.mark.parametrize("spec", CHEAP)
@given(text=st.one_of(st.text(min_size=1), WORDY.map(" ".join)), seed=st.integers(0, 2**64 - 1))
@settings(max_examples=60, deadline=None)
def test_no_text_crashes_it_and_no_view_is_blank_or_changes_with_time(spec, text, seed):
    changed = view(spec, text, seed)
    assert changed.strip() or not text.strip()
    assert changed == view(spec, text, seed)
    assert changed.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass") == changed


@given(words=WORDY, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_deletion_keeps_words_in_order_and_at_least_one(words, seed):
    left = view("delete:0.6", " ".join(words), seed).split()
    assert 1 <= len(left) <= len(words)
    rest = iter(words)
    assert all(word in rest for word in left)  # each is found behind the one before


@given(words=WORDY, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_swapping_keeps_every_word(words, seed):
    assert sorted(view("eda(operation=swap)", " ".join(words), seed).split()) == sorted(words)


@given(words=WORDY, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_typos_keep_the_number_of_words_and_change_one_letter_of_some(words, seed):
    changed = view("chars:0.3", " ".join(words), seed).split()
    assert len(changed) == len(words)
    different = [(old, new) for old, new in zip(words, changed, strict=True) if old != new]
    assert len(different) <= how_many(0.3, len(words))
    for old, new in different:
        assert edges(old)[1].isalpha()
        assert abs(len(old) - len(new)) <= 1
        assert SequenceMatcher(None, old, new).ratio() > 0.3


@pytest.mark.parametrize("strength", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("name", ["wordnet", "chars", "eda(operation=replace,strength={})"])
def test_so_many_words_are_changed_as_the_strength_says(name, strength):
    words = "password printer paper reset password".split() * 4
    spec = name.format(strength) if "{" in name else f"{name}:{strength}"
    for seed in range(20):
        changed = re.sub("set back|wiped out", "set", view(spec, " ".join(words), seed)).split()
        assert sum(a != b for a, b in zip(words, changed, strict=True)) == round(20 * strength)


@pytest.mark.parametrize("strength", [0.1, 0.3, 0.6])
def test_so_many_words_are_deleted_on_average_as_the_strength_says(strength):
    texts = [f"{i} " + "b c d e f g h i j" for i in range(2000)]
    left = [len(text.split()) for text in make_augmenter(f"delete:{strength}").views(texts, 1, seed=0)[0]]
    assert np.mean(left) / 10 == pytest.approx(1 - strength, abs=0.01)


def test_eda_draws_each_of_its_four_operations_equally_often():
    texts = [f"password printer paper reset broken number{i}" for i in range(4000)]
    kinds = {"delete": 0, "swap": 0, "replace": 0, "insert": 0}
    for text, changed in zip(texts, make_augmenter("eda(strength=0.5)").views(texts, 1, seed=0)[0], strict=True):
        old, new = text.split(), changed.replace("set back", "back").replace("wiped out", "out").split()
        if len(new) > len(old):
            kinds["insert"] += 1
        elif len(new) < len(old):
            kinds["delete"] += 1
        else:
            kinds["swap" if sorted(old) == sorted(new) else "replace"] += 1
    assert all(count == pytest.approx(1000, rel=0.12) for count in kinds.values()), kinds


def test_plain_eda_writes_lower_case_letters_only():
    text = "How do I fill a DataSet (64bit) from John's LINQ-query?"
    assert re.fullmatch("[a-z ]+", view("eda(plain=true)", text))
    assert view("eda(plain=true,operation=replace)", "日本語 64") == "日本語 64"


def test_synonyms_keep_marks_capitals_and_stop_words():
    for seed in range(20):
        assert re.fullmatch(r"The \((Watchword|Parole)\), of the", view("wordnet:0.3", "The (Password), of the", seed))
        assert view("wordnet", "PASSWORD", seed) in ("WATCHWORD", "PAROLE")


def test_irregular_and_inflected_words_are_found():
    assert view("wordnet", "mice") == "rodent"
    assert view("wordnet", "printers") == "pressman"
    assert view("wordnet", "forgot") == "bury"


def test_letters_of_other_alphabets_stay_in_theirs():
    for seed in range(30):
        assert set(view("chars(operation=substitute,strength=1)", "привет", seed)) <= set("привет")
    assert view("chars", "日本語 שלום 64 C#") == "日本語 שלום 64 C#"


@pytest.mark.parametrize(("typo", "change"), [("substitute", 0), ("delete", -1), ("insert", 1), ("swap", 0)])
def test_every_typo_changes_a_word(typo, change):
    rng = Random(0)
    for word in ("ab", "Hello", "ЯЯ", "мир") * 20:
        new = misspelt(word, typo, rng)
        assert new != word
        only_one_letter = len(set(word)) == 1
        assert len(new) - len(word) in ({-1, 1} if only_one_letter else {change})


def test_a_phrase_is_a_word_of_a_script_without_spaces_that_is_too_long():
    assert is_phrase("日本語のテキスト")
    assert not is_phrase("日本語")
    assert not is_phrase("internationalisation")
    assert is_spelt("don't")
    assert not is_spelt("64bit")


def test_capitals_follow_the_model():
    assert [like("word", model) for model in ("a", "A", "Ab", "AB", "日")] == ["word", "Word", "Word", "WORD", "word"]


def test_the_dice_of_a_text_do_not_depend_on_its_neighbours():
    alone = [rng.random() for _, rng in dice(["b"], 0, seed=1, name="x")]
    assert [rng.random() for _, rng in dice(["a", "b"], 0, seed=1, name="x")][1:] == alone
    others = [dict(number=1, seed=1, name="x"), dict(number=0, seed=2, name="x"), dict(number=0, seed=1, name="y")]
    assert all([rng.random() for _, rng in dice(["b"], **other)] != alone for other in others)


def test_every_subset_is_drawn_equally_often():
    rng = Random(0)
    drawn = [tuple(sorted(draw_some(rng, [0, 1, 2, 3], 2))) for _ in range(6000)]
    assert all(drawn.count(pair) == pytest.approx(1000, rel=0.1) for pair in set(drawn))
    assert len(set(drawn)) == 6
