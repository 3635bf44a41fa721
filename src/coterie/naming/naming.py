"""Ask a language model for a title of every cluster, and keep keywords where there is no good one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from coterie.describe.cluster_table import ClusterTable
from coterie.errors import InputError, NamingError, NamingWarning, user_level
from coterie.naming.answers import Answers
from coterie.naming.http_model import HTTPModel
from coterie.naming.local_model import LocalModel
from coterie.naming.prompt import Messages, NamingPlan, Question
from coterie.naming.titles import Nearest, accepted_titles, clean_title, has_words_of
from coterie.progress import track
from coterie.wording import count

_MAX_FAILURES = 3  # clusters without an answer, one after the other, after which the rest is not asked


class LanguageModel(Protocol):
    """Completes chats. ``identity`` is what its answers depend on besides the chat.

    A local one is small: it sees keywords only, and its titles may have words of their clusters only.
    """

    @property
    def is_local(self) -> bool: ...  # noqa: D102

    @property
    def identity(self) -> str: ...  # noqa: D102

    def chat(self, question: Question) -> Messages: ...  # noqa: D102

    def complete(self, messages: Messages) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Naming:
    """What a language model named: titles that became names, and why the others did not."""

    source: str
    names: dict[int, str]
    refused: dict[int, str] = field(default_factory=dict)  # keywords stand
    n_calls: int = 0  # the other answers were in the cache

    def __str__(self) -> str:
        total = len(self.names) + len(self.refused)
        kept = f"; keywords name the other {len(self.refused)}" if self.refused else ""
        return f"{len(self.names)} of {count(total, 'clusters')} named by {self.source} ({self.n_calls} calls){kept}."


def language_model(address: str, model: str | None = None) -> LanguageModel:
    """Return the language model at an address (``http://localhost:8080/v1``), or the ``local`` one."""
    if address == "local":
        if model:
            raise InputError("--name-with local has one language model: leave --model out.")
        return LocalModel()
    if not model:
        raise InputError(f"Which language model at {address}? Name it: --model NAME")
    return HTTPModel(address, model)


def ask_names(plan: NamingPlan, table: ClusterTable, model: LanguageModel, nearest: Nearest) -> Naming:
    """Return the names by ``model`` for the clusters of ``plan``.

    Answers are cached. After several failures in a row the rest is not asked, with a warning.
    """
    answers, missing, n_calls = _answers(plan, model)
    titles = {cluster: clean_title(answer) for cluster, answer in answers.items()}
    invented = _invented(plan, titles) if model.is_local else {}
    told = {cluster: title for cluster, title in titles.items() if cluster not in invented}
    names, refused = accepted_titles(told, table.names, nearest)
    return Naming(model.identity, names, refused | invented | missing, n_calls)


def _invented(plan: NamingPlan, titles: Mapping[int, str]) -> dict[int, str]:
    """Return why titles with words that their clusters do not have are refused, by cluster."""
    asked = {question.cluster: " ".join([*question.keywords, *question.texts]) for question in plan.questions}
    return {
        cluster: f"{title!r} has words that the cluster does not have"
        for cluster, title in titles.items()
        if not has_words_of(asked[cluster], title)
    }


def _answers(plan: NamingPlan, model: LanguageModel) -> tuple[dict[int, str], dict[int, str], int]:
    """Return the answers, the reasons of missing ones, by cluster, and the number of calls."""
    kept = Answers(model.identity)
    answers: dict[int, str] = {}
    missing: dict[int, str] = {}
    n_calls = n_failures = 0
    with track("names", plan.n_calls) as advance:
        for question in plan.questions:
            chat = model.chat(question)
            answer = kept.get(chat)
            if answer is None and n_failures < _MAX_FAILURES:
                n_calls += 1
                try:
                    answer = model.complete(chat)
                    kept.put(chat, answer)
                    n_failures = 0
                except NamingError as error:
                    n_failures = _MAX_FAILURES if error.is_final else n_failures + 1
                    missing[question.cluster] = str(error)
            if answer is not None:
                answers[question.cluster] = answer
            else:
                missing.setdefault(question.cluster, "not asked, after failures")
            advance(1)
    _warn(missing)
    return answers, missing, n_calls


def _warn(missing: Mapping[int, str]) -> None:
    if missing:
        first = next(iter(missing.values()))
        warnings.warn(
            f"{count(len(missing), 'clusters')} could not be named by the language model: {first}. "
            "Keywords name them; the same command asks again.",
            NamingWarning,
            stacklevel=user_level(),
        )
