"""`coterie cluster`: cluster a file of texts or a folder of images."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.cli import naming, options
from coterie.cli.assign import say_set_aside
from coterie.cli.input import Input, read_folder, read_input
from coterie.cli.output import is_worker, progress, say
from coterie.cli.report import make_page
from coterie.cli.result_folder import described, result_tables, say_written, show_clusters, write_results
from coterie.cli.targets import reserve_default_folder, reserve_folder
from coterie.cli.training_options import chosen_method, training_settings, view_columns

if TYPE_CHECKING:
    from coterie.clusterer import Clusterer


def cluster(
    files: options.Files,
    out: options.ResultFolder = None,
    no_save: options.NoSave = False,
    n_clusters: options.NClusters = "auto",
    method: options.Method = None,
    train: options.Train = False,
    time_budget: options.TimeBudget = None,
    encoder: options.EncoderName = None,
    items: options.Items = options.InputType.texts,
    column: options.Column = None,
    text_columns: options.TextColumns = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    sheet: options.Sheet = None,
    vectors: options.Vectors = None,
    on_empty: options.BlankTexts = options.OnEmpty.keep,
    min_confidence: options.MinConfidence = None,
    name_with: naming.NameWith = None,
    language_model: naming.ModelName = None,
    dry_run: naming.DryRun = False,
    seed: options.Seed = 0,
    settings: options.Settings = None,
    augment: options.AugmenterName = None,
    checkpoint: options.Checkpoint = None,
    log_dir: options.LogDir = None,
    no_report: options.NoReport = False,
    no_texts: options.NoTexts = False,
    raw: options.Raw = False,
    force: options.Force = False,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    show_progress: options.ShowProgress = options.Progress.auto,
    quiet: options.Quiet = False,
) -> None:
    """Cluster the texts of FILE, or with --items images the images of a folder.

    The clusters are shown, and a folder is written. It has your table with the
    columns cluster, cluster_name, confidence, second_cluster and margin, the
    clusters as a table (clusters.csv), a page with a map (report.html), and the
    model for `coterie assign`.

    A training that is interrupted goes on when the same command is run again.
    """
    from coterie.clusterer import METHODS
    from coterie.clustering.n_clusters import n_clusters_range

    cls = METHODS[method := chosen_method(method, train=train)]
    chosen = naming.chosen_language_model(name_with, language_model, items, dry_run=dry_run)
    n_clusters_range(n_clusters)  # before the file is read
    force = force or overwrite
    out = _target(out, files, no_save=no_save, force=force)
    given = _read(
        files, items, column=column, text_columns=text_columns, file_format=file_format, encoding=encoding,
        delimiter=delimiter, header=header, sheet=sheet, vectors=vectors,
    )  # fmt: skip
    model = cls(
        n_clusters=int(n_clusters) if n_clusters.isdecimal() else n_clusters,
        encoder=_encoder(encoder, items, vectors),
        min_confidence=min_confidence or 0.0,
        on_empty=on_empty.value,
        random_state=seed,
        **training_settings(
            cls, augment=augment, checkpoint=checkpoint, log_dir=log_dir, time_budget=time_budget, out=out
        ),
        **options.parse_settings(settings, cls, owner=f"method {method!r}"),
    )
    _say_begin(given, out, quiet=quiet, dry_run=dry_run)
    start = time.perf_counter()
    with progress(quiet, show_progress):
        model.fit(given.items, **view_columns(model, given))
    if is_worker():
        return None
    table = described(model, given)
    if chosen is not None and dry_run:
        return naming.show_plan(model, given, chosen, as_json=as_json, quiet=quiet)
    if chosen is not None:
        table = naming.name_clusters(model, given, chosen, quiet=quiet)
    if out is not None:
        with progress(quiet, show_progress):
            page = None if no_report else make_page(model, given, table, with_texts=not no_texts)
        tables = result_tables(given, model, table, raw=raw)
        write_results(out, model, tables, table, page, overwrite=force)
    show_clusters(table, as_json=as_json)
    say_set_aside(model.assignment_, model.min_confidence, given.noun, quiet=quiet)
    _say_model(model, time.perf_counter() - start, quiet=quiet)
    if out is not None:
        say_written(out, model, given.noun, has_page=page is not None, quiet=quiet)


def _target(out: Path | None, files: list[str], *, no_save: bool, force: bool) -> Path | None:
    """Return the folder to write, locked; None if nothing is to be saved."""
    from coterie.errors import InputError

    if no_save and out is not None:
        raise InputError("--no-save writes nothing, but --out names a folder: use one of the two.")
    if no_save:
        return None
    if out is None:
        return reserve_default_folder(files[0], force=force)
    reserve_folder(out, force=force)
    return out


def _read(files: list[str], items: options.InputType, **how: Any) -> Input:
    """Read the texts of files, or the images of a folder."""
    if items is options.InputType.images:
        return read_folder(
            files,
            column=how["column"],
            text_columns=how["text_columns"],
            format=how["file_format"],
            delimiter=how["delimiter"],
            vectors=how["vectors"],
        )
    return read_input(files, **how)


def _say_begin(given: Input, out: Path | None, *, quiet: bool, dry_run: bool) -> None:
    """Say what is read, and where the results go."""
    from coterie.wording import count

    say(f"{count(given.table.n_rows, given.noun)} from {given.source}", quiet=quiet)
    say(f"The results go to the folder {out}." if out else "Nothing is saved (--no-save).", quiet=quiet or dry_run)


def _say_model(model: Clusterer, seconds: float, *, quiet: bool) -> None:
    """Say what the guard kept, which numbers of clusters are good, and how long it took."""
    from coterie.wording import count

    if hasattr(model, "guard_"):
        say(str(model.guard_), quiet=quiet)
    elif model.name == "neighbors":
        say("The encoder was not trained. With --train it learns from your texts for some minutes first.", quiet=quiet)
    say(f"{count(model.n_clusters_, 'clusters')} in {seconds:.0f} s.", quiet=quiet)
    if model.n_clusters_curve_:
        say("Their number was chosen from the texts. To choose it yourself: -k NUMBER. These are good:", quiet=quiet)
        for sentence in model.n_clusters_curve_.sentences:
            say(f"  {sentence}", quiet=quiet)


def _encoder(encoder: str | None, items: options.InputType, vectors: Path | None) -> str:
    """Return the encoder for the input; raise an error if ``encoder`` takes another input."""
    from coterie.encoders.encoder import input_type_of
    from coterie.errors import InputError

    if vectors is not None:
        return "precomputed"
    encoder = encoder or {"texts": "bundled", "images": "image"}[items.value]
    if encoder == "precomputed":
        raise InputError("The encoder 'precomputed' needs your vectors: name them with --vectors FILE.npy")
    if input_type_of(encoder) != items.value:
        raise InputError(f"The encoder {encoder!r} takes {input_type_of(encoder)}, not {items.value}: see --items.")
    return encoder
