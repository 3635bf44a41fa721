"""The weights of a transformer in an ONNX file, read without the package onnx.

An ONNX file is a protocol buffer (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto): a sequence of fields, each a
number and a value. An export keeps the names of most weights, but the matrix of a linear layer is stored transposed and
without a name. The name of the bias that is added to its product tells whose it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = dict[str, NDArray[np.float32]]

_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_INITIALIZER = 1, 5
_NODE_INPUT, _NODE_OUTPUT, _NODE_TYPE = 1, 2, 4
_TENSOR_DIM, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_EXTERNAL = 1, 2, 8, 13
_FLOAT = 1


def read_onnx_weights(model: bytes, data: bytes) -> Weights:
    """Return the float32 weights of an ONNX file by their names in PyTorch; ``data`` is its file of external data."""
    graph = _fields(_fields(model)[_MODEL_GRAPH][0])
    tensors = dict(_tensors(graph[_GRAPH_INITIALIZER], data))
    weights = {name: array for name, array in tensors.items() if "." in name}
    nodes = [_fields(node) for node in graph[_GRAPH_NODE]]
    biases = {name: _bias(node) for node in nodes for name in _names(node, _NODE_INPUT)}
    for node in nodes:
        matrices = [tensors[name] for name in _names(node, _NODE_INPUT) if name in tensors and tensors[name].ndim == 2]
        if _names(node, _NODE_TYPE) == ["MatMul"] and matrices:
            bias = biases[_names(node, _NODE_OUTPUT)[0]]
            weights[bias.removesuffix("bias") + "weight"] = matrices[0].T
    return {name: np.ascontiguousarray(array) for name, array in weights.items()}


def _tensors(initializers: list[Any], data: bytes) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield name and value of the float tensors that are stored in ``data``."""
    for tensor in map(_fields, initializers):
        if tensor.get(_TENSOR_TYPE) != [_FLOAT] or _TENSOR_EXTERNAL not in tensor:
            continue  # constants of the graph, such as shapes
        place = {key.decode(): value for key, value in map(_pair, tensor[_TENSOR_EXTERNAL])}
        shape = tensor.get(_TENSOR_DIM, [])
        array = np.frombuffer(data, np.float32, int(np.prod(shape)), int(place["offset"]))
        yield tensor[_TENSOR_NAME][0].decode(), array.reshape(shape)


def _pair(entry: bytes) -> tuple[bytes, bytes]:
    fields = _fields(entry)
    return fields[1][0], fields[2][0]


def _names(node: dict[int, list[Any]], field: int) -> list[str]:
    return [name.decode() for name in node.get(field, [])]


def _bias(node: dict[int, list[Any]]) -> str:
    """Return the bias among the inputs of a node; empty when there is none."""
    return next((name for name in _names(node, _NODE_INPUT) if name.endswith(".bias")), "")


def _fields(message: bytes) -> dict[int, list[Any]]:
    """Return the values of a message by field number: integers, or bytes for strings and inner messages."""
    fields: dict[int, list[Any]] = {}
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value, at = _varint(message, at)
            fields.setdefault(number, []).append(value)
            continue
        length = {1: 8, 5: 4}.get(wire_type)
        if length is None:
            length, at = _varint(message, at)
        fields.setdefault(number, []).append(message[at : at + length])
        at += length
    return fields


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return an integer of variable length, seven bits a byte, and the place after it."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
