"""Pack a report into one HTML page that loads nothing: style, script and data are inside.

The scripts in ``assets`` are modules that import each other. In the page they are one module: the imports are taken
out and the files follow each other, each after those that it imports.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import asdict
from html import escape
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import coterie
from coterie.report.colors import PALETTE
from coterie.report.data import Column, Points, Report

View = Literal["report", "map"]
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', flags=re.M)
_DTYPES = {"u16": np.uint16, "i32": np.int32, "f64": np.float64}


def render(report: Report, *, view: View = "report") -> str:
    """Return the page of a report, or only its map."""
    style, script = _asset("style.css"), _bundle("main")
    policy = "; ".join([
        "default-src 'none'",
        f"script-src {_hash(script)}",
        f"style-src {_hash(style)}",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ])  # fmt: skip
    parts = {
        "view": view,
        "policy": policy,
        "version": escape(coterie.__version__),
        "title": escape(report.title),
        "items": report.noun.capitalize(),
        "style": style,
        "script": script,
        "data": _json(_payload(report)),
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("page.html"))
    return page.encode("utf-8", "replace").decode()  # the name of a file may be no text


def _asset(name: str) -> str:
    return files("coterie.report").joinpath("assets", name).read_text(encoding="utf-8")


def _bundle(name: str) -> str:
    """Return a module and all that it imports as one module."""
    sources: dict[str, str] = {}

    def add(module: str) -> None:
        if module in sources:
            return
        source = _asset(f"{module}.js")
        for imported in _IMPORT.findall(source):
            add(imported)
        sources[module] = re.sub(r"^export ", "", _IMPORT.sub("", source), flags=re.M)

    add(name)
    return "\n".join(sources.values())


def _hash(content: str) -> str:
    """Return the source expression of a content security policy that allows exactly this element."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _json(value: Any) -> str:
    """Return JSON that cannot end the script element around it, or begin a comment in it."""
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _plain(value: Any) -> Any:
    """Return ``value`` with None in place of NaN and infinity, and with all else that JSON does not have as text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _payload(report: Report) -> dict[str, Any]:
    names = (
        "title", "noun", "n_rows", "n_blank", "method", "layout", "sentences", "notes", "settings", "versions", "facts",
    )  # fmt: skip
    payload = {name: getattr(report, name) for name in names}
    payload |= {name: None if getattr(report, name) is None else asdict(getattr(report, name)) for name in _OPTIONAL}
    payload["clusters"] = [asdict(card) for card in report.clusters]
    payload["points"] = _pack_points(report.points)
    payload["palette"] = PALETTE
    return payload


_OPTIONAL = ("tree", "training", "curve")


def _pack_points(points: Points) -> dict[str, Any]:
    x, y = _unit_square(points.xy)
    packed: dict[str, Any] = {
        "rows": _pack(points.rows, "i32"),
        "x": _pack(x, "u16"),
        "y": _pack(y, "u16"),
        "cluster": _pack(points.cluster, "i32"),
        "confidence": _pack(np.rint(points.confidence * 10_000), "u16"),
        "texts": points.texts,
        "columns": [_pack_column(column) for column in points.columns],
    }
    if points.second is not None and points.margin is not None:
        packed["second"] = _pack(points.second, "i32")
        packed["margin"] = _pack(np.rint(points.margin * 10_000), "u16")
    if points.images is not None:
        sheets = asdict(points.images)
        packed["images"] = sheets | {"files": [base64.b64encode(file).decode() for file in points.images.files]}
    return packed


def _pack_column(column: Column) -> dict[str, Any]:
    packed: dict[str, Any] = {"name": column.name, "values": column.values}
    if column.numbers is not None:
        return packed | {"numbers": _pack(column.numbers, "f64")}
    assert column.codes is not None
    return packed | {"codes": _pack(column.codes, "i32")}


def _unit_square(xy: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return x and y scaled alike to 0..65535; y grows downwards, as on a screen."""
    low, high = xy.min(axis=0).astype(np.float64), xy.max(axis=0).astype(np.float64)
    span = float((high - low).max()) or 1.0
    scaled = (xy - low) / span * 65_535
    return np.rint(scaled[:, 0]), np.rint((high[1] - low[1]) / span * 65_535 - scaled[:, 1])


def _pack(values: NDArray[Any], dtype: str) -> dict[str, str]:
    data = np.ascontiguousarray(values, dtype=np.dtype(_DTYPES[dtype]).newbyteorder("<"))
    return {"type": dtype, "data": base64.b64encode(data.tobytes()).decode()}
