from collections import Counter
from math import log

import numpy as np
import pytest

from coterie.describe.keywords import keywords

TEXTS = [
    "printer jam again, printer offline",
    "Printer paper jam",
    "paper tray",
    "refund my invoice",
    "invoice total wrong: refund, refund",
    "paper invoice",
    "calendar sync",
    "calendar sync broken, printer too",
]
LABELS = np.array([0, 0, 0, 1, 1, 1, 2, 2])
STOP_WORDS = {"again", "my", "too"}


def split_words(text):
    return [word for word in text.lower().replace(",", "").replace(":", "").split() if word not in STOP_WORDS]


def reference_keywords(texts, labels, n_clusters, n_words):
    """The formula with loops instead of matrices."""
    counts = [Counter() for _ in range(n_clusters)]
    for text, cluster in zip(texts, labels, strict=True):
        counts[cluster].update(split_words(text))
    total = sum(counts, Counter())
    mean_words = sum(total.values()) / n_clusters
    result = []
    for count in counts:
        score = {w: n / sum(count.values()) * log(1 + mean_words / total[w]) for w, n in count.items()}
        result.append(sorted(score, key=lambda w: (-score[w], w))[:n_words])
    return result


def keywords_of(*clusters, n_words=5):
    return keywords(list(clusters), np.arange(len(clusters)), len(clusters), n_words=n_words)


@pytest.mark.parametrize("n_words", [0, 1, 2, 3, 5, 50])
def test_keywords_equal_the_formula(n_words):
    assert keywords(TEXTS, LABELS, 3, n_words=n_words) == reference_keywords(TEXTS, LABELS, 3, n_words)


def test_the_default_is_five_keywords():
    text = "alpha bravo charlie delta echo foxtrot golf hotel"
    assert len(keywords([text], np.array([0]), 1)[0]) == 5


def test_a_word_of_one_cluster_comes_before_a_word_of_all_clusters():
    first, second = keywords_of("report report invoice invoice", "report report calendar calendar")
    assert (first[0], second[0]) == ("invoice", "calendar")


def test_the_formula_has_the_mean_number_of_words_of_a_cluster():
    assert 2 / 6 * log(1 + 6 / 2) > 3 / 6 * log(1 + 6 / 4)
    assert 2 / 6 * log(1 + 12 / 2) < 3 / 6 * log(1 + 12 / 4)
    first, _ = keywords_of("report report report invoice invoice zebra", "report alpha bravo delta hotel tango")
    assert first == ["invoice", "report", "zebra"]


def test_a_frequent_word_comes_before_a_rare_one():
    assert keywords_of("invoice refund refund refund", "calendar")[0] == ["refund", "invoice"]


def test_the_order_of_texts_does_not_matter():
    order = np.random.default_rng(0).permutation(len(TEXTS))
    assert keywords([TEXTS[i] for i in order], LABELS[order], 3) == keywords(TEXTS, LABELS, 3)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("crash crash crash crashes crashed", "crash"),
        ("crashes crashes crashes crash crashed", "crashes"),
        ("invoices invoices invoice", "invoices"),
        ("refund refund refunded refunds", "refund"),
    ],
)
def test_other_forms_of_a_word_are_not_repeated(text, kept):
    assert keywords_of(text, "calendar")[0] == [kept]


@pytest.mark.parametrize(
    "pair",
    [
        "invoice printer",
        "bank team",
        "cat dog",
        "printers cat",
        "refund loan",
        "calendar meeting",
        "gas gate",
        "pass past",
    ],
)
def test_different_words_are_all_kept(pair):
    first, second = pair.split()
    assert keywords_of(f"{first} {first} {second}", "zebra")[0] == [first, second]
    assert keywords_of(f"{second} {second} {first}", "zebra")[0] == [second, first]


@pytest.mark.parametrize(
    "word",
    ["the", "and", "is", "I've", "don't", "doesn\u2019t", "we'll", "you're", "won't", "cannot", "hadn't", "shouldn't"],
)
def test_stop_words_and_contractions_are_not_keywords(word):
    assert keywords_of(f"{word} {word} {word.upper()} invoice", "calendar")[0] == ["invoice"]


def test_numbers_are_not_keywords_but_words_with_digits_are():
    assert keywords_of("404 404 2023 office365", "calendar")[0] == ["office365"]


@pytest.mark.parametrize(
    "texts",
    [
        ["the and of", "is it"],
        ["😀😀", "🎉 🎉🎉"],
        ["你好世界", "天气很好"],
        ["a", "b"],
        ["x y", "z"],
        ["404 2023", "503"],
        ["!!!", "??"],
        ["été à la plage", "größe ändern"],
        ["the", "printer"],
        ["😀", "printer"],
    ],
)
def test_texts_without_ordinary_words_have_keywords(texts):
    found = keywords_of(*texts)
    assert len(found) == 2
    assert any(found)
    for text, words in zip(texts, found, strict=True):
        assert len(words) <= 5
        assert all(word and word == word.strip() and word in text for word in words)


@pytest.mark.parametrize("texts", [[], [""], ["", " "]])
def test_blank_texts_have_no_keywords(texts):
    assert keywords(texts, np.zeros(len(texts), dtype=int), 2) == [[], []]


def test_an_empty_cluster_has_no_keywords():
    assert keywords(["printer", "calendar"], np.array([1, 3]), 5) == [[], ["printer"], [], ["calendar"], []]
