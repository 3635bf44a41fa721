"""The character encoding of a file: checked when it is named, else found."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass

from coterie.errors import InputError

_CHUNK = 2**20
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_MAX_SHARE = 0.25  # of bytes above 127 in Western texts; other scripts have more than half


@dataclass(frozen=True)
class Encoding:
    """A checked encoding."""

    name: str
    bom: bool = False  # of UTF-8
    notes: tuple[str, ...] = ()


def find_encoding(data: bytes, encoding: str | None, name: str) -> Encoding:
    """Return the encoding of ``data``, or raise :class:`InputError` with the first byte that does not fit it.

    Without a name it is UTF-8, or what a byte order mark says, or else Windows-1252 if most bytes are ASCII.
    """
    if encoding is not None:
        _check(data, encoding, name)
        return Encoding(encoding, _is_utf8(encoding) and data.startswith(codecs.BOM_UTF8))
    if marked := next((found for bom, found in _BOMS.items() if data.startswith(bom)), None):
        _check(data, marked, name)
        is_utf8 = marked == "utf-8"
        return Encoding(marked, is_utf8, () if is_utf8 else (f"{name} was read as {marked.upper()}.",))
    try:
        _check(data, "utf-8", name)
    except InputError:
        if not _is_western(data):
            raise
        note = f"{name} is not UTF-8 and was read as Windows-1252 (cp1252). Another encoding? Name it with --encoding."
        return Encoding("cp1252", notes=(note,))
    return Encoding("utf-8")


def open_text(data: bytes, encoding: Encoding, newline: str) -> io.TextIOWrapper:
    """Return a stream of the characters of ``data``, without a byte order mark."""
    codec = "utf-8-sig" if _is_utf8(encoding.name) else encoding.name
    return io.TextIOWrapper(io.BytesIO(data), encoding=codec, newline=newline)


def encode(text: str, encoding: str, *, bom: bool) -> bytes:
    """Return the bytes of ``text``; UTF-8 with a byte order mark if the encoding lacks one of its characters."""
    try:
        return text.encode("utf-8-sig" if bom and _is_utf8(encoding) else encoding)
    except UnicodeError:
        return text.encode("utf-8-sig")


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def _is_western(data: bytes) -> bool:
    """Whether ``data`` can be Windows-1252: most bytes are ASCII, and no byte is undefined."""
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    n_high = len(data) - len(data.translate(None, bytes(range(0x80, 0x100))))
    return n_high <= _MAX_SHARE * len(data) and b"\0" not in data


def _check(data: bytes, encoding: str, name: str) -> None:
    """Decode everything once, in parts, and forget it: errors come before the work, and with their place."""
    n_characters = 0
    try:
        for part in _decode(data, encoding):
            if "\0" in part:
                raise InputError(
                    f"{name} has a zero byte at character {n_characters + part.index(chr(0))}: it is binary, or in "
                    "another encoding, e.g. --encoding utf-16."
                )
            n_characters += len(part)
    except LookupError:
        raise InputError(f"There is no encoding called {encoding!r}. Try utf-8, latin-1, cp1252.") from None
    except InputError:
        raise
    except ValueError as error:  # UnicodeError, and what codecs that are not made for files raise
        raise InputError(f"{name} is not {encoding}: {_problem(error, data)}") from None


def _decode(data: bytes, encoding: str) -> Iterator[str]:
    io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # LookupError for codecs that are not of texts, such as base64
    decoder = codecs.getincrementaldecoder(encoding)()
    for start in range(0, max(len(data), 1), _CHUNK):
        end = start + _CHUNK
        try:
            yield decoder.decode(data[start:end], final=end >= len(data))
        except UnicodeDecodeError as error:  # its place is counted from bytes that were left over
            error.start += min(end, len(data)) - len(error.object)
            raise


def _problem(error: ValueError, data: bytes) -> str:
    guess = "utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin-1 or cp1252"
    advice = f"Name its encoding, e.g. --encoding {guess}."
    if not isinstance(error, UnicodeDecodeError) or not data:
        return f"{error}. {advice}"
    start = min(max(error.start, 0), len(data) - 1)
    line = data.count(b"\n", 0, start) + 1
    return f"byte {start} (line {line}) is 0x{data[start]:02x}. {advice}"
