"""Where commands write: nothing is lost, and nothing is replaced that coterie did not write."""

import os

import pytest

import coterie.artifact
from coterie.data.lock import exclusive

SHORT = ["--set", "epochs=1", "--set", "batch_size=30", "--set", "init=kmeans"]


@pytest.fixture(scope="module")
def file(tmp_path_factory, topics):
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    path.write_text("\n".join(topics[0]), encoding="utf-8")
    return path


@pytest.fixture
def cluster(invoke, file, tmp_path):
    def run(*arguments, code=0, method="kmeans", out=tmp_path / "output"):
        return invoke("cluster", file, "-k", 3, "-e", "tfidf", "-m", method, "-o", out, *arguments, code=code)

    return run


def test_a_finished_training_survives_a_full_disk(cluster, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", str(tmp_path / "output"))

    with monkeypatch.context() as patched:
        patched.setattr(coterie.artifact, "save", full)
        message = cluster(*SHORT, method="sccl", code=1).stderr
    assert f"The finished training is kept in {tmp_path}/output.checkpoint: run the same command again" in message
    assert f"Error: {tmp_path}/output: No space left on device." in message
    assert os.listdir(tmp_path) == ["output.checkpoint"]
    cluster(*SHORT, method="sccl", out=tmp_path / "other")
    cluster(*SHORT, method="sccl")
    assert sorted(os.listdir(tmp_path)) == ["other", "output"]
    written = [(tmp_path / name / "assignments.csv").read_text() for name in ("other", "output")]
    assert written[0] == written[1]


@pytest.mark.parametrize("out", ["/proc/output", "/dev/null", "/nowhere/output"])
def test_a_target_that_cannot_be_written_is_refused_before_the_file_is_read(invoke, out):
    for command in (
        ["cluster", "absent.csv", "-k", 3, "--force"],
        ["adapt", "absent.csv"],
        ["assign", "model", "absent.csv"],
    ):
        message = invoke(*command, "--out", out, code=2).stderr
        assert out in message
        assert "absent.csv" not in message


def test_two_commands_do_not_write_to_one_folder(cluster, tmp_path):
    with exclusive(tmp_path / "output"):
        assert f"is writing to {tmp_path}/output. Wait until it has ended" in cluster(code=2).stderr
    assert os.listdir(tmp_path) == []


def test_a_file_is_replaced_only_with_force(cluster, invoke, file, tmp_path):
    cluster()
    out = tmp_path / "out.csv"
    out.write_text("years of work")
    views = ["augment", file, "-a", "delete"]
    for command in (["assign", tmp_path / "output" / "model", file], ["datasets", "helpdesk"], views):
        message = invoke(*command, "-o", out, code=2).stderr
        assert f"The file {out} exists. Name a new one, or replace it: --force" in message
        assert out.read_text() == "years of work"
    invoke("datasets", "helpdesk", "-o", out, "--force")
    assert out.read_text().startswith("text,label")
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "output"]


def test_a_folder_of_images_is_replaced_only_with_force(invoke, tmp_path):
    out = tmp_path / "digits"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "cat.png").write_bytes(b"x")
    invoke("datasets", "digits", "-o", out)
    assert "is not empty" in invoke("datasets", "digits", "-o", out, code=2).stderr
    assert (
        "was not written by coterie"
        in invoke("datasets", "digits", "-o", out.with_name("other"), "--force", code=2).stderr
    )
    invoke("datasets", "digits", "-o", out, "--force")


def test_an_encoder_outside_the_model_is_read_only_if_it_is_allowed(invoke, file, tiny_bert, tmp_path):
    encoder = f"transformer(model={tiny_bert},precision=float32,device=cpu)"
    run = invoke("cluster", file, "-k", 3, "-m", "kmeans", "-e", encoder, "-o", tmp_path / "output")
    assert f"coterie assign {tmp_path}/output FILE --allow-encoder {tiny_bert}" in run.stderr
    assign = ["assign", tmp_path / "output" / "model", file]
    message = invoke(*assign, code=2, stdin="y\n").stderr
    assert "which is not part of the model. If you trust it, allow it: --allow-encoder" in message
    assert invoke(*assign, "--allow-encoder", tiny_bert).stdout.startswith("text,cluster,")
