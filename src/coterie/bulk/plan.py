"""The parts of a large assignment: which rows of which Parquet file become which file of the output folder.

A part is written as a whole or not at all, so that what is there is done, and a killed run resumes with the next part.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coterie.data.atomic import atomic_file
from coterie.data.ownership import MARKER, check_folder
from coterie.data.text_column import text_column
from coterie.errors import InputError, MissingExtraError
from coterie.wording import count

PART_ROWS = 65_536
_MAX_PARTS = 100_000  # a small file can say that it has any number of rows
_SAMPLE_ROWS = 200  # in which the text column is looked for


@dataclass(frozen=True)
class Part:
    """Rows ``start`` to ``stop`` of a Parquet file, and the file that gets them with their clusters."""

    source: str
    start: int
    stop: int
    target: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start


@dataclass(frozen=True)
class Plan:
    """Everything that decides the output: the same plan resumes."""

    model: str  # SHA-256 of the manifest
    column: str
    min_confidence: float | None
    files: dict[str, int]  # rows of each file
    skipped: dict[str, str]  # files that cannot be read, and why
    parts: tuple[Part, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as it is stored beside the parts."""
        files = [MARKER, *(Path(part.target).name for part in self.parts)]
        settings = {"model": self.model, "column": self.column, "min_confidence": self.min_confidence}
        parts = [asdict(part) for part in self.parts]
        return {"written_by": "coterie", "files": sorted(files)} | settings | {"rows": self.files, "parts": parts}


def make_plan(
    patterns: Sequence[str], out: str, *, model: str, column: str | None, min_confidence: float | None, skip: bool
) -> Plan:
    """Look at the footer of every file; one that cannot be read raises :class:`InputError`, or is skipped."""
    rows: dict[str, int] = {}
    skipped: dict[str, str] = {}
    for name in find_files(patterns):
        try:
            file = open_parquet(name)
            column = column or _find_column(file, name)
            check_column(file, column, name)
            rows[name] = file.metadata.num_rows
        except InputError as error:
            if not skip:
                raise InputError(f"{error} To assign the other files: --on-error skip.") from None
            skipped[name] = str(error)
    if not rows:
        raise InputError("None of the files can be read. " + next(iter(skipped.values())))
    if sum(n // PART_ROWS + 1 for n in rows.values()) > _MAX_PARTS:
        most = max(rows, key=lambda name: rows[name])
        raise InputError(f"{most} says that it has {rows[most]:,} rows: too many for one run. Is it damaged?")
    starts = [(name, start, n) for name, n in rows.items() for start in range(0, n, PART_ROWS)]
    parts = tuple(
        Part(name, start, min(start + PART_ROWS, n), f"{out.rstrip('/')}/part-{i:05d}.parquet")
        for i, (name, start, n) in enumerate(starts)
    )
    return Plan(model, str(column), min_confidence, rows, skipped, parts)


def find_files(patterns: Sequence[str]) -> list[str]:
    """Return the Parquet files that file names, folders and patterns like ``in/*.parquet`` stand for, in order."""
    found: list[str] = []
    for pattern in patterns:
        system, path = file_system(pattern)
        prefix = pattern[: len(pattern) - len(path)] if pattern.endswith(path) else ""
        names = [prefix + name for name in _matches(system, path)]
        if not names:
            raise InputError(f"There is no file {pattern}.")
        found += names
    if len(set(found)) < len(found):
        raise InputError("A file is named twice. Name every file once.")
    return found


def _matches(system: Any, path: str) -> list[str]:
    from pyarrow.fs import FileSelector, FileType

    info = system.get_file_info(path)
    if info.type == FileType.File:
        return [path]
    folder, pattern = (path.rstrip("/"), "*.parquet") if info.type == FileType.Directory else _split(path)
    inside = system.get_file_info(FileSelector(folder or ".", allow_not_found=True))
    names = sorted(item.base_name for item in inside if item.type == FileType.File)
    return [f"{folder}/{name}" if folder else name for name in names if fnmatch.fnmatchcase(name, pattern)]


def _split(path: str) -> tuple[str, str]:
    folder, _, pattern = path.rpartition("/")
    return folder, pattern


def file_system(uri: str) -> tuple[Any, str]:
    """Return the file system of a name, local or like ``s3://``, and the path in it."""
    try:
        from pyarrow import ArrowException
        from pyarrow.fs import FileSystem, LocalFileSystem
    except ImportError:
        raise MissingExtraError("Parquet", "parquet") from None
    if "://" not in uri:
        return LocalFileSystem(), uri
    try:
        system, path = FileSystem.from_uri(uri)
    except (ArrowException, OSError, ValueError) as error:
        raise InputError(f"{uri} cannot be reached: {error}.") from None
    return system, path


def open_parquet(name: str) -> Any:
    """Return the Parquet file ``name``, of which only the footer is read."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    system, path = file_system(name)
    try:
        return ParquetFile(system.open_input_file(path), pre_buffer=False)
    except (ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{name} is not a complete Parquet file ({reason}).") from None


def _find_column(file: Any, name: str) -> str:
    head = next(file.iter_batches(batch_size=_SAMPLE_ROWS), None)
    if head is None:
        raise InputError(f"{name} has no rows.")
    return str(text_column(head.to_pydict()))


def check_column(file: Any, column: str, name: str) -> None:
    """Raise :class:`InputError` unless ``column`` of the file holds texts."""
    from pyarrow import types

    schema = file.schema_arrow
    if (index := schema.get_field_index(column)) < 0:
        raise InputError(f"{name} has no column {column!r}. Its columns are: {', '.join(schema.names[:20])}.")
    kind = schema.field(index).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if not (types.is_string(kind) or types.is_large_string(kind)):
        raise InputError(f"{name}: the column {column!r} holds {kind}, not texts.")


def begin(plan: Plan, out: str, *, force: bool) -> list[Part]:
    """Prepare the output folder, and return the parts that are not there yet."""
    if "://" not in out:
        _begin_local(plan, Path(out), force=force)
    else:
        _begin_remote(plan, out)
    return [part for part in plan.parts if not _is_done(part)]


def _is_done(part: Part) -> bool:
    """Whether a part is there; one that is not of this run raises :class:`InputError`."""
    if not _exists(part.target):
        return False
    file = open_parquet(part.target)
    if file.metadata.num_rows != part.n_rows or not any(name.startswith("cluster") for name in file.schema_arrow.names):
        raise InputError(f"{part.target} is not a part that this command wrote. Move it away, and run it again.")
    return True


def _begin_local(plan: Plan, folder: Path, *, force: bool) -> None:
    marker = folder / MARKER
    if marker.is_file() and _same(marker.read_text(encoding="utf-8"), plan):
        return
    if folder.exists() and any(folder.iterdir()):
        if not force:
            raise InputError(
                f"{folder} is not empty, and what is there is not of this model, these files and these settings. Name "
                "a new folder, or replace it with --force."
            )
        for path in folder.glob("part-*.parquet.unfinished"):  # of a killed run
            path.unlink()
        check_folder(folder, overwrite=True)
        for path in folder.iterdir():
            path.unlink()
    folder.mkdir(exist_ok=True)
    with atomic_file(marker) as temporary:
        temporary.write_text(json.dumps(plan.as_dict(), indent=1) + "\n", encoding="utf-8")


def _begin_remote(plan: Plan, out: str) -> None:
    """Store the plan, unless it is there; on other file systems nothing is ever replaced."""
    system, folder = file_system(out)
    system.create_dir(folder, recursive=True)
    marker = f"{folder.rstrip('/')}/{MARKER}"
    if not _exists(f"{out.rstrip('/')}/{MARKER}"):
        with system.open_output_stream(marker) as stream:
            stream.write(json.dumps(plan.as_dict()).encode())
        return
    with system.open_input_stream(marker) as stream:
        if not _same(stream.read().decode(), plan):
            raise InputError(f"{out} has the parts of another run. Name a new folder.")


def _same(text: str, plan: Plan) -> bool:
    try:
        return bool(json.loads(text) == json.loads(json.dumps(plan.as_dict())))
    except ValueError:
        return False


def _exists(name: str) -> bool:
    from pyarrow.fs import FileType

    system, path = file_system(name)
    return bool(system.get_file_info(path).type == FileType.File)


def summary(plan: Plan, n_rows: int, failed: dict[str, str], out: str) -> str:
    """Return the last sentence of a run."""
    lost = f" {count(len(failed), 'parts')} could not be read; the same command tries them again." if failed else ""
    return f"{count(n_rows, 'texts')} assigned, in {count(len(plan.parts) - len(failed), 'files')} in {out}.{lost}"
