import time

import numpy as np
import pytest

from coterie.describe.keywords import keywords
from coterie.describe.names import cluster_names, fallback_name
from coterie.describe.terms import join_words

HELP = {
    "password": ["reset my password", "please reset my password", "the password reset", "Reset my password now"],
    "vpn": ["the VPN drops", "my VPN drops daily", "VPN drops", "VPN is slow"],
    "calendar": ["calendar view", "the calendar", "a meeting moved", "the meeting", "calendar colors"],
}


def name(groups, typical=None):
    texts = [text for group in groups for text in group]
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    words = keywords(texts, labels, len(groups), n_words=8)
    return cluster_names(texts, labels, words, typical or [group[:2] for group in groups])


def test_a_name_is_a_phrase_of_the_first_keywords_or_the_first_two_of_them():
    assert name(list(HELP.values())) == ["Reset my password", "VPN drops", "Calendar & meeting"]


def test_a_phrase_does_not_reach_into_another_clause():
    texts = ["API although the token", "the API although token", "an API although the token is new"]
    assert name([texts, ["paper jam"] * 3])[0] == "API & token"


def test_a_verb_that_says_nothing_alone_is_not_in_a_name():
    texts = ["Tidewater keeps closing", "Tidewater keeps stopping", "the Tidewater keeps freezing", "Tidewater update"]
    assert "keeps" not in name([texts, ["paper jam"] * 3])[0]
    assert name([["keeps"] * 3, ["paper jam"] * 3])[0] == "Keeps"


def test_words_of_a_script_without_spaces_are_not_shown_as_pairs_of_characters():
    chinese = [[f"如何重置我的密码{end}" for end in "吗呢啊"], [f"我的账单有错误{end}" for end in "吗呢啊"]]
    assert all(
        " " not in of_cluster and of_cluster in group[0]
        for of_cluster, group in zip(name(chinese), chinese, strict=True)
    )
    assert join_words(["如何", "何重", "printer", "top", "op"]) == "如何重 printer top op"
    assert join_words([]) == ""


def test_a_phrase_of_a_typical_text_is_preferred():
    texts = ["password reset", "reset my password"] * 3
    other = ["paper jam"] * 3
    assert name([texts, other], [["a password reset"], other])[0] == "Password reset"
    assert name([texts, other], [["do reset my password"], other])[0] == "Reset my password"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["an iPhone", "the iPhone", "one iPhone"], "iPhone"),
        (["The iPhone", "IPHONE", "my iPhone"], "iPhone"),
        (["Invoices", "Invoices", "an invoices"], "Invoices"),
        (["Refund", "Refund", "Refund"], "Refund"),
        (["wifi at C# and Berlin", "in Berlin", "to Berlin"], "Berlin & C#"),
    ],
)
def test_words_are_written_as_in_the_texts(texts, expected):
    assert name([texts, ["paper jam", "jam"]])[0] == expected


def test_names_are_unique_and_deterministic():
    groups = [
        ["card fee", "card fee", "card fee high"],
        ["card fees", "fee card", "card fee low", "card fee"],
        ["jam"] * 9,
    ]
    names = name(groups)
    assert names == name(groups)
    assert len({value.casefold() for value in names}) == 3
    assert names[1] == "Card fee"  # the larger cluster is named first


def test_equal_clusters_still_have_different_names():
    names = name([["refund"], ["refund"], ["refund"]])
    assert len(set(names)) == 3
    assert all(value.startswith("Refund") for value in names)


@pytest.mark.parametrize(
    ("texts", "expected"), [(["!!!", "???"], "!!! & ???"), (["x" * 80], "X" + "x" * 47), ([""], "Cluster 0")]
)
def test_texts_without_words_have_a_name(texts, expected):
    words = keywords(texts, np.zeros(len(texts), dtype=int), 1)
    assert cluster_names(texts, np.zeros(len(texts), dtype=int), words, [texts]) == [expected]


def test_a_cluster_without_texts_is_named_by_its_number():
    assert name([["refund"], []])[1] == "Cluster 1"
    assert fallback_name(3) == "Cluster 3"
    assert fallback_name(3, ["refund", "plan", "trial"]) == "Refund & plan"


def test_a_word_that_is_repeated_without_end_takes_linear_time():
    start = time.process_time()
    names = cluster_names(
        ["refund " * 100_000, "reset password"], np.array([0, 1]), [["refund"], ["password"]], [[], []]
    )
    assert names == ["Refund", "Password"]
    assert time.process_time() - start < 10  # five billion pairs of words would be hours
