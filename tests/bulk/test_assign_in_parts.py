"""`coterie assign --engine local`: what predict says, row by row, in parts that resume."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import coterie
from coterie.bulk import engines, plan
from coterie.cli.main import app
from coterie.errors import InputError


@pytest.fixture(scope="module")
def work(topics, tmp_path_factory):
    """A folder with a model and three Parquet files of 90 texts, some blank, and the texts in their order."""
    folder = tmp_path_factory.mktemp("bulk")
    coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0]).save(folder / "model")
    texts = [*topics[0][:89], None]
    (folder / "in").mkdir()
    for i in range(3):
        rows = texts[30 * i : 30 * i + 30]
        table = pa.table({"id": range(30 * i, 30 * i + len(rows)), "text": pa.array(rows, pa.string())})
        pq.write_table(table, folder / "in" / f"{i}.parquet", row_group_size=11)
    return folder, texts


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(plan, "PART_ROWS", 13)
    monkeypatch.setattr(engines, "BATCH_ROWS", 5)


def assign(folder, *more, files="in/*.parquet", out="out"):
    command = ["assign", str(folder / "model"), str(folder / files), "--engine", "local", "--out", str(folder / out)]
    return CliRunner().invoke(app, [*command, *more])


def result(folder, out="out"):
    return pa.concat_tables(pq.read_table(path) for path in sorted((folder / out).glob("part-*.parquet")))


@pytest.mark.filterwarnings("ignore::coterie.errors.BlankTextWarning")
def test_the_parts_together_are_the_rows_in_order_with_what_predict_says(work):
    folder, texts = work
    run = assign(folder)
    assert run.exit_code == 0, run.output
    assert "90 texts assigned, in 9 files" in run.output
    found, model = result(folder), coterie.load(folder / "model")
    assert found["id"].to_pylist() == list(range(90))
    assert found["text"].to_pylist() == texts
    expected = model.assignment(["" if text is None else text for text in texts])
    assert found["cluster"].to_pylist() == [None if label < 0 else label for label in expected.labels.tolist()]
    np.testing.assert_array_equal(found["confidence"].to_numpy(), expected.confidence)
    assert found["cluster_name"][0].as_py() == model.clusters_.names[expected.labels[0]]


def test_the_same_command_writes_only_the_missing_parts_and_another_is_refused(work):
    folder, _ = work
    assign(folder, out="again")
    before = result(folder, "again")
    kept, lost = folder / "again/part-00000.parquet", folder / "again/part-00004.parquet"
    time = kept.stat().st_mtime_ns
    lost.unlink()
    run = assign(folder, out="again")
    assert "8 of 9 parts are there" in run.output
    assert kept.stat().st_mtime_ns == time
    assert result(folder, "again") == before
    refused = assign(folder, "--min-confidence", "0.5", out="again")
    assert refused.exit_code == 2
    assert "not of this model, these files and these settings" in refused.output
    assert assign(folder, "--min-confidence", "0.5", "--force", out="again").exit_code == 0
    assert json.loads((folder / "again/coterie.json").read_text())["min_confidence"] == 0.5


def test_an_interrupted_part_leaves_nothing_and_resumes(work, monkeypatch):
    folder, _ = work
    calls = []

    def stop_later(self, batch, call=engines.Assigner.__call__):
        calls.append(batch)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return call(self, batch)

    monkeypatch.setattr(engines.Assigner, "__call__", stop_later)
    run = assign(folder, out="stopped")
    assert run.exit_code == 130
    assert "the same command resumes" in run.output
    assert {path.name for path in (folder / "stopped").iterdir()} == {"coterie.json", "part-00000.parquet"}
    assert assign(folder, out="stopped").exit_code == 0
    assert result(folder, "stopped")["id"].to_pylist() == list(range(90))


def test_a_damaged_file_is_named_and_the_rest_is_assigned_if_asked(work):
    folder, _ = work
    (folder / "bad").mkdir()
    good = (folder / "in/0.parquet").read_bytes()
    (folder / "bad/a.parquet").write_bytes(good)
    (folder / "bad/b.parquet").write_bytes(b"not Parquet")
    begin, size = 300, 200  # in the pages: the footer is fine
    (folder / "bad/c.parquet").write_bytes(good[:begin] + b"\xff" * size + good[begin + size :])
    stopped = assign(folder, files="bad", out="bad-out")
    assert stopped.exit_code == 2
    assert "b.parquet is not a complete Parquet file" in stopped.output
    run = assign(folder, "--on-error", "skip", files="bad", out="bad-out")
    assert run.exit_code == 0, run.output
    assert "b.parquet is not a complete" in run.output
    assert "c.parquet is damaged" in run.output
    assert result(folder, "bad-out")["id"].to_pylist()[:30] == list(range(30))


@pytest.mark.parametrize(
    ("more", "files", "message"),
    [
        ([], "none/*.parquet", "There is no file"),
        (["--column", "txt"], "in", "has no column 'txt'"),
        (["--column", "id"], "in", "holds int64, not texts"),
        (["--workers", "2"], "in", "--workers is for --engine ray"),
        (["--json"], "in", "--json is for one table in memory"),
    ],
)
def test_wrong_input_is_one_sentence(work, more, files, message):
    run = assign(work[0], *more, files=files, out="wrong")
    assert run.exit_code == 2
    assert message in " ".join(run.output.split())


def test_a_users_columns_stay(work, topics):
    assigner = coterie.Assigner(work[0] / "model", column="text")
    table = assigner(pa.table({"text": topics[0][:4], "cluster": ["a", "b", "c", "d"]}))
    assert table["cluster"].to_pylist() == ["a", "b", "c", "d"]
    assert table["cluster_2"].to_pylist() == coterie.load(work[0] / "model").predict(topics[0][:4]).tolist()


def test_frames_and_arrays_come_back_as_they_came(work, topics):
    import pandas

    assigner = coterie.Assigner(work[0] / "model")
    labels = coterie.load(work[0] / "model").predict(topics[0][:4]).tolist()
    frame = assigner(pandas.DataFrame({"text": topics[0][:4]}, index=[3, 1, 2, 0]))
    assert frame["cluster"].tolist() == labels
    assert frame.index.tolist() == [3, 1, 2, 0]
    assert assigner({"text": np.array(topics[0][:4], dtype=object)})["cluster"].tolist() == labels


def test_a_part_of_another_run_is_not_taken_for_done(work):
    folder, _ = work
    assign(folder, out="foreign")
    pq.write_table(pa.table({"text": ["x"]}), folder / "foreign/part-00001.parquet")
    run = assign(folder, out="foreign")
    assert run.exit_code == 2
    assert "part-00001.parquet is not a part that this command wrote" in run.output


def test_what_a_killed_run_left_is_replaced_if_asked(work):
    folder, _ = work
    assign(folder, out="killed")
    (folder / "killed/part-00001.parquet").rename(folder / "killed/part-00001.parquet.unfinished")
    assert assign(folder, "--min-confidence", "0.5", "--force", out="killed").exit_code == 0
    assert not list((folder / "killed").glob("*.unfinished"))


def test_more_rows_than_a_file_can_have_are_refused(work, monkeypatch):
    monkeypatch.setattr(plan, "_MAX_PARTS", 3)
    run = assign(work[0], out="many")
    assert run.exit_code == 2
    assert "too many for one run" in run.output


def test_fewer_rows_than_a_file_says_are_an_error(work):
    folder, _ = work
    part = plan.Part(str(folder / "in/0.parquet"), 25, 40, str(folder / "short.parquet"))
    with pytest.raises(InputError, match="fewer rows than it says"):
        list(engines.write_part(part, coterie.Assigner(folder / "model")))
    assert not list(folder.glob("short*"))
