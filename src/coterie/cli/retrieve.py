"""`coterie retrieve`: how well an encoder ranks similar questions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.cli import options
from coterie.cli.output import print_json, print_table, progress, say


class Part(StrEnum):
    """Which part of the questions is used."""

    dev = "dev"
    test = "test"


_MEANING = {
    "mrr": "mean reciprocal rank of the first similar question; 0 if it is not among the first ten",
    "map": "mean average precision over all similar questions",
    "n_questions": "questions that have a similar question among their candidates",
}


def retrieve(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="With text_tokenized.txt (or .gz), dev.txt and test.txt.")
    ],
    encoder: Annotated[str, typer.Option("--encoder", "-e", help="`coterie encoders` lists them.")] = "bundled",
    model: Annotated[
        Path | None, typer.Option("--model", help="A saved model whose vectors are used, instead of an encoder.")
    ] = None,
    part: Annotated[Part, typer.Option("--part", help="Which part of the questions is used.")] = Part.test,
    allow_encoder: options.AllowEncoder = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Rank the candidates of questions by cosine similarity: MRR and MAP on AskUbuntu or files in its format.

    The scores show how much meaning the vectors have kept after training. FOLDER
    has the files of AskUbuntu (github.com/taolei87/askubuntu), which are not part
    of coterie.
    """
    from coterie.datasets.askubuntu import read_askubuntu
    from coterie.evaluation.retrieval import rerank
    from coterie.wording import count

    questions = read_askubuntu(folder, part.value)
    say(count(len(questions), "questions"), quiet=quiet)
    with progress(quiet):
        scores = rerank(questions, _embedding(encoder, model, allow_encoder or ()))
    if as_json:
        print_json(scores)
    else:
        rows = [[name, f"{value:.4f}" if value < 1 else f"{value:g}", _MEANING[name]] for name, value in scores.items()]
        print_table(["metric", "value", "meaning"], rows, right=["value"])


def _embedding(encoder: str, model: Path | None, allow: Collection[str]) -> Callable[[Sequence[str]], Any]:
    """Return a function from N texts to their vectors (N, D)."""
    import numpy as np

    from coterie.artifact import load
    from coterie.encoders.encoder import make_encoder

    if model is not None:
        loaded = load(model, allow=allow)
        return lambda texts: np.nan_to_num(loaded.transform(texts))  # zeros for a blank text
    made = make_encoder(encoder)
    return lambda texts: made.fit(texts).embed(texts)
