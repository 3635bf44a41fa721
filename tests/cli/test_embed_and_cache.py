"""`coterie embed` and `coterie cache`."""

import json

import numpy as np
import pytest

from coterie.encoders import embedding_cache


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COTERIE_CACHE_MB", "10")
    monkeypatch.setattr(embedding_cache, "MIN_SECONDS", 0)
    (tmp_path / "texts.csv").write_text('text\nred goal\nblue bank\n""\nred goal\ngreen gene\n')
    return "texts.csv"


def test_embed_finds_the_encoding_as_other_commands_do(invoke, texts, tmp_path):
    (tmp_path / "old.csv").write_bytes("text\nred café\nblue café\ngreen café\n".encode("cp1252"))
    invoke("embed", "old.csv", "--out", "vectors.npy", "-e", "tfidf")
    assert len(np.load(tmp_path / "vectors.npy")) == 3


def test_embed_writes_one_row_for_each_text(invoke, texts, tiny_bert, tmp_path):
    encoder = f"transformer(max_length=16):{tiny_bert}"
    result = invoke("embed", texts, "--out", "vectors.npy", "-e", encoder)
    assert "5 texts, 1 of them blank, 32 numbers each: vectors.npy" in result.stderr
    h = np.load("vectors.npy")
    assert (h.shape, h.dtype) == ((5, 32), np.float32)
    assert np.isnan(h).all(axis=1).tolist() == [False, False, True, False, False]
    np.testing.assert_array_equal(h[0], h[3])
    shown = {row["kind"]: row for row in json.loads(invoke("cache", "--json").stdout)["kinds"]}
    assert shown["embeddings"]["files"] == 2
    assert "embeddings" in invoke("cache", "--clear").stdout
    assert not list((tmp_path / "cache").rglob("*.npy"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "texts.csv"], "a file that ends in .npy"),
        (["--out", "old.npy"], "old.npy exists. Name a new one, or replace it: --force"),
        (["--out", "no/vectors.npy", "-e", "tfidf"], "the folder no does not exist"),
        (["--out", "v.npy", "-e", "precomputed"], "'precomputed' takes vectors, not texts"),
        (["--out", "v.npy", "-e", "tfidf+tfdif"], "Did you mean 'tfidf'"),
    ],
)
def test_embed_refuses_in_one_sentence(invoke, texts, tmp_path, arguments, message):
    (tmp_path / "old.npy").write_text("")
    result = invoke("embed", texts, *arguments, code=2)
    assert message in result.stderr.replace("\n", " ")
    assert not (tmp_path / "v.npy").exists()


def test_embed_replaces_a_file_when_told(invoke, texts, tmp_path):
    (tmp_path / "old.npy").write_text("")
    invoke("embed", texts, "--out", "old.npy", "-e", "tfidf+bow", "--force", "--quiet")
    assert np.load("old.npy").shape == (5, 12)
