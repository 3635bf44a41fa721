"""`coterie augment`: write augmented views of texts to a file, for the augmenter `columns`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli import options
from coterie.cli.input import read_input
from coterie.cli.output import progress, say
from coterie.cli.targets import reserve_file

if TYPE_CHECKING:
    from coterie.data.texts import Texts


def augment(
    file: options.File,
    spec: Annotated[
        str, typer.Option("--augment", "-a", help="e.g. eda:0.2 or chain(eda:0.1,chars:0.1); see `coterie augmenters`.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
    n_views: Annotated[int, typer.Option("--views", min=1, help="Number of views of each text.")] = 2,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all random numbers.")] = 0,
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    force: options.Force = False,
    show_progress: options.ShowProgress = options.Progress.auto,
    quiet: options.Quiet = False,
) -> None:
    """Write FILE with augmented views of its texts in the columns text1, text2, ...

    `coterie cluster OUT --method sccl --augment columns` then trains on them.
    """
    from coterie.augmenters.augmenter import make_augmenter, n_unchanged
    from coterie.data.files import convert_for, write_table
    from coterie.data.texts import check_texts
    from coterie.errors import InputError
    from coterie.wording import count

    reserve_file(out, force=force)
    augmenter = make_augmenter(spec)
    given = read_input(file, column, file_format, encoding, delimiter)
    names = [f"text{number}" for number in range(1, n_views + 1)]
    if existing := [name for name in names if name in given.table.columns]:
        raise InputError(f"{file} already has a column {existing[0]!r}, the name of a view. Rename it first.")
    target = convert_for(given.table, out)
    texts = check_texts(given.items)
    with progress(quiet, show_progress):
        views = augmenter.views(texts.unique, n_views, seed=seed)
    columns = {name: _expand(texts, list(view)) for name, view in zip(names, views, strict=True)}
    write_table(target.with_columns(**columns), out)
    unchanged = sum(n_unchanged(texts.unique, view) for view in views)
    total = n_views * len(texts.unique)
    done = f"{count(total, 'views')} of {count(len(texts.unique), 'texts')} written to {out}"
    say(f"{done}; unchanged: {unchanged:,}.", quiet=quiet)
    augmenter_name = "columns" if n_views == 2 else f"columns:{','.join(names)}"
    say(f"To train on them: coterie cluster {out} --method sccl --augment {augmenter_name} -k K", quiet=quiet)


def _expand(texts: Texts, view: list[str]) -> list[str]:
    """Return the view of the text of each row; empty for blank rows."""
    return [view[position] if position >= 0 else "" for position in texts.inverse.tolist()]
