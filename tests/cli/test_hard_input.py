"""What a person can get wrong, or an attacker right, ends in a sentence and not in a traceback."""

import csv
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from coterie.cli.errors import handle_errors
from coterie.cli.input import _read_vectors
from coterie.cli.main import app
from coterie.data.files import read_table
from coterie.errors import InputError

TEXTS = ["reset my password", "forgot my password", "password reset", "printer jam", "paper jam", "printer paper"]


class Code:
    def __reduce__(self):
        return os.mkdir, ("owned",)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("text\n" + "".join(f"{text}\n" for text in TEXTS))
    return tmp_path


def npy(shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(48)


@pytest.mark.parametrize(
    "shape", ["(100000000000, 3)", "(6, 99999999999999999999)", "(6, 4611686018427387904)", "(-6, 3)"]
)
def test_vectors_that_promise_more_than_the_file_has_are_an_error(invoke, folder, shape):
    (folder / "huge.npy").write_bytes(npy(shape))
    run = invoke("cluster", "t.csv", "-k", 2, "--vectors", "huge.npy", code=2)
    assert "huge.npy is not an array saved by numpy.save" in run.stderr


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (f"n_init={10**30}", "`n_init` must be a whole number and >= 1 and < 2**63, got 1000"),
        (f"n_init={'9' * 5_000}", "--set n_init=9999"),
        ("similarity_power=1e999", "`similarity_power` must be"),
        ("similarity_power=nan", "`similarity_power` must be"),
    ],
)
def test_a_setting_without_measure_is_an_error(invoke, setting, message):
    run = invoke("cluster", "t.csv", "-k", 2, "-e", "tfidf", "--set", setting, code=2)
    assert message in run.stderr
    assert len(run.stderr) < 2_000


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: 4 TB")])
def test_too_little_memory_is_a_sentence(capsys, error):
    def command():
        raise error

    with pytest.raises(typer.Exit):
        handle_errors(command)()
    assert "Error: there is not enough memory" in capsys.readouterr().err


def test_image_names_that_are_not_utf8_are_written_as_escapes(invoke, folder):
    from PIL import Image

    rng = np.random.default_rng(0)
    (folder / "images").mkdir()
    for number in range(4):
        with open(os.fsencode(folder / "images") + b"/\xff%d.png" % number, "wb") as file:
            Image.fromarray(rng.integers(256, size=(8, 8), dtype=np.uint8)).save(file, "PNG")
    run = invoke("cluster", "images", "--items", "images", "-k", 2, "-m", "kmeans", "-o", "out")
    assert r"\xff" in run.stdout
    names = [row["file"] for row in csv.DictReader((folder / "out" / "assignments.csv").read_text().splitlines())]
    assert names == [rf"images/\xff{number}.png" for number in range(4)]


@pytest.mark.parametrize("weights", [pickle.dumps(Code()), b"\x80\x02garbage", b""], ids=["code", "damaged", "empty"])
def test_a_pickled_encoder_is_an_error_and_its_code_is_not_run(invoke, folder, tiny_bert, weights):
    model = shutil.copytree(tiny_bert, folder / "bert")
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(weights)
    run = invoke("cluster", "t.csv", "-k", 2, "-e", f"transformer:{model}", code=2)
    assert "Cannot load the model" in run.stderr
    assert "no code of a model is run" in run.stderr
    assert not (folder / "owned").exists()


def test_a_closed_stdout_is_an_error_before_the_work_begins():
    for redirection, message in ((">&-", "Error: stdout is closed, so nothing can be printed."), (">&- 2>&-", "")):
        command = f"{sys.executable} -m coterie cluster none.csv -k 2 {redirection}"
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert (run.returncode, run.stderr[: len(message)]) == (2, message)
        assert "Traceback" not in run.stderr


def test_a_closed_stdin_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="stdin is closed"):
        read_table("-")


@pytest.mark.parametrize("shape", [b"(5, 3\0", b"(5, 3#", b"(5, 3}"])
def test_vectors_with_a_broken_header_are_refused(tmp_path, shape):
    np.save(tmp_path / "v.npy", np.ones((5, 3)))
    (tmp_path / "v.npy").write_bytes((tmp_path / "v.npy").read_bytes().replace(b"(5, 3)", shape))
    with pytest.raises(InputError, match="is not an array saved by"):
        _read_vectors(tmp_path / "v.npy", 5)


def test_a_file_name_that_is_no_text_has_a_report(tmp_path):
    file = tmp_path / os.fsdecode(b"n\xff.csv")
    file.write_text("text\n" + "goal match\nstock bank\n" * 5)
    command = ["cluster", str(file), "-k", "2", "-e", "tfidf", "-m", "kmeans", "-o", str(tmp_path / "out")]
    run = CliRunner().invoke(app, command)
    assert run.exit_code == 0, run.output
    assert "<title>n?.csv</title>" in (tmp_path / "out/report.html").read_text(encoding="utf-8")
