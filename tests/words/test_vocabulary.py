import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.words.stop_words import STOP_WORDS
from coterie.words.vocabulary import BagOfWords, Vocabulary, _split_by_characters, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("How do I sort a LIST in C# or C++?", ["how", "do", "sort", "list", "in", "c#", "or", "c++"]),
        ("don't, won't: it's 42 vs. 3d", ["don", "won", "it", "vs", "3d"]),
        ("#hashtag and snake_case __init__", ["hashtag", "and", "snake_case", "init"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("猫", ["猫"]),
        ("我爱Python编程", ["我爱", "python", "编程"]),
        ("สวัสดี", ["สว", "วั", "ัส", "สด", "ดี"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("안녕하세요 세계", ["안녕하세요", "세계"]),
        ("great 👍🏽👍 job ❤️", ["great", "👍", "👍", "job", "❤"]),
        ("👨‍👩‍👧", ["👨", "👩", "👧"]),
        ("می‌خواهم", ["میخواهم"]),
        ("Straße naïve", ["straße", "naïve"]),
        (" \t\u200b", []),
        ("+ # ++ _ - 1 2", []),
    ],
)
def test_split_words_in_many_languages(text, words):
    assert split_words(text) == words


@given(st.text())
def test_split_words_accepts_any_text_and_splits_its_own_words_the_same_way(text):
    words = split_words(text)
    assert all(words)
    assert split_words(" ".join(words)) == [part for word in words for part in split_words(word)]


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_texts_are_split_like_all_others(text):
    assert split_words(text) == _split_by_characters(text)


@settings(max_examples=50)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=12), st.integers(1, 4), st.floats(0.05, 1), st.booleans())
def test_vocabulary_accepts_any_corpus_and_respects_its_limits(texts, min_df, max_df, stop_words):
    vocabulary = Vocabulary.from_texts(texts, max_words=5, min_df=min_df, max_df=max_df, stop_words=stop_words)
    assert len(vocabulary) <= 5
    for word in vocabulary.words:
        n_texts = sum(word in split_words(text) for text in texts)
        assert min_df <= n_texts <= max_df * len(texts)
        assert not (stop_words and word in STOP_WORDS)
    bags = vocabulary.bag_of_words(texts)
    assert len(bags) == len(texts)
    for row, text in enumerate(texts):
        word_ids, counts = bags[torch.tensor([row])]
        counted = {vocabulary.words[w]: int(c) for w, c in zip(word_ids[0], counts[0], strict=True) if c}
        known = [word for word in split_words(text) if word in vocabulary.index]
        assert counted == {word: known.count(word) for word in known}
        assert vocabulary.tokenize([text]) == [known]


TEXTS = ["red red blue", "the blue sky", "green", "the blue", "red sky", "?!"]


def test_frequent_rare_and_stop_words_are_left_out():
    assert Vocabulary.from_texts(TEXTS).words == ["blue", "red", "sky"]
    assert Vocabulary.from_texts(TEXTS, stop_words=False).words == ["blue", "red", "sky", "the"]
    assert Vocabulary.from_texts(TEXTS, max_df=0.4).words == ["red", "sky"]
    assert Vocabulary.from_texts(TEXTS, min_df=1).words == ["blue", "green", "red", "sky"]
    assert Vocabulary.from_texts(TEXTS, max_words=1).words in (["blue"], ["red"])
    assert Vocabulary.from_texts(TEXTS, min_df=4).words == []


def test_bags_are_padded_to_the_longest_of_the_batch():
    bags = Vocabulary(["blue", "red", "sky"]).bag_of_words(TEXTS)
    word_ids, counts = bags[torch.tensor([2, 0, 1])]
    assert counts.tolist() == [[0, 0], [1, 2], [1, 1]]
    assert word_ids[1].tolist() == [0, 1]
    assert word_ids[2].tolist() == [0, 2]
    assert bags[torch.tensor([2])][1].tolist() == [[0]]
    assert [x.shape for x in bags[torch.tensor([], dtype=torch.long)]] == [(0, 1), (0, 1)]


def test_bags_of_an_empty_vocabulary_are_empty():
    word_ids, counts = Vocabulary([]).bag_of_words(TEXTS)[torch.arange(6)]
    assert counts.sum() == 0
    assert word_ids.shape == (6, 1)


def test_counts_by_cluster_weight_each_text():
    bags = BagOfWords(torch.tensor([0, 1, 1]), torch.tensor([2.0, 1.0, 1.0]), torch.tensor([0, 2, 3]))
    counts = bags.counts_by_cluster(torch.tensor([1, 0]), torch.tensor([3, 1]), (2, 2))
    assert counts.tolist() == [[0, 1], [6, 3]]


def test_words_of_a_long_text_count_as_a_few():
    vocabulary = Vocabulary(["apple", "pear", "plum", "tune"])
    words = vocabulary.incidence(["apple pear plum tune", "apple apple tune", ""], max_sum=2)
    np.testing.assert_allclose(words.toarray(), [[0.5, 0.5, 0.5, 0.5], [1, 0, 0, 1], [0, 0, 0, 0]])
    np.testing.assert_array_equal(vocabulary.incidence(["apple pear plum tune"]).toarray(), [[1, 1, 1, 1]])
