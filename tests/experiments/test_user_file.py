"""A user's own labeled file as a data set, and tables in several formats."""

import json

import pytest

from coterie.errors import InputError
from coterie.experiments.jobs import expand
from coterie.experiments.recipe import recipe_for
from coterie.experiments.runner import run_job
from coterie.experiments.table import make_table
from coterie.experiments.table_formats import render
from coterie.experiments.user_file import user_file


@pytest.fixture
def path(tmp_path, topics):
    texts, labels = topics
    rows = [f"{text},{'abc'[label]}" for text, label in zip(texts, labels, strict=True)]
    path = tmp_path / "my_50%.csv"
    path.write_text("note,kind\n" + "\n".join(rows) + "\n")
    return str(path)


def test_the_text_column_is_found_beside_the_labels(path, topics):
    found = user_file(path, None, "kind")
    data = found.load()
    assert (found.text, found.truth) == ("note", "kind")
    assert data.texts == topics[0]
    assert data.label_names == ["a", "b", "c"]
    assert data.true_labels.tolist() == topics[1].tolist()


def test_a_changed_file_is_another_data_set(path):
    before = expand(["kmeans"], [path], 1, "cpu", files={path: user_file(path, None, "kind")})[0]
    with open(path, "a") as stream:
        stream.write("goal goal,a\n")
    after = expand(["kmeans"], [path], 1, "cpu", files={path: user_file(path, None, "kind")})[0]
    assert before.is_in([before.to_dict()])
    assert not after.is_in([before.to_dict()])


@pytest.mark.parametrize(
    ("content", "truth", "message"),
    [
        ("text,kind\na b,x\nc d,y\n", None, "--truth"),
        ("text,kind\na b,x\nc d,y\n", "knd", "Did you mean 'kind'"),
        ("text,kind\na b,x\nc d,x\n", "kind", "all labels in column 'kind' are equal"),
        ("text,kind\na b,x\nc d,\n", "kind", "1 of 2 rows have nothing in column 'kind', the first is row 2"),
        ("text,kind\n,x\nc d,y\n", "kind", "nothing in column 'text', the first is row 1"),
    ],
)
def test_an_unusable_file_is_an_error(tmp_path, content, truth, message):
    (tmp_path / "f.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        user_file(str(tmp_path / "f.csv"), None, truth)


def test_a_file_is_run_and_shown_in_every_format(path, tmp_path):
    (job,) = expand(["kmeans"], [path], 1, "cpu", encoder="tfidf", files={path: user_file(path, None, "kind")})
    result, labels = run_job(job, job.file.load(), tmp_path)
    assert len(labels) == result["n"] == 90
    assert result["file"]["truth"] == "kind"
    result = json.loads(json.dumps(result))
    assert f"| {path} | 90 | 3 |" in make_table([result])
    assert make_table([result], table_format="csv").splitlines()[1].startswith(f"{path},90,3,")
    latex = make_table([result], table_format="latex")
    assert r"my\_50\%.csv & 90 & 3 & " in latex
    assert latex.startswith(r"\begin{tabular}{lrrrr}")
    assert "% - kmeans: preset cpu" in latex


def test_a_method_without_a_recipe_has_its_defaults(monkeypatch):
    monkeypatch.setattr("coterie.experiments.recipe.recipe_names", lambda _method: [])
    recipe = recipe_for("kmeans", "helpdesk", "paper")
    assert (dict(recipe.settings), recipe.encoder) == ({}, "bundled")
    assert recipe_for("kmeans", "digits", "cpu").encoder == "image"


def test_cells_cannot_break_a_table():
    rows = [("set", "a|b"), ('x,"y"', "1")]
    assert render(rows, []).splitlines()[0] == r"| set | a\|b |"
    assert render(rows, [], "csv") == 'set,a|b\n"x,""y""",1'
