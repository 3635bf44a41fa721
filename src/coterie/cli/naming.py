"""`coterie cluster --name-with`: names by a language model, and what would be sent to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli.output import print_json, print_table, progress, say

if TYPE_CHECKING:
    from coterie.cli.input import Input
    from coterie.cli.options import InputType
    from coterie.clusterer import Clusterer
    from coterie.describe.cluster_table import ClusterTable
    from coterie.naming.naming import LanguageModel

NameWith = Annotated[
    str | None,
    typer.Option(
        "--name-with",
        metavar="URL",
        help="Name the clusters by the language model at an OpenAI-compatible address; local: on this machine.",
        show_default="by keywords",
    ),
]
ModelName = Annotated[str | None, typer.Option("--model", help="The language model of --name-with.")]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Show which texts --name-with would send. Nothing is sent, and nothing is written."),
]


def chosen_language_model(
    name_with: str | None, model: str | None, items: InputType, *, dry_run: bool
) -> LanguageModel | None:
    """Return the language model that the options name, or None; raise an error before the work if it is unusable."""
    from coterie.errors import InputError

    if name_with is None:
        if model is not None or dry_run:
            raise InputError(f"{'--dry-run' if dry_run else '--model'} belongs to --name-with URL.")
        return None
    if items.value != "texts":
        raise InputError("--name-with names clusters of texts, not of images.")
    from coterie.naming.naming import language_model

    return language_model(name_with, model)


def name_clusters(model: Clusterer, given: Input, chosen: LanguageModel, *, quiet: bool) -> ClusterTable:
    """Name the clusters of a fitted model by a language model, say how many it named, and return their table."""
    with progress(quiet):
        named = model.name_clusters(chosen, items=given.texts)
    say(str(named), quiet=quiet)
    return model.describe()


def show_plan(model: Clusterer, given: Input, chosen: LanguageModel, *, as_json: bool, quiet: bool) -> None:
    """Show how many calls there would be, and the texts that would be sent."""
    from coterie.wording import count

    plan = model.naming_plan(given.texts)
    if as_json:
        sent = {} if chosen.is_local else plan.texts  # a local model reads keywords only
        texts = [{"cluster": cluster, "texts": texts} for cluster, texts in sent.items()]
        print_json({"to": chosen.identity, "calls": plan.n_calls, "clusters": texts})
    elif not chosen.is_local:
        rows = [(str(cluster), text) for cluster, texts in plan.texts.items() for text in texts]
        print_table(("cluster", "text"), rows, right=("cluster",))
    calls = count(plan.n_calls, "calls")
    if chosen.is_local:
        say(f"{calls} to {chosen.identity}, on this machine, would read keywords only.", quiet=quiet)
    else:
        say(f"{calls} to {chosen.identity} would send these {plan.n_texts:,} texts, and keywords.", quiet=quiet)
    say("Nothing was sent, and nothing is saved.", quiet=quiet)
