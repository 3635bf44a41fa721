import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data.vocabulary import STOP_WORDS, Bags, Vocabulary, split_words
from coterie.describe.keywords import keywords


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
def test_words_of_many_languages(text, words):
    assert split_words(text) == words


@given(st.text())
def test_no_text_fails_and_every_word_is_found_in_it_again(text):
    words = split_words(text)
    assert all(words)
    assert split_words(" ".join(words)) == [again for word in words for again in split_words(word)]


@settings(max_examples=50)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=12), st.integers(1, 4), st.floats(0.05, 1), st.booleans())
def test_no_corpus_fails_and_the_limits_are_kept(texts, min_texts, max_share, stop_words):
    vocabulary = Vocabulary.of(texts, max_words=5, min_texts=min_texts, max_share=max_share, stop_words=stop_words)
    assert len(vocabulary) <= 5
    for word in vocabulary.words:
        holders = sum(word in split_words(text) for text in texts)
        assert min_texts <= holders <= max_share * len(texts)
        assert not (stop_words and word in STOP_WORDS)
    bags = vocabulary.bags(texts)
    assert len(bags) == len(texts)
    for row, text in enumerate(texts):
        words, counts = bags[torch.tensor([row])]
        told = {vocabulary.words[w]: int(c) for w, c in zip(words[0], counts[0], strict=True) if c}
        known = [word for word in split_words(text) if word in vocabulary.number]
        assert told == {word: known.count(word) for word in known}
        assert vocabulary.sentences([text]) == [known]


TEXTS = ["red red blue", "the blue sky", "green", "the blue", "red sky", "?!"]


def test_frequent_rare_and_stop_words_are_left_out():
    assert Vocabulary.of(TEXTS).words == ["blue", "red", "sky"]
    assert Vocabulary.of(TEXTS, stop_words=False).words == ["blue", "red", "sky", "the"]
    assert Vocabulary.of(TEXTS, max_share=0.4).words == ["red", "sky"]
    assert Vocabulary.of(TEXTS, min_texts=1).words == ["blue", "green", "red", "sky"]
    assert Vocabulary.of(TEXTS, max_words=1).words in (["blue"], ["red"])
    assert Vocabulary.of(TEXTS, min_texts=4).words == []


def test_bags_are_padded_to_the_longest_of_the_rows():
    vocabulary = Vocabulary(["blue", "red", "sky"])
    bags = vocabulary.bags(TEXTS)
    words, counts = bags[torch.tensor([2, 0, 1])]
    assert counts.tolist() == [[0, 0], [1, 2], [1, 1]]
    assert words[1].tolist() == [0, 1]
    assert words[2].tolist() == [0, 2]
    assert bags[torch.tensor([2])][1].tolist() == [[0]]
    assert [x.shape for x in bags[torch.tensor([], dtype=torch.long)]] == [(0, 1), (0, 1)]


def test_bags_of_no_vocabulary_are_empty():
    words, counts = Vocabulary([]).bags(TEXTS)[torch.arange(6)]
    assert counts.sum() == 0
    assert words.shape == (6, 1)


def test_words_by_group_weigh_each_text_by_its_count():
    bags = Bags(torch.tensor([0, 1, 1]), torch.tensor([2.0, 1.0, 1.0]), torch.tensor([0, 2, 3]))
    counts = bags.by_group(torch.tensor([1, 0]), torch.tensor([3, 1]), (2, 2))
    assert counts.tolist() == [[0, 1], [6, 3]]


def test_keywords_leave_out_the_same_stop_words():
    assert {"don", "ve", "the"} <= STOP_WORDS
    assert keywords(["don't the", "printer"], torch.tensor([0, 1]).numpy(), 2)[1] == ["printer"]
