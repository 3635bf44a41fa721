"""The bytes of a file or of stdin, unpacked, within a limit."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from pathlib import Path
from typing import IO

from coterie.data.limits import BYTES
from coterie.errors import InputError

_CHUNK = 2**20


def read_bytes(source: str | Path, name: str) -> tuple[bytes, bool]:
    """Return the bytes of ``source`` (``-`` for stdin), unpacked, and whether they were gzipped."""
    data = _read_stdin() if str(source) == "-" else _read_file(Path(source), name)
    return (_gunzip(data, name), True) if data[:2] == b"\x1f\x8b" else (data, False)


def _read_stdin() -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("There is nothing to read: stdin is closed.")
    return _read(sys.stdin.buffer, "stdin")


def _read_file(path: Path, name: str) -> bytes:
    try:
        if path.is_file():  # a pipe has no size
            BYTES.check(path.stat().st_size, name)
        with path.open("rb") as stream:
            return _read(stream, name)
    except FileNotFoundError:
        raise InputError(f"There is no file {name}.") from None
    except OSError as error:
        raise InputError(f"Cannot read {name}: {error.strerror}.") from None
    except ValueError as error:  # a zero byte in the name
        raise InputError(f"Cannot read {name}: {error}.") from None


def _gunzip(data: bytes, name: str) -> bytes:
    try:
        return _read(gzip.GzipFile(fileobj=io.BytesIO(data)), name)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} is not a complete gzip file ({error}). Download or compress it again.") from None


def _read(stream: IO[bytes] | gzip.GzipFile, name: str) -> bytes:
    """Return all bytes of a stream, or stop at the limit."""
    data = io.BytesIO()
    while chunk := stream.read(_CHUNK):
        data.write(chunk)
        BYTES.check(data.tell(), name)
    return data.getvalue()
