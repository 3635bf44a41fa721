"""`coterie cache`: what coterie keeps in the user's cache folder, and how to clear it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.output import print_json, print_table, say


def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove embeddings, views and names; they are made again when needed.")
    ] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show what is in the cache, or remove what can be computed again.

    Embeddings of a file are kept, so that `coterie cluster` with another
    number of clusters does not encode it again. The environment variable
    COTERIE_CACHE names another folder, COTERIE_CACHE_MB the largest size of
    the embeddings (2048; 0: keep none).
    """
    from coterie.data.user_cache import KINDS, cached_files, clear_results, user_cache

    if clear:
        freed = sum(clear_results(kind) for kind in ("embeddings", "augmenters", "names"))
        say(f"{freed / 2**20:,.1f} MB removed.", quiet=quiet)
    rows: list[dict[str, Any]] = []
    for kind, meaning in KINDS.items():
        files = cached_files(kind)
        size = sum(path.stat().st_size for path in files)
        rows.append({"kind": kind, "files": len(files), "bytes": size, "meaning": meaning})
    if as_json:
        print_json({"folder": str(user_cache("")), "kinds": rows})
        return
    table = [
        (str(row["kind"]), f"{row['files']:,}", f"{row['bytes'] / 2**20:,.1f}", str(row["meaning"])) for row in rows
    ]
    print_table(("kind", "files", "MB", "meaning"), table, right=("files", "MB"))
    say(f"The folder is {user_cache('')}. `coterie cache --clear` removes embeddings, views and names.", quiet=quiet)
