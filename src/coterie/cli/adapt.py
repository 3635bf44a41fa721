"""`coterie adapt`: adapt an encoder to a set of texts, without clustering them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from coterie.cli import options
from coterie.cli.input import read_input
from coterie.cli.output import progress, say
from coterie.cli.targets import reserve_folder


def adapt(
    file: options.File,
    out: Annotated[Path, typer.Option("--out", "-o", help="A new folder for the encoder.")],
    encoder: Annotated[
        str, typer.Option("--encoder", "-e", help="The encoder to adapt: bundled, or transformer:MODEL.")
    ] = "bundled",
    column: options.Column = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    seed: options.Seed = 0,
    settings: options.Settings = None,
    augment: Annotated[
        str | None, typer.Option("--augment", "-a", help="The noise.", show_default="delete 60 % of the words")
    ] = None,
    checkpoint: options.Checkpoint = None,
    force: options.Force = False,
    overwrite: options.Overwrite = False,
    show_progress: options.ShowProgress = options.Progress.auto,
    quiet: options.Quiet = False,
) -> None:
    """Adapt an encoder to the texts of FILE with a denoising auto-encoder (TSDAE).

    Words are deleted from each text, and a decoder must reconstruct the whole
    text from its vector. No labels and no number of clusters are needed. OUT is
    read by `--encoder transformer:OUT` in coterie and by
    SentenceTransformer("OUT"), with equal vectors. --set takes the settings of
    the method `tsdae`.
    """
    from coterie.artifact.encoder_folder import save_encoder
    from coterie.cli.training_options import kept_checkpoint, training_settings, view_columns
    from coterie.encoders.encoder import make_encoder
    from coterie.encoders.engine.network import TransformerNetwork
    from coterie.encoders.engine.transformer import Transformer
    from coterie.errors import InputError
    from coterie.methods.tsdae import TSDAE
    from coterie.wording import count

    reserve_folder(out, force=force or overwrite)
    if not isinstance(make_encoder(encoder), Transformer):
        raise InputError(f"--encoder {encoder}: only a transformer can be adapted; use bundled or transformer:MODEL.")
    values = options.parse_settings(settings, TSDAE, owner="method 'tsdae'")
    if unused := [name for name in ("guard", "init") if name in values]:
        raise InputError(f"--set {unused[0]}: this setting is about clusters, and `coterie adapt` makes none.")
    given = read_input(file, column, file_format, encoding, delimiter)
    training = training_settings(TSDAE, augment=augment, checkpoint=checkpoint, log_dir=None, out=out)
    model = TSDAE(  # one cluster, because nothing is clustered
        n_clusters=1, init="kmeans", guard="off", encoder=encoder, random_state=seed, **training, **values
    )
    say(f"{count(given.table.n_rows, 'texts')} from {given.source}", quiet=quiet)
    start = time.perf_counter()
    with progress(quiet, show_progress):
        model.fit(given.items, **view_columns(model, given))
    network = model.objective_.network
    assert isinstance(network, TransformerNetwork)
    with kept_checkpoint(model):
        save_encoder(network, out, overwrite=force or overwrite)
    model.remove_checkpoint()
    losses = [record["reconstruction"] for record in model.history_]
    change = f"loss per token {losses[-1]:.2f} nats ({losses[0]:.2f} in the first epoch), " if losses else ""
    say(f"Adapted: {change}{time.perf_counter() - start:.0f} s.", quiet=quiet)
    say(f"Written to {out}. To use it: coterie cluster {file} -k K --encoder transformer:{out}", quiet=quiet)
