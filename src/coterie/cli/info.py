"""`coterie info`: what is in a saved model."""

from __future__ import annotations

from coterie.cli import options
from coterie.cli.tables import print_clusters, print_json, print_table, print_topics


def info(model: options.Model, as_json: options.Json = False) -> None:
    """Show the settings, the training texts' hash, the versions, the clusters and their topics of MODEL."""
    from coterie.artifact import read_clusters, read_config
    from coterie.training.guard import Verdict

    config, clusters = read_config(model), read_clusters(model)
    if as_json:
        notes = {name: value for name, value in config.get("notes", {}).items() if name != "words"}  # thousands
        print_json(config | {"notes": notes, "clusters": clusters})
        return
    encoder = config["encoder"]
    noun = encoder.get("reads", "texts")  # models from before there were images do not say
    settings = {name: value for name, value in config["params"].items() if name != "encoder"}
    rows = {
        "method": config["method"],
        "settings": _listed(settings),
        "encoder": f"{encoder['name']}, {encoder['dim']} numbers each, {_listed(encoder['params']) or 'no settings'}",
        "trained on": f"{config['texts']['n']:,} {noun}, SHA-256 {config['texts']['sha256'][:16]}…",
        "versions": ", ".join(f"{name} {number}" for name, number in config["versions"].items()),
    }
    if guard := config.get("notes", {}).get("guard"):
        rows["training"] = str(Verdict(**guard))
    print_table(["", ""], rows.items())
    if clusters:
        print_clusters(clusters, "images" if noun == "images" else "texts")
    if topics := config.get("notes", {}).get("topics"):
        print_topics(enumerate(topics))


def _listed(values: dict[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
