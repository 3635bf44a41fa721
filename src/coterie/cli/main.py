"""`coterie`: the list of commands. Nothing heavy is imported until a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

import coterie
from coterie.cli import adapt, assign, augment, bench, cluster, evaluate, info, listings, pairs, retrieve, topics
from coterie.cli.errors import guarded

app = typer.Typer(
    name="coterie",
    help="Turn a pile of short texts into clear groups, and keep a model that files new texts the same way.",
    epilog="Start here: coterie datasets helpdesk --out tickets.csv, "
    "then: coterie cluster tickets.csv -k 16 --out groups",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    cluster.cluster, assign.assign, info.info, topics.topics, evaluate.evaluate, augment.augment,
    adapt.adapt, pairs.pairs, retrieve.retrieve,
    listings.methods, listings.encoders, listings.augmenters, listings.datasets,
):  # fmt: skip
    app.command()(guarded(command))
app.add_typer(bench.app, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"coterie {coterie.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()
