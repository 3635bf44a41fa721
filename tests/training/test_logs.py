"""The log of every epoch, as CSV and for TensorBoard."""

import csv

import pytest

from coterie.errors import MissingExtraError, TrainingStopped
from coterie.methods.sccl import SCCL
from coterie.training.logs import write_log

HISTORY = [
    {"stage": "instance", "epoch": 1, "step": 3, "seconds": 0.25, "instance": 12.3456789, "loss": 12.3456789},
    {"stage": "cluster", "epoch": 1, "step": 6, "seconds": 0.5, "cluster": 1e-9, "loss": 0.5, "guard": 0.75},
]


def rows(folder):
    with (folder / "history.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def assert_log_equals(found, history):
    assert len(found) == len(history)
    for row, record in zip(found, history, strict=True):
        assert {name for name, value in row.items() if value} == set(record)
        for name, value in record.items():
            if isinstance(value, float):
                assert float(row[name]) == pytest.approx(value, rel=1e-5)
            else:
                assert row[name] == str(value)


def test_a_row_for_every_epoch_and_a_column_for_every_term(tmp_path):
    write_log(HISTORY, tmp_path / "new" / "logs", "csv")
    found = rows(tmp_path / "new" / "logs")
    assert list(found[0]) == ["stage", "epoch", "step", "seconds", "instance", "loss", "cluster", "guard"]
    assert found[0]["cluster"] == ""
    assert_log_equals(found, HISTORY)


def test_writing_again_leaves_no_duplicates(tmp_path):
    for n in (1, 2, 2):
        write_log(HISTORY[:n], tmp_path, "csv")
    assert_log_equals(rows(tmp_path), HISTORY)


def small(**options):
    return SCCL(**{"n_clusters": 3, "encoder": "tfidf", "epochs": 4, "plan": "sequential"} | options)


def test_the_log_of_a_training_is_its_history(topics, tmp_path):
    model = small(log_dir=tmp_path / "logs").fit(topics[0])
    assert len(model.history_) == 4
    assert_log_equals(rows(tmp_path / "logs"), model.history_)


def test_the_log_is_written_after_every_epoch(topics, tmp_path):
    lengths = []

    def callback(evaluation):
        path = tmp_path / "history.csv"
        lengths.append(len(rows(tmp_path)) if path.exists() else 0)

    small(log_dir=tmp_path).fit(topics[0], callback=callback)
    assert lengths == [0, 0, 1, 2, 3]  # the callback of an epoch runs before its record is written


@pytest.mark.parametrize("epoch", [2, 3, 4])
def test_the_log_of_a_resumed_training_has_no_gaps_or_duplicates(topics, tmp_path, epoch):
    def stop(evaluation):
        if evaluation.record["step"] == epoch:
            raise KeyboardInterrupt

    options = {"log_dir": tmp_path / "logs", "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(TrainingStopped):
        small(**options).fit(topics[0], callback=stop)
    assert len(rows(tmp_path / "logs")) == epoch - 1
    model = small(**options).fit(topics[0])
    assert_log_equals(rows(tmp_path / "logs"), model.history_)
    assert [record["step"] for record in model.history_] == [1, 2, 3, 4]


def test_without_log_dir_nothing_is_written(topics, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small().fit(topics[0])
    assert list(tmp_path.iterdir()) == []


def test_without_tensorboard_the_error_names_the_extra(topics, tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.training.logs.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"log_format='tensorboard' .*pip install 'coterie\[tensorboard\]'"):
        small(log_dir=tmp_path, log_format="tensorboard").fit(topics[0])


def test_tensorboard_reads_every_term_of_every_epoch(tmp_path):
    pytest.importorskip("tensorboard", reason="the extra 'tensorboard' is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for n in (1, 2):
        write_log(HISTORY[:n], tmp_path, "tensorboard")
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(event.step, event.value) for event in events.Scalars("loss")] == [
        (3, pytest.approx(12.3456789)),
        (6, pytest.approx(0.5)),
    ]
    assert [event.step for event in events.Scalars("guard")] == [6]
