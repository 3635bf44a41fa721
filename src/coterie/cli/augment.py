"""`coterie augment`: write views of texts to a file, which the augmenter `given` reads back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli import options
from coterie.cli.reading import read_input
from coterie.cli.tables import progress, say

if TYPE_CHECKING:
    from coterie.data.texts import Texts


def augment(
    file: options.File,
    spec: Annotated[
        str, typer.Option("--augment", "-a", help="e.g. eda:0.2 or chain(eda:0.1,chars:0.1); see `coterie augmenters`.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
    n_views: Annotated[int, typer.Option("--views", min=1, help="How many views of each text.")] = 2,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides every random choice.")] = 0,
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    quiet: options.Quiet = False,
) -> None:
    """Write FILE with views of its texts in the columns text1, text2, ...

    `coterie cluster OUT --method sccl --augment given` then trains on them.
    """
    from coterie.augmenters.augmenter import make_augmenter, n_unchanged
    from coterie.data.files import named_for, write_table
    from coterie.data.texts import check_texts
    from coterie.errors import InputError

    augmenter = make_augmenter(spec)
    given = read_input(file, column, file_format, encoding, delimiter)
    names = [f"text{number}" for number in range(1, n_views + 1)]
    if taken := [name for name in names if name in given.table.columns]:
        raise InputError(f"{file} already has a column {taken[0]!r}, where a view would go. Rename it first.")
    target = named_for(given.table, out)
    texts = check_texts(given.items)
    with progress(quiet):
        views = augmenter.views(texts.unique, n_views, seed=seed)
    columns = {name: _rows(texts, list(view)) for name, view in zip(names, views, strict=True)}
    write_table(target.with_columns(**columns), out)
    same = sum(n_unchanged(texts.unique, view) for view in views)
    total = n_views * len(texts.unique)
    say(f"{total:,} views of {len(texts.unique):,} texts written to {out}; {same:,} are the text itself.", quiet=quiet)
    called = "given" if n_views == 2 else f"given:{','.join(names)}"
    say(f"To train on them: coterie cluster {out} --method sccl --augment {called} -k K", quiet=quiet)


def _rows(texts: Texts, view: list[str]) -> list[str]:
    """Return the view of each row's text; blank rows have a blank one."""
    return [view[position] if position >= 0 else "" for position in texts.inverse.tolist()]
