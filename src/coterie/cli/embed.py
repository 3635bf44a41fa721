"""`coterie embed`: write the embeddings of texts to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie.cli import options
from coterie.cli.input import read_input
from coterie.cli.output import progress, say
from coterie.cli.targets import reserve_file


def embed(
    file: options.File,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write, e.g. vectors.npy.")],
    encoder: Annotated[str, typer.Option("--encoder", "-e", help="`coterie encoders` lists them.")] = "bundled",
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the embeddings of the texts of FILE as an array of NumPy, one row for each text.

    The rows of blank texts are NaN. `coterie cluster FILE --vectors OUT`
    clusters the vectors; other programs read them with numpy.load.
    """
    import numpy as np

    from coterie.data.atomic import atomic_file
    from coterie.encoders.encoder import input_type_of, make_encoder
    from coterie.errors import InputError
    from coterie.wording import count

    if input_type_of(encoder) != "texts":
        raise InputError(f"The encoder {encoder!r} takes {input_type_of(encoder)}, not texts.")
    if out.suffix != ".npy":
        raise InputError(f"--out {out}: write embeddings to a file that ends in .npy.")
    reserve_file(out, force=force)
    made = make_encoder(encoder)
    rows = made.check(read_input(file, column, file_format, encoding, delimiter).items)
    with progress(quiet):
        h = made.fit(rows.unique).embed_corpus(rows.unique)
    with atomic_file(out) as temporary, temporary.open("wb") as stream:
        np.save(stream, rows.expand(h, np.nan).astype(np.float32, copy=False))
    blank = f", {rows.n_blank:,} of them blank" if rows.n_blank else ""
    say(f"{count(rows.n_rows, 'texts')}{blank}, {h.shape[1]} numbers each: {out}", quiet=quiet)
