import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.cli.main import app
from coterie.datasets.askubuntu import Question, read_askubuntu
from coterie.errors import InputError
from coterie.evaluation.retrieval import average_precision, reciprocal_rank, rerank

TITLES = {
    "1": "reset forgotten password",
    "2": "printer jams",
    "3": "how to reset the password",
    "4": "printer paper jam",
    "5": "slow network",
    "6": "network is slow today",
    "7": "battery drains",
}
LINES = [
    "1\t3\t2 3 5 7\t9.1 3.2 1.0 0.5",
    "2\t4\t3 4 6\t2.0 1.0 0.1",
    "7\t\t1 2\t1.0 0.5",
    "5\t6 5\t1 6 7\t0 0 0",
]


@pytest.fixture
def folder(tmp_path):
    text = "".join(f"{key}\t{title}\tbody of {key} .\n" for key, title in TITLES.items())
    (tmp_path / "text_tokenized.txt").write_text(text, encoding="utf-8")
    (tmp_path / "test.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    (tmp_path / "dev.txt").write_text(LINES[0] + "\n", encoding="utf-8")
    return tmp_path


# -- read_askubuntu


def test_questions_without_a_similar_candidate_are_left_out(folder):
    questions = read_askubuntu(folder, "test")
    assert [question.title for question in questions] == [TITLES[key] for key in "125"]
    assert questions[0] == Question(TITLES["1"], tuple(TITLES[k] for k in "2357"), (False, True, False, False))
    assert len(read_askubuntu(folder, "dev")) == 1


def test_texts_may_be_gzipped(folder):
    plain = read_askubuntu(folder, "test")
    path = folder / "text_tokenized.txt"
    (folder / "text_tokenized.txt.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert read_askubuntu(folder, "test") == plain


def test_errors_in_the_files_name_the_file_and_line(folder):
    (folder / "dev.txt").write_text("1\t3\t2 99\n")
    with pytest.raises(InputError, match=r"dev.txt, line 1: the question 99 is not in the file of texts"):
        read_askubuntu(folder, "dev")
    (folder / "dev.txt").write_text("1 3 2\n")
    with pytest.raises(InputError, match=r"dev.txt, line 1: expected an id, similar ids"):
        read_askubuntu(folder, "dev")
    (folder / "dev.txt").unlink()
    with pytest.raises(InputError, match=r"There is no .*dev.txt"):
        read_askubuntu(folder, "dev")
    (folder / "text_tokenized.txt").write_text("no tab here\n")
    with pytest.raises(InputError, match=r"text_tokenized.txt, line 1: expected an id, a title"):
        read_askubuntu(folder, "test")
    (folder / "text_tokenized.txt").unlink()
    with pytest.raises(InputError, match=r"There is no .*text_tokenized.txt"):
        read_askubuntu(folder, "test")


# -- metrics


@pytest.mark.parametrize(
    ("relevant", "top_k", "expected_reciprocal_rank", "expected_average_precision"),
    [
        ([1, 0, 0], None, 1, 1),
        ([0, 0, 1], None, 1 / 3, 1 / 3),
        ([0, 1, 1], None, 1 / 2, (1 / 2 + 2 / 3) / 2),
        ([0, 0, 1], 2, 0, 1 / 3),
        ([0, 0], None, 0, 0),
    ],
)
def test_metrics_computed_by_hand(relevant, top_k, expected_reciprocal_rank, expected_average_precision):
    relevant = np.array(relevant, dtype=bool)
    assert reciprocal_rank(relevant, top_k=top_k) == pytest.approx(expected_reciprocal_rank)
    assert average_precision(relevant) == pytest.approx(expected_average_precision)


def constant_embedding(texts):
    return np.ones((len(texts), 2), dtype=np.float32)


def test_candidates_are_ranked_by_cosine():
    vectors = {"query": [1, 0], "nearest": [5, 1], "farthest": [0, 3], "between": [1, 1]}
    question = Question("query", ("farthest", "between", "nearest"), (True, False, True))
    scores = rerank([question], lambda texts: np.array([vectors[text] for text in texts], dtype=np.float32))
    assert scores == pytest.approx({"mrr": 1, "map": (1 + 2 / 3) / 2, "n_questions": 1})


def test_dissimilar_candidates_come_first_in_a_tie():
    question = Question("query", ("a", "b", "c"), (True, False, False))
    assert rerank([question], constant_embedding)["map"] == pytest.approx(1 / 3)


def test_questions_without_any_similar_candidate_raise():
    with pytest.raises(InputError, match="nothing to retrieve"):
        rerank([Question("query", ("a",), (False,))], constant_embedding)


def test_the_command_prints_the_scores(folder):
    result = CliRunner().invoke(app, ["retrieve", str(folder), "--encoder", "tfidf", "--json", "--quiet"])
    assert result.exit_code == 0, result.output
    scores = json.loads(result.stdout)
    assert scores["n_questions"] == 3
    assert scores["mrr"] == scores["map"] == 1  # similar titles share words
    table = CliRunner().invoke(app, ["retrieve", str(folder), "--encoder", "tfidf", "--part", "dev"]).stdout
    assert "mrr" in table
    assert CliRunner().invoke(app, ["retrieve", str(folder / "none")]).exit_code == 2
