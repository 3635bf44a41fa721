import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.cli.main import app
from coterie.encoders.transformer import TransformerEncoder


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def file(topics, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(topics[0]), encoding="utf-8")
    return tmp_path / "texts.txt"


def sure(folder):
    return TransformerEncoder(model=str(folder), precision="float32", device="cpu")


SHORT = ("--set", "epochs=2", "--set", "epoch_steps=3", "--set", "batch_size=30", "--set", "trainable_layers=1")


def test_an_adapted_encoder_is_written_and_groups_texts(file, tiny_bert, topics, tmp_path):
    out = tmp_path / "adapted"
    told = run("adapt", file, "-o", out, "-e", f"transformer:{tiny_bert}", *SHORT)
    assert "a token costs" in told.output
    assert not (tmp_path / "adapted.checkpoint").exists()
    assert not np.allclose(sure(out).embed(topics[0][:3]), sure(tiny_bert).embed(topics[0][:3]), atol=1e-5)
    run("cluster", file, "-k", 3, "-m", "kmeans", "-e", f"transformer:{out}")
    run("adapt", file, "-o", out, "-e", f"transformer:{tiny_bert}", *SHORT, code=2)  # it is there already
    run("adapt", file, "-o", out, "-e", f"transformer:{tiny_bert}", *SHORT, "--overwrite")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-e", "tfidf"), "only a transformer can be adapted"),
        (("--set", "guard=on"), "this is about clusters, and there are none here"),
        (("--set", "speed=3"), "the method 'tsdae' has the settings"),
        (("-e", "nowhere"), "nowhere"),
    ],
)
def test_mistakes_are_told_before_anything_is_trained(file, tmp_path, options, message):
    assert message in run("adapt", file, "-o", tmp_path / "out", *options, code=2).output.replace("\n", " ")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_not_replaced_even_when_asked(file, tmp_path):
    told = run("adapt", file, "-o", tmp_path, "--overwrite", code=2)
    assert "is not an encoder" in told.output.replace("\n", " ")
    assert file.exists()
