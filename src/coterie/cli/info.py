"""`coterie info`: the content of a saved model."""

from __future__ import annotations

from typing import Any

from coterie.cli import options
from coterie.cli.cluster_view import print_clusters
from coterie.cli.output import print_json, print_table, print_topics


def info(model: options.Model, as_json: options.Json = False) -> None:
    """Show the settings, the hash of the training texts, the versions, the clusters and the topics of MODEL."""
    from coterie.artifact.config import fitting
    from coterie.artifact.model import Artifact

    artifact = Artifact.open(model)
    config = artifact.config
    clusters = artifact.clusters()
    notes = config.get("notes", {})
    if as_json:
        shown = {name: value for name, value in notes.items() if name != "words"}  # thousands of words
        print_json(config | {"notes": shown, "clusters": clusters.as_dicts()})
        return
    with fitting(model / "config.json"):
        rows = _rows(config)
    print_table(["", ""], rows.items())
    if clusters:
        print_clusters(clusters)
    if topics := notes.get("topics"):
        with fitting(model / "config.json"):
            print_topics(enumerate(topics))


def _rows(config: dict[str, Any]) -> dict[str, str]:
    """Return the first table: what the model is, and where it comes from."""
    from coterie.artifact.config import checked_merges
    from coterie.training.guard import Verdict
    from coterie.wording import count

    encoder, notes, n_texts = config["encoder"], config.get("notes", {}), config["texts"]["n"]
    settings = {name: value for name, value in config["params"].items() if name != "encoder"}
    rows = {
        "method": config["method"],
        "settings": _joined(settings),
        "encoder": f"{encoder['name']}, {encoder['dim']} dimensions, {_joined(encoder['params']) or 'no settings'}",
        "fitted to": f"{count(n_texts, encoder['input_type'])}, SHA-256 {config['texts']['sha256'][:16]}…",
        "versions": ", ".join(f"{name} {number}" for name, number in config["versions"].items()),
    }
    if guard := notes.get("guard"):
        rows["training"] = str(Verdict(**guard))
    if merged := checked_merges(config.get("merges", {}), config["params"]["n_clusters"], n_texts).groups:
        rows["merged"] = ", ".join(" + ".join(map(str, group)) for group in merged)
    return rows


def _joined(values: dict[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
