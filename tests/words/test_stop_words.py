from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from coterie.words.stop_words import FUNCTION_WORDS, STOP_WORDS
from coterie.words.vocabulary import split_words


def test_every_part_of_a_contraction_is_a_stop_word():
    contractions = {word for word in FUNCTION_WORDS if "'" in word}
    parts = {part for word in contractions for part in split_words(word)}
    assert {"don", "ve", "ll"} <= parts
    assert parts - STOP_WORDS <= {"let"}  # also a verb


def test_stop_words_extend_those_of_scikit_learn():
    assert STOP_WORDS > ENGLISH_STOP_WORDS


def test_words_with_a_topic_are_in_no_list():
    assert not {"printer", "invoice", "apple"} & (STOP_WORDS | FUNCTION_WORDS)
