import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.errors import InputError
from coterie.evaluation.topic_metrics import coherence, diversity

TEXTS = ["red blue", "red blue green", "green", "red", "black", "white black", "blue red red", "gray"]


def slow_npmi(v, w):
    """NPMI of two words, one text at a time."""
    n = len(TEXTS)
    p_v = sum(v in text.split() for text in TEXTS) / n
    p_w = sum(w in text.split() for text in TEXTS) / n
    p_both = sum(v in text.split() and w in text.split() for text in TEXTS) / n
    return -1.0 if p_both == 0 else math.log(p_both / (p_v * p_w)) / -math.log(p_both)


def test_coherence_equals_slow_loop():
    topics = [["red", "blue", "green"], ["black", "white"]]
    pairs = [("red", "blue"), ("red", "green"), ("blue", "green")]
    first_topic = sum(slow_npmi(*pair) for pair in pairs) / 3
    second_topic = slow_npmi("black", "white")
    assert coherence(topics, TEXTS) == pytest.approx((first_topic + second_topic) / 2)


def test_coherence_of_words_that_never_occur_together_is_minus_one():
    assert coherence([["red", "black"]], TEXTS) == -1
    assert coherence([["red", "unknown"]], TEXTS) == -1


def test_coherence_of_words_that_only_occur_together_is_one():
    assert coherence([["ab", "cd"]], ["ab cd", "cd ab"]) == 1
    assert coherence([["ab", "cd"]], ["ab cd", "ef"]) == pytest.approx(1)


def test_coherence_leaves_out_topics_with_one_distinct_word():
    assert coherence([["gray"], ["red", "blue"]], TEXTS) == pytest.approx(slow_npmi("red", "blue"))
    assert coherence([["red", "blue"], ["gray", "gray"]], TEXTS) == pytest.approx(slow_npmi("red", "blue"))


def test_diversity_is_the_share_of_distinct_words():
    assert diversity([["red", "blue"], ["red", "green"]]) == 0.75
    assert diversity([["red", "blue"], ["green"]]) == 1
    assert diversity([["red"]] * 5) == 0.2


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(["red", "blue", "green", "black", "none"]), min_size=2), min_size=1))
def test_coherence_and_diversity_are_within_their_bounds(topics):
    assert 0 < diversity(topics) <= 1
    if any(len(set(words)) > 1 for words in topics):
        assert -1 <= coherence(topics, TEXTS) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diversity([]), "none of them has a word"),
        (lambda: diversity([[], []]), "none of them has a word"),
        (lambda: diversity(["red", "blue"]), "A topic must be a list of words"),
        (lambda: coherence([["red"]], TEXTS), "topics with at least two different words"),
        (lambda: coherence([["red", "blue"]], []), "needs texts"),
    ],
)
def test_invalid_topics_raise(call, message):
    with pytest.raises(InputError, match=message):
        call()
