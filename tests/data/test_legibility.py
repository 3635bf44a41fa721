"""Warnings about texts that an encoder cannot read well."""

import pytest

import coterie
from coterie.data.legibility import reading_problems
from coterie.encoders.encoder import make_encoder
from coterie.errors import UnreadableTextWarning

ENGLISH = [f"the printer on floor {number} is on fire" for number in range(30)]


def problems(texts, *, english_only=True, max_tokens=128):
    return reading_problems(texts, english_only=english_only, max_tokens=max_tokens)


def test_english_texts_have_no_problem():
    assert problems([*ENGLISH, "Größe naïve façade", "12:30 at 5 pm?", "TCK-00123"]) == []


@pytest.mark.parametrize("text", ["打印机着火了", "принтер горит", "プリンターが燃えている help", "טוב"])
def test_other_scripts_are_counted(text):
    (problem,) = problems([*ENGLISH, text])
    assert problem.startswith("1 of 31 distinct texts is not in Latin script")
    assert "transformer:" in problem
    assert problems([*ENGLISH, text], english_only=False) == []


def test_a_few_names_in_another_script_are_no_problem():
    assert problems([*ENGLISH, "my name is Ольга and I cannot log in"]) == []


def test_texts_that_are_cut_are_counted():
    (problem,) = problems([*ENGLISH, "word " * 60_000])
    assert problem.startswith("1 of 31 distinct texts is longer than the first 128 tokens")
    assert "the longest has 300,000 characters" in problem
    assert problems(["word " * 128]) == []
    (problem,) = problems(["x" * 300_000, "word " * 129, *ENGLISH])
    assert problem.startswith("2 of 32 distinct texts are longer")
    assert "longer than the first 128 tokens" in problems(["打印机着火了" * 50], english_only=False)[0]
    assert problems(["word " * 300], max_tokens=None) == []


def test_a_column_of_ids_is_noticed():
    (problem,) = problems([f"TCK-{number:05}" for number in range(20)] + ENGLISH[:10])
    assert problem.startswith("20 of 30 distinct texts look like ids, e.g. 'TCK-00000'")
    assert "right column" in problem
    assert problems(["4711", *ENGLISH]) == []
    assert problems([f"打印机着火了{number}" for number in range(9)], english_only=False) == []


def test_ids_that_come_first_in_the_order_are_not_most_texts():
    ids, texts = [f"{number:05}" for number in range(1500)], [f"{text} {n}" for text in ENGLISH for n in range(200)]
    assert problems([*ids, *texts]) == []


def test_fit_and_predict_warn(topics):
    model = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0])
    with pytest.warns(UnreadableTextWarning, match="look like ids"):
        model.predict(["A1", "B2"])
    with pytest.warns(UnreadableTextWarning, match="look like ids"):
        coterie.KMeans(n_clusters=2, encoder="tfidf").fit(["aa11", "bb22", "cc33"])


def test_joined_encoders_warn_of_what_none_of_them_can_read():
    assert make_encoder("bundled+tfidf").reading_problems(["打印机着火了", "word " * 300]) == []
    assert len(make_encoder("bundled+e5").reading_problems(["打印机着火了", "word " * 300])) == 2
