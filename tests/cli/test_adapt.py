import numpy as np
import pytest

from coterie.encoders.transformer import TransformerEncoder

SHORT = ("--set", "epochs=1", "--set", "epoch_steps=2", "--set", "batch_size=30", "--set", "trainable_layers=1")


@pytest.fixture
def file(topics, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(topics[0]), encoding="utf-8")
    return tmp_path / "texts.txt"


def embed(folder, texts):
    return TransformerEncoder(model=str(folder), precision="float32", device="cpu").embed(texts)


def test_an_adapted_encoder_is_written_and_can_cluster(invoke, file, tiny_bert, topics, tmp_path):
    out = tmp_path / "adapted"
    adapt = ("adapt", file, "-o", out, "-e", f"transformer:{tiny_bert}", *SHORT)
    assert "loss per token" in invoke(*adapt).stderr
    assert not (tmp_path / "adapted.checkpoint").exists()
    texts = topics[0][:3]
    assert not np.allclose(embed(out, texts), embed(tiny_bert, texts), atol=1e-5)
    invoke("cluster", file, "-k", 3, "-m", "kmeans", "-e", f"transformer:{out}", "--no-save")
    assert "is not empty" in invoke(*adapt, code=2).stderr
    invoke(*adapt, "--force")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-e", "tfidf"), "only a transformer can be adapted"),
        (("--set", "guard=on"), "this setting is about clusters"),
        (("--set", "speed=3"), "he method 'tsdae' has the settings"),
        (("-e", "nowhere"), "nowhere"),
    ],
)
def test_wrong_options_are_an_error_before_training(invoke, file, tmp_path, options, message):
    assert message in invoke("adapt", file, "-o", tmp_path / "out", *options, code=2).stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_an_encoder_is_never_replaced(invoke, file, tmp_path):
    assert "was not written by coterie" in invoke("adapt", file, "-o", tmp_path, "--force", code=2).stderr
    assert file.exists()
