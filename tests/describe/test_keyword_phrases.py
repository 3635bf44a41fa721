"""Keywords that name the group: hyphenated words, phrases of two words, and words that longer stop lists drop."""

import numpy as np
import pytest

from coterie.describe.keywords import keywords
from coterie.describe.terms import is_content_word, phrases_of

BANK = {
    0: ["my top-up failed", "top-up is pending", "why was my top-up reverted", "top-ups by card", "top-up limits"],
    1: ["cancel a direct debit", "direct debit I did not make", "Direct Debit twice", "debit shown", "a direct debit"],
    2: ["wrong exchange rate", "the exchange rate on holiday", "exchange rate fee", "Exchange rate?", "what rate"],
    3: ["the system is on fire", "system call failed", "the system caught fire", "fire in the system room", "bill us"],
}


def of_groups(groups, **options):
    texts = [text for group in groups.values() for text in group]
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups.values()])
    return keywords(texts, labels, len(groups), **options)


def test_the_words_that_name_a_group_are_keywords():
    top_up, debit, rate, fire = of_groups(BANK, n_words=2)
    assert top_up[0] == "top-up"
    assert debit[0] == "direct debit"
    assert rate[0] == "exchange rate"
    assert fire == ["system", "fire"]


def test_a_phrase_is_not_repeated_by_its_words():
    for words in of_groups(BANK, n_words=9):
        parts = " ".join(words).replace("-", " ").split()
        assert len(parts) == len(set(parts)), words


def test_a_word_that_is_mostly_elsewhere_keeps_its_own_place():
    texts = [*["lost card"] * 4, *["card fee", "card pin", "card late", "a card now"] * 3]
    assert keywords(texts, np.zeros(len(texts), dtype=int), 1, n_words=2) == [["card", "lost"]]


def test_a_verb_keeps_its_particle():
    texts = ["cannot log in", "log in fails", "Log in loop", "please log in", "paper jam", "jam again", "jammed"]
    assert keywords(texts, np.array([0, 0, 0, 0, 1, 1, 1]), 2, n_words=1) == [["log in"], ["jam"]]


def test_punctuation_ends_a_phrase():
    texts = ["direct. debit", "direct, debit", "direct; debit", "direct: debit"]
    assert sorted(keywords(texts, np.zeros(4, dtype=int), 1)[0]) == ["debit", "direct"]


def test_words_common_to_all_clusters_are_left_out():
    groups = {
        k: [f"need {word}", f"need a {word}", f"we need {word}s"] for k, word in enumerate(("loan", "card", "app"))
    }
    assert of_groups(groups) == [["loan"], ["card"], ["app"]]


def test_common_words_stay_where_no_other_is_left():
    assert of_groups({0: ["help needed"], 1: ["needed help"], 2: ["help"]}) == [["needed"], ["needed"], ["help"]]


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("E-mail: Bob\u2019s Wi-Fi, 2fa!", [["E-mail"], ["Bob", "Wi-Fi"], ["2fa"]]),
        ("C# or c++ in .NET", [["C#", "or", "c++", "in", ".NET"]]),
        ("well - known\nself\u2011service", [["well"], ["known", "self\u2011service"]]),
        ("东京大学 tokyo", [["东京", "京大", "大学", "tokyo"]]),
        ("", []),
    ],
)
def test_texts_are_split_into_words_as_people_read_them(text, phrases):
    assert phrases_of(text) == phrases


@pytest.mark.parametrize("word", ["top", "fire", "interest", "bill", "system", "call", "2fa", "c#", "wi-fi", "id"])
def test_words_with_a_topic_are_content_words(word):
    assert is_content_word(word)


@pytest.mark.parametrize("word", ["the", "don't", "dont", "they'd", "im", "42", "10-20", "5th", "10am", "x"])
def test_numbers_and_function_words_are_no_content_words(word):
    assert not is_content_word(word)
