"""A language model at an OpenAI-compatible address (`POST .../chat/completions`)."""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from coterie.errors import InputError, NamingError
from coterie.naming.prompt import Messages, Question

KEY_VARIABLE = "COTERIE_NAMES_KEY"
_TIMEOUT = 60.0  # seconds for a whole answer
_MAX_BYTES = 1_000_000  # of an answer
_MAX_CHARACTERS = 4_000  # of an answer that are looked at
_MAX_TOKENS = 512  # for models that think first; a title has about ten
_WAITS = (1.0, 3.0)  # seconds before another try
_TRY_AGAIN = (408, 429, 500, 502, 503, 504)


class HTTPModel:
    """Completes chats by a server. A key, if it needs one, is in the variable COTERIE_NAMES_KEY."""

    is_local = False

    def __init__(self, address: str, model: str, *, waits: tuple[float, ...] = _WAITS) -> None:
        self.url = completions_url(address)
        self.model = model
        self.waits = waits
        self._key = _key()
        self._opener = urllib.request.build_opener(_NoRedirect)

    @property
    def identity(self) -> str:
        """What the answers depend on besides the chat."""
        return f"{self.url} {self.model}"

    def chat(self, question: Question) -> Messages:
        """Return what is sent about a cluster: its keywords and texts."""
        return question.messages

    def complete(self, messages: Messages) -> str:
        """Return the answer to a chat; raise :class:`NamingError` after the last try."""
        body = {"model": self.model, "messages": messages, "temperature": 0, "max_tokens": _MAX_TOKENS}
        for wait in (*self.waits, None):
            try:
                return _content(self._post(json.dumps(body).encode()))
            except urllib.error.HTTPError as error:
                if error.code not in _TRY_AGAIN or wait is None:
                    raise NamingError(f"{self.url} answered {error.code} {error.reason}", is_final=True) from None
            except (OSError, http.client.HTTPException) as error:
                if wait is None:
                    raise NamingError(f"{self.url} cannot be reached: {_reason(error)}", is_final=True) from None
            time.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _post(self, body: bytes) -> Any:
        headers = {"Content-Type": "application/json", "User-Agent": "coterie"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self.url, body, headers, method="POST")
        with self._opener.open(request, timeout=_TIMEOUT) as response:
            answer = _read(response, self.url)
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            raise NamingError(f"{self.url} did not answer with JSON") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Texts go to the address that the user named, and nowhere else."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


def completions_url(address: str) -> str:
    """Return the address that chats are sent to: ``http://localhost:8080`` or ``.../v1`` are enough."""
    try:
        parts = urlsplit(address)
        is_plain = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        is_plain = False
    if not is_plain or set(address) & set("?#@") or not address.isascii() or not address.isprintable():
        shown = address if "@" not in address and "?" not in address else "with @ or ?"  # it may contain a password
        raise InputError(
            f"--name-with {shown!r} is not an address like http://localhost:8080/v1 "
            f"(a key belongs into the variable {KEY_VARIABLE})."
        )
    path = parts.path.rstrip("/") or "/v1"
    path = path if path.endswith("/chat/completions") else f"{path}/chat/completions"
    return parts._replace(path=path).geturl()


def _key() -> str:
    """Return the key, which no message shows."""
    key = os.environ.get(KEY_VARIABLE, "").strip()  # a key from a file has a line end
    if not key.isascii() or not key.isprintable():
        raise InputError(f"The variable {KEY_VARIABLE} has characters that no key has. Set it again.")
    return key


def _read(response: Any, url: str) -> bytes:
    """Return the bytes of an answer; one that is too long or too slow is an error."""
    end, parts, n_bytes = time.monotonic() + _TIMEOUT, [], 0
    while part := response.read1(65_536):
        parts.append(part)
        n_bytes += len(part)
        if n_bytes > _MAX_BYTES:
            raise NamingError(f"{url} answered with more than {_MAX_BYTES:,} bytes")
        if time.monotonic() > end:
            raise NamingError(f"{url} gave no whole answer within {_TIMEOUT:.0f} s")
    return b"".join(parts)


def _content(answer: Any) -> str:
    """Return the text of an answer, cut."""
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise NamingError("The answer has no choices[0].message.content") from None
    if not isinstance(content, str):
        raise NamingError("The answer is empty")
    return content[:_MAX_CHARACTERS]


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error)
