"""`coterie adapt`: teach an encoder the words of your texts, before anything is grouped."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from coterie.cli import options
from coterie.cli.reading import read_input
from coterie.cli.tables import progress, say


def adapt(
    file: options.File,
    out: Annotated[Path, typer.Option("--out", "-o", help="A new folder for the encoder.")],
    encoder: Annotated[str, typer.Option("--encoder", "-e", help="What is adapted: bundled, or transformer:MODEL.")] = (
        "bundled"
    ),
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    seed: Annotated[int, typer.Option("--seed", help="Decides every random choice.")] = 0,
    settings: options.Settings = None,
    augment: Annotated[
        str | None, typer.Option("--augment", "-a", help="The noise [default: delete, of 60 % of the words].")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", help="Keeps a running training [default: OUT.checkpoint].")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the folder if it is there.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Adapt an encoder to the texts of FILE by denoising them (TSDAE).

    Words are deleted, and the encoder must keep enough of a text in its vector
    for a decoder to tell the whole of it. No labels and no number of clusters
    are needed. OUT is read by `--encoder transformer:OUT` here, and by
    SentenceTransformer("OUT") elsewhere, with equal vectors. --set takes the
    settings of the method `tsdae`.
    """
    from coterie.artifact import check_encoder_folder, save_encoder
    from coterie.cli.cluster import check_target
    from coterie.cli.training import given_views, training_settings
    from coterie.encoders.encoder import make_encoder
    from coterie.encoders.trainable import TransformerNetwork
    from coterie.encoders.transformer import Transformer
    from coterie.errors import InputError
    from coterie.methods.tsdae import TSDAE

    check_target(out, overwrite)
    check_encoder_folder(out)
    if not isinstance(make_encoder(encoder), Transformer):
        raise InputError(f"--encoder {encoder}: only a transformer can be adapted; use bundled or transformer:MODEL.")
    asked = options.parse_settings(settings, TSDAE, owner="the method 'tsdae'")
    if taken := [name for name in ("guard", "init") if name in asked]:
        raise InputError(f"--set {taken[0]}: this is about clusters, and there are none here.")
    given = read_input(file, column, file_format, encoding, delimiter)
    training = training_settings(TSDAE, augment=augment, checkpoint=checkpoint, log_dir=None, out=out)
    model = TSDAE(  # one cluster: nothing is grouped
        n_clusters=1, init="kmeans", guard="off", encoder=encoder, random_state=seed, **training, **asked
    )
    say(f"{given.table.n_rows:,} texts from column {given.column!r}", quiet=quiet)
    start = time.perf_counter()
    with progress(quiet):
        model.fit(given.items, **given_views(model, given))
    network = model.objective_.encoder
    assert isinstance(network, TransformerNetwork)
    save_encoder(network, out)
    costs = [record["reconstruction"] for record in model.history_]
    fell = f"a token costs {costs[-1]:.2f} nats, {costs[0]:.2f} in the first epoch; " if costs else ""
    say(f"Adapted: {fell}{time.perf_counter() - start:.0f} s.", quiet=quiet)
    say(f"Written to {out}. To use it: coterie cluster {file} -k K --encoder transformer:{out}", quiet=quiet)
