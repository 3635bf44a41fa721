"""Answers of language models in the user's cache: a run that was interrupted asks only what is missing."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path

from coterie.data.atomic import atomic_file
from coterie.data.user_cache import user_cache
from coterie.errors import CacheWarning, user_level
from coterie.naming.prompt import Messages

_MAX_ANSWER = 4_000  # characters that are kept


class Answers:
    """The answers of one language model, one file for each chat. A file is named by a hash and has no text of users."""

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self._failed = False

    def get(self, messages: Messages) -> str | None:
        """Return the answer to a chat, or None."""
        try:
            stored = json.loads(self._file(messages).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        answer = stored.get("answer") if isinstance(stored, dict) else None
        return answer if isinstance(answer, str) else None

    def put(self, messages: Messages, answer: str) -> None:
        """Keep the answer to a chat."""
        file = self._file(messages)
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # an answer may repeat texts
            with atomic_file(file) as temporary:
                temporary.write_text(json.dumps({"answer": answer[:_MAX_ANSWER]}), encoding="utf-8")
        except OSError as error:
            if not self._failed:
                warnings.warn(f"Names are not kept in the cache: {error}", CacheWarning, stacklevel=user_level())
            self._failed = True

    def _file(self, messages: Messages) -> Path:
        chat = json.dumps([self.identity, messages], ensure_ascii=False)
        digest = hashlib.sha256(chat.encode("utf-8", "surrogatepass")).hexdigest()
        return user_cache("names") / f"{digest}.json"
