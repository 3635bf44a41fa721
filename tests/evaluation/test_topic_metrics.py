import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import InputError
from coterie.evaluation.topics import coherence, diversity

TEXTS = ["red blue", "red blue green", "green", "red", "black", "white black", "blue red red", "gray"]


def npmi(v, w):
    """Pair by pair, text by text."""
    n = len(TEXTS)
    p_v, p_w = (sum(x in text.split() for text in TEXTS) / n for x in (v, w))
    p = sum(v in text.split() and w in text.split() for text in TEXTS) / n
    return -1.0 if p == 0 else math.log(p / (p_v * p_w)) / -math.log(p)


def test_coherence_is_the_mean_npmi_of_pairs_and_then_of_topics():
    topics = [["red", "blue", "green"], ["black", "white"]]
    pairs = [("red", "blue"), ("red", "green"), ("blue", "green")]
    expected = (sum(npmi(*pair) for pair in pairs) / 3 + npmi("black", "white")) / 2
    assert coherence(topics, TEXTS) == pytest.approx(expected)


def test_words_that_never_meet_or_always_do_are_the_ends_of_the_scale():
    assert coherence([["red", "black"]], TEXTS) == -1
    assert coherence([["red", "unheard"]], TEXTS) == -1
    assert coherence([["ab", "cd"]], ["ab cd", "cd ab"]) == 1
    assert coherence([["ab", "cd"]], ["ab cd", "ef"]) == pytest.approx(1)


def test_a_topic_of_one_word_does_not_count():
    assert coherence([["gray"], ["red", "blue"]], TEXTS) == pytest.approx(npmi("red", "blue"))
    assert coherence([["red", "blue"], ["gray", "gray"]], TEXTS) == pytest.approx(npmi("red", "blue"))


def test_diversity_is_the_share_of_different_words():
    assert diversity([["red", "blue"], ["red", "green"]]) == 0.75
    assert diversity([["red", "blue"], ["green"]]) == 1
    assert diversity([["red"]] * 5) == 0.2


@given(st.lists(st.lists(st.sampled_from(["red", "blue", "green", "black", "none"]), min_size=2), min_size=1))
def test_both_stay_on_their_scales(topics):
    assert 0 < diversity(topics) <= 1
    if any(len(set(words)) > 1 for words in topics):
        assert -1 <= coherence(topics, TEXTS) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: diversity([]), "none of them has a word"),
        (lambda: diversity([[], []]), "none of them has a word"),
        (lambda: diversity(["red", "blue"]), "A topic is a list of words"),
        (lambda: coherence([["red"]], TEXTS), "topics of two words or more"),
        (lambda: coherence([["red", "blue"]], []), "needs texts"),
    ],
)
def test_what_cannot_be_judged_is_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
