"""`coterie assign --engine`: Parquet files of any size, in parts that are written as they are done."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.output import progress, say

if TYPE_CHECKING:
    from coterie.bulk.assigner import Assigner
    from coterie.cli.options import Progress


class Engine(StrEnum):
    """What runs the parts."""

    local = "local"
    ray = "ray"


class OnError(StrEnum):
    """What happens to a file that cannot be read."""

    stop = "stop"
    skip = "skip"


EngineOption = Annotated[
    Engine | None,
    typer.Option(
        "--engine",
        help="For Parquet files of any size: assign them in parts here (local) or by workers (ray). FILE may be a "
        "folder or a pattern, --out is a folder, and the same command resumes.",
        show_default="one table in memory",
    ),
]
OnErrorOption = Annotated[
    OnError, typer.Option("--on-error", help="With --engine: a damaged file stops the work, or is skipped.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="With --engine ray: workers, each with a model.", show_default="all CPUs"),
]


def assign_in_parts(
    engine: Engine,
    files: Sequence[str],
    out: Path | None,
    assigner: Assigner,
    *,
    on_error: OnError,
    workers: int | None,
    force: bool,
    quiet: bool,
    show_progress: Progress,
) -> None:
    """Assign the rows of Parquet files, and write them to the folder ``out``."""
    from coterie.bulk.engines import run_local, run_ray
    from coterie.bulk.plan import begin, make_plan, summary
    from coterie.cli.targets import reserve
    from coterie.errors import InputError

    if out is None:
        raise InputError("--engine writes a folder of Parquet files. Name it with --out.")
    if workers is not None and engine is not Engine.ray:
        raise InputError("--workers is for --engine ray.")
    folder, skip = _as_uri(out), on_error is OnError.skip
    plan = make_plan(
        files,
        folder,
        model=assigner.sha256(),
        column=assigner.column,
        min_confidence=assigner.min_confidence,
        skip=skip,
    )
    for reason in plan.skipped.values():
        say(f"Skipped: {reason}")
    assigner.column = plan.column
    if "://" not in folder:
        reserve(out)
    parts = begin(plan, folder, force=force)
    if len(parts) < len(plan.parts):
        say(
            f"{len(plan.parts) - len(parts)} of {len(plan.parts)} parts are there; going on with the next.", quiet=quiet
        )
    failed: dict[str, str] = {}
    try:
        with progress(quiet, show_progress):
            if parts and engine is Engine.ray:
                failed = run_ray(parts, assigner, skip=skip, n_workers=workers)
            elif parts:
                failed = run_local(parts, assigner, skip=skip)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Stopped. The finished parts are in {folder}: the same command resumes.") from None
    for reason in dict.fromkeys(failed.values()):
        say(f"Skipped: {reason}")
    say(summary(plan, sum(part.n_rows for part in parts if part.target not in failed), failed, folder), quiet=quiet)


def refuse(**options: Any) -> None:
    """Raise :class:`InputError` if one of the options that are for tables in memory is set."""
    from coterie.errors import InputError

    if used := [name for name, value in options.items() if value not in (None, False)]:
        raise InputError(f"--{used[0].replace('_', '-')} is for one table in memory: leave it out, or --engine.")


def _as_uri(out: Path) -> str:
    """Return a folder as text; a path has lost one slash of ``s3://``."""
    text = str(out)
    scheme, colon, rest = text.partition(":/")
    return f"{scheme}://{rest.lstrip('/')}" if colon and scheme.isalnum() and len(scheme) > 1 else text
