"""Run the parts of a plan: one after the other here, or by workers of Ray."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from coterie.bulk.assigner import Assigner
from coterie.bulk.plan import Part, file_system, open_parquet
from coterie.errors import InputError, MissingExtraError
from coterie.progress import track

BATCH_ROWS = 8_192  # rows in memory at a time
Failures = dict[str, str]
"""Parts that could not be read, by their targets, and why."""


def run_local(parts: Sequence[Part], assigner: Assigner, *, skip: bool) -> Failures:
    """Assign the parts in this process."""
    failed: Failures = {}
    assigner.load()
    with track("Assigning", sum(part.n_rows for part in parts)) as advance:
        for part in parts:
            try:
                for n_rows in write_part(part, assigner):
                    advance(n_rows)
            except InputError as error:
                if not skip:
                    raise
                failed[part.target] = str(error)
    return failed


def run_ray(parts: Sequence[Part], assigner: Assigner, *, skip: bool, n_workers: int | None = None) -> Failures:
    """Assign the parts by ``n_workers`` actors of Ray, each with a model of its own; a killed one is replaced."""
    ray = _ray(n_workers)
    n_workers = n_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    items = [asdict(part) for part in parts]
    actors = ray.data.ActorPoolStrategy(size=min(n_workers, len(items)))
    rows = ray.data.from_items(items, override_num_blocks=len(items)).map(
        PartWorker, fn_constructor_args=(assigner,), compute=actors, num_cpus=1
    )
    failed: Failures = {}
    with track("Assigning", sum(part.n_rows for part in parts)) as advance:
        for row in rows.iter_rows():
            advance(row["n_rows"])
            if row["error"] and not skip:
                raise InputError(row["error"])
            if row["error"]:
                failed[row["target"]] = row["error"]
    return failed


class PartWorker:
    """An actor: loads the model once, and writes one part after the other."""

    def __init__(self, assigner: Assigner) -> None:
        self.assigner = assigner.load()

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Write the part of a row, and return what happened."""
        part = Part(**row)
        try:
            n_rows, error = sum(write_part(part, self.assigner)), ""
        except InputError as reason:
            n_rows, error = 0, str(reason)
        return {"target": part.target, "n_rows": n_rows, "error": error}


def write_part(part: Part, assigner: Assigner) -> Iterator[int]:
    """Assign the rows of a part, some at a time, and write them under their name at the end; yield rows done."""
    from pyarrow.parquet import ParquetWriter

    system, target = file_system(part.target)
    temporary = f"{target}.unfinished"
    writer, n_rows = None, 0
    try:
        for batch in _batches(part):
            table = assigner(batch)
            writer = writer or ParquetWriter(temporary, table.schema, filesystem=system)
            writer.write_table(table)
            n_rows += table.num_rows
            yield table.num_rows
        if writer is None or n_rows != part.n_rows:
            raise InputError(f"{part.source} is damaged: it has fewer rows than it says.")
        writer.close()
        system.move(temporary, target)
    except BaseException:
        if writer is not None:
            writer.close()
            system.delete_file(temporary)
        raise


def _batches(part: Part) -> Iterator[Any]:
    """Yield the rows of a part as Arrow tables, from the row groups that hold them."""
    import pyarrow

    file = open_parquet(part.source)
    groups, first = _row_groups(file, part)
    done = first
    try:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, row_groups=groups):
            begin, end = max(part.start - done, 0), min(part.stop - done, batch.num_rows)
            done += batch.num_rows
            if end > begin:
                yield pyarrow.Table.from_batches([batch.slice(begin, end - begin)])
            if done >= part.stop:
                break
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{part.source} is damaged near row {done:,} ({reason}).") from None


def _row_groups(file: Any, part: Part) -> tuple[list[int], int]:
    """Return the row groups that hold the rows of a part, and the number of rows before the first of them."""
    groups: list[int] = []
    before = first = 0
    for i in range(file.num_row_groups):
        n_rows = file.metadata.row_group(i).num_rows
        if before < part.stop and before + n_rows > part.start:
            first = first if groups else before
            groups.append(i)
        before += n_rows
    return groups, first


def _ray(n_workers: int | None) -> Any:
    """Return Ray, connected to the cluster of RAY_ADDRESS, or to one of its own on this machine."""
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtraError("--engine ray", "ray", or_else="use --engine local") from None
    if not ray.is_initialized():
        here = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": n_workers, "include_dashboard": False}
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **here)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray
