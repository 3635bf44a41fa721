"""Hostile files of every format that is read: bombs first, then changed bytes of good files."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from attempt import Case
from coterie.cli.input import _read_vectors
from coterie.data.files import read_table, write_table
from coterie.data.images import check_images
from coterie.data.texts import check_texts
from coterie.words.pretrained import load_word_vectors
from mutations import mutated
from tiny import texts, word_vectors

_FORMATS = ("csv", "tsv", "txt", "jsonl", "parquet", "xlsx", "csv.gz", "jsonl.gz")


def cases(folder: Path, rng: np.random.Generator) -> Iterator[Case]:
    """Yield bombs once, then changed files without end."""
    for name, data in _bombs():
        yield _case(folder, f"bomb-{name}", data)
    good = dict(_good(folder))
    number = 0
    while True:
        number += 1
        suffix = str(rng.choice(sorted(good)))
        data = good[suffix]
        for _ in range(int(rng.integers(1, 4))):
            data = mutated(data, rng)
        yield _case(folder, f"changed-{number}.{suffix}", data)


def _case(folder: Path, name: str, data: bytes) -> Case:
    path = folder / name
    path.write_bytes(data)
    return Case(f"file {name}", partial(_reader(name), path))


def _reader(name: str) -> Callable[[Path], None]:
    suffix = name.rpartition(".")[2]
    return {"npy": _vectors, "png": _image, "jpg": _image, "vec": _word_vectors}.get(suffix, _table)


def _table(path: Path) -> None:
    try:
        table = read_table(path)
        for cells in list(table.columns.values())[:20]:
            check_texts([cell if cell is None else str(cell) for cell in cells[:1000]])
    finally:
        path.unlink()


def _vectors(path: Path) -> None:
    try:
        _read_vectors(path, 5)
    finally:
        path.unlink()


def _word_vectors(path: Path) -> None:
    try:
        if not np.isfinite(load_word_vectors(str(path)).vectors).all():
            raise ValueError("a word vector is not of finite numbers")
    finally:
        path.unlink()


def _image(path: Path) -> None:
    try:
        check_images([path])
    finally:
        path.unlink()


def _good(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield a good file of every format."""
    (folder / "source.csv").write_text("id,text\n" + "\n".join(f'{i},"{t}"' for i, t in enumerate(texts(30))))
    table = read_table(folder / "source.csv")
    for suffix in _FORMATS:
        path = folder / f"good.{suffix}"
        source = read_table(folder / "source.csv") if suffix != "txt" else None
        if source is None:
            path.write_text("\n".join(texts(30)))
        else:
            write_table(table, path)
        yield suffix, path.read_bytes()
    stream = io.BytesIO()
    np.save(stream, np.ones((5, 3), dtype=np.float32))
    yield "npy", stream.getvalue()
    yield "vec", word_vectors(folder / "good.vec").read_bytes()
    pixels = np.random.default_rng(0).integers(0, 255, (16, 16, 3), dtype=np.uint8)
    for suffix, kind in (("png", "PNG"), ("jpg", "JPEG")):
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, kind)
        yield suffix, stream.getvalue()


def _bombs() -> Iterator[tuple[str, bytes]]:
    """Yield small files that ask for much time or memory."""
    yield "columns.csv", b",".join(b"c%d" % i for i in range(200_000)) + b"\n" + b"," * 199_999 + b"\n"
    yield "quotes.csv", b'text\n"' + b'""' * 2_000_000
    yield "word.csv", b"text\n" + b"x" * 5_000_000 + b"\n"
    yield "lines.txt", b"\n" * 6_000_000
    yield "zeros.csv.gz", gzip.compress(bytes(600_000_000), 1)
    yield "deep.csv.gz", gzip.compress(gzip.compress(bytes(50_000_000)))
    yield "nested.jsonl", b'{"text": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
    yield "number.jsonl", b'{"text": ' + b"9" * 2_000_000 + b"}\n"
    yield "keys.jsonl", b"\n".join(b'{"k%d": 1}' % i for i in range(150_000))
    yield "surrogates.jsonl", b'{"text": "\\ud800\\udfff \\u202e"}\n' * 10
    yield "rows.parquet", _parquet(pa.table({"text": pa.nulls(60_000_000)}))
    yield "text.parquet", _parquet(pa.table({"text": pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(400_000, dtype=np.int32)), pa.array(["x" * 20_000])
    )}))  # fmt: skip
    yield "columns.parquet", _parquet(pa.table({f"c{i}": pa.array([1]) for i in range(20_000)}))
    yield "sheet.xlsx", _zip({"xl/worksheets/sheet1.xml": b"<row/>" * 30_000_000, "[Content_Types].xml": b"<Types/>"})
    yield "entities.xlsx", _zip({"xl/workbook.xml": _laughs(), "[Content_Types].xml": _laughs()})
    yield "shape.npy", _npy_header((2**40, 2**20))
    yield "pickle.npy", _npy_header((5, 3), "|O") + b"cos\nsystem\n(S'touch /tmp/owned'\ntR."
    yield "side.png", _png(13_300)
    yield "empty.csv", b""
    yield "bom.csv", b"\xff\xfe\x00\x00" * 10
    yield "nul.csv", b"text\n" + b"\0" * 100_000


def _parquet(table: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd", use_dictionary=True)
    return stream.getvalue()


def _zip(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def _laughs() -> bytes:
    """Return XML whose entities multiply to gigabytes."""
    lines = ['<!ENTITY a0 "lol">', *(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 11))]
    return ("<?xml version='1.0'?><!DOCTYPE x [" + "".join(lines) + "]><x>&a10;</x>").encode()


def _npy_header(shape: tuple[int, ...], kind: str = "<f8") -> bytes:
    text = json.dumps({"descr": kind, "fortran_order": False}).replace("false", "False")[:-1]
    header = f"{text}, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


def _png(side: int) -> bytes:
    stream = io.BytesIO()
    Image.new("1", (side, side)).save(stream, "PNG")
    return stream.getvalue()
