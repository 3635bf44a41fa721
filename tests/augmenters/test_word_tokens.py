"""Words in tokens, and random numbers for texts."""

from random import Random

import pytest

from coterie.augmenters.text_rng import random_sample, text_rngs
from coterie.augmenters.word_tokens import is_unsegmented, is_word, match_case, n_words_to_change, split_punctuation


def test_split_punctuation():
    assert split_punctuation("(64bit),") == ("(", "64bit", "),")
    assert split_punctuation("don't") == ("", "don't", "")
    assert "".join(split_punctuation("?!")) == "?!"


def test_long_tokens_of_scripts_without_spaces_are_unsegmented():
    assert is_unsegmented("日本語のテキスト")
    assert not is_unsegmented("日本語")
    assert not is_unsegmented("internationalization")


def test_a_word_has_letters_only():
    assert is_word("don't")
    assert not is_word("64bit")
    assert not is_word("日本語のテキスト")


def test_match_case():
    references = ("a", "A", "Ab", "AB", "日")
    assert [match_case("word", reference) for reference in references] == ["word", "Word", "Word", "WORD", "word"]


def test_the_number_of_changed_words_is_rounded_down_but_not_to_zero():
    assert n_words_to_change(0.29, 100) == 29
    assert n_words_to_change(0.2, 9) == 1
    assert n_words_to_change(0.1, 3) == 1


def test_the_random_numbers_of_a_text_do_not_depend_on_other_texts():
    alone = [rng.random() for _, rng in text_rngs(["b"], 0, seed=1, name="x")]
    assert [rng.random() for _, rng in text_rngs(["a", "b"], 0, seed=1, name="x")][1:] == alone


@pytest.mark.parametrize("change", [{"view_index": 1}, {"seed": 2}, {"name": "y"}])
def test_the_random_numbers_depend_on_view_seed_and_name(change):
    arguments = {"view_index": 0, "seed": 1, "name": "x"}
    ((_, rng),) = text_rngs(["b"], **arguments)
    number = rng.random()
    ((_, rng),) = text_rngs(["b"], **arguments | change)
    assert rng.random() != number


def test_random_sample_draws_every_subset_equally_often():
    rng = Random(0)
    samples = [tuple(sorted(random_sample(rng, [0, 1, 2, 3], 2))) for _ in range(6000)]
    assert len(set(samples)) == 6
    assert all(samples.count(pair) == pytest.approx(1000, rel=0.1) for pair in set(samples))
