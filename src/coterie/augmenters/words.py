"""What a word is: where it begins and ends in a token, which words carry no topic, how to keep its capitals."""

from __future__ import annotations

import re
from functools import lru_cache

STOP_WORDS = frozenset(
    """
    a about above across after again against all almost also although always am among an and any anyone anything are
    aren't around as at be because been before being below between both but by can can't cannot could couldn't did
    didn't do does doesn't doing don't done down during each either else enough etc even ever every everyone everything
    few for from further had hadn't has hasn't have haven't having he he's her here hers herself him himself his how
    however i i'd i'll i'm i've if in instead into is isn't it it's its itself just least less let let's like may maybe
    me might mine more most much must my myself neither never no nobody none nor not nothing now of off often on once
    one only onto or other others our ours ourselves out over own per perhaps please quite rather really same shall she
    she's should shouldn't since so some someone something still such than that that's the their theirs them themselves
    then there there's these they they're this those though through thus to too toward towards under unless until up
    upon us very via was wasn't we we're we've well were weren't what what's whatever when where whether which while who
    whom whose why will with within without won't would wouldn't yet you you'd you'll you're you've your yours yourself
    """.split()
)

_EDGES = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
# Scripts written without spaces: Thai, Lao, Burmese, Khmer, kana and Chinese characters.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3040-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_LONGEST_UNSPACED = 4  # characters; what is longer is a phrase, not a word


@lru_cache(maxsize=2**17)
def edges(token: str) -> tuple[str, str, str]:
    """Return the marks before a word, the word, and the marks behind it: ``'(64bit),'`` -> ``( 64bit ),``."""
    match = _EDGES.fullmatch(token)
    assert match is not None  # every text matches
    before, word, after = match.groups()
    return before, word, after


@lru_cache(maxsize=2**17)
def is_phrase(token: str) -> bool:
    """Whether ``token`` is longer than a word because its script has no spaces; word techniques leave it alone."""
    return len(token) > _LONGEST_UNSPACED and _UNSPACED.search(token) is not None


@lru_cache(maxsize=2**17)
def is_spelt(word: str) -> bool:
    """Whether ``word`` is spelt with letters, perhaps with inner hyphens or apostrophes, and no phrase."""
    return word.translate(_INNER).isalpha() and not is_phrase(word)


_INNER = {ord(mark): None for mark in "-'’"}  # noqa: RUF001


def like(word: str, model: str) -> str:
    """Return ``word`` with the capitals of ``model``: SQL, Sql or sql."""
    if model.islower():
        return word
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def how_many(strength: float, n_words: int) -> int:
    """Return how many of ``n_words`` words a technique changes: the share ``strength``, at least one."""
    return max(1, int(strength * n_words + 1e-9))  # 0.29 * 100 is a little less than 29
