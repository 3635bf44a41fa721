"""`coterie retrieve`: how well an encoder finds questions that ask the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.tables import print_json, print_table, progress, say


class Part(StrEnum):
    """Which questions are asked."""

    dev = "dev"
    test = "test"


_MEANING = {
    "mrr": "mean of 1 / the rank of the first similar question, 0 where it is not among the first ten",
    "map": "mean precision at the ranks of all similar questions",
    "n_questions": "questions that have a similar one",
}


def retrieve(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="With text_tokenized.txt (or .gz), dev.txt and test.txt.")
    ],
    encoder: Annotated[str, typer.Option("--encoder", "-e", help="`coterie encoders` lists them.")] = "bundled",
    model: Annotated[
        Path | None, typer.Option("--model", help="A saved model whose vectors are used, instead of an encoder.")
    ] = None,
    part: Annotated[Part, typer.Option("--part", help="Which questions are asked.")] = Part.test,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Rank the candidates of questions by cosine: MRR and MAP on AskUbuntu, or files like it.

    It tells how much meaning training has left in the vectors. FOLDER is
    AskUbuntu's (github.com/taolei87/askubuntu), which is not part of coterie.
    """
    from coterie.data.askubuntu import read_askubuntu
    from coterie.evaluation.retrieval import rerank

    questions = read_askubuntu(folder, part.value)
    say(f"{len(questions):,} questions", quiet=quiet)
    with progress(quiet):
        scores = rerank(questions, _embed_with(encoder, model))
    if as_json:
        print_json(scores)
    else:
        rows = [[name, f"{value:.4f}" if value < 1 else f"{value:g}", _MEANING[name]] for name, value in scores.items()]
        print_table(["metric", "value", "meaning"], rows, right=["value"])


def _embed_with(encoder: str, model: Path | None) -> Callable[[Sequence[str]], Any]:
    """Return what turns texts into vectors."""
    import numpy as np

    from coterie.artifact import load
    from coterie.encoders.encoder import make_encoder

    if model is not None:
        loaded = load(model)
        return lambda texts: np.nan_to_num(loaded.transform(texts))  # a blank text is like no other
    made = make_encoder(encoder)
    return lambda texts: made.fit(texts).embed(texts)
