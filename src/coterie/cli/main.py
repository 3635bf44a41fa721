"""`coterie`: the list of commands. Large packages are imported only when a command runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import coterie
from coterie.cli import (
    adapt,
    assign,
    augment,
    bench,
    cache,
    cluster,
    compare,
    edit,
    embed,
    evaluate,
    info,
    listings,
    options,
    pairs,
    report,
    retrieve,
    topics,
    tree,
)
from coterie.cli.errors import Commands, check_streams, handle_errors

app = typer.Typer(
    name="coterie",
    cls=Commands,
    help="Cluster short texts or images, and save a model that assigns new ones to the same clusters.",
    epilog="Start here: coterie datasets helpdesk --out tickets.csv, then: coterie cluster tickets.csv -k 16",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=options.HELP_NAMES,
)
_COMMANDS: dict[str, list[Callable[..., None]]] = {
    "Clusters": [
        cluster.cluster,
        assign.assign,
        info.info,
        report.report,
        edit.edit,
        compare.compare,
        topics.topics,
        tree.tree,
        evaluate.evaluate,
    ],
    "Encoders": [embed.embed, adapt.adapt, augment.augment, pairs.pairs, retrieve.retrieve],
    "What there is": [listings.methods, listings.encoders, listings.augmenters, listings.datasets, cache.cache],
}
for group, commands in _COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=group)(handle_errors(command))
app.add_typer(bench.app, name="bench", rich_help_panel="Experiments")


def _version(show: bool) -> None:
    if show:
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
    check_streams()
    app()
