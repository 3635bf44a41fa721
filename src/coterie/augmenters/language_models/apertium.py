"""Translate with Apertium, a program of its own that runs beside us (GPL; Forcada et al., 2011)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from coterie.errors import InputError
from coterie.progress import track

_AT_ONCE = 2000  # texts that one run of the program translates
_BETWEEN = "\n\n"  # ends a sentence, so that no text reaches into the next


def there_and_back(texts: Sequence[str], pair: str) -> list[list[str]]:
    """Return one candidate for each text: its translation by ``pair`` (eng-spa), translated back."""
    ours, _, theirs = pair.partition("-")
    if not ours or not theirs:
        raise InputError(f"`pair` is {pair!r}; write two languages, e.g. eng-spa.")
    program = _find(ours, theirs)
    found: list[list[str]] = []
    with track("Translating", len(texts)) as advance:
        for first in range(0, len(texts), _AT_ONCE):
            part = [" ".join(text.split()) for text in texts[first : first + _AT_ONCE]]
            back = _translate(program, f"{theirs}-{ours}", _translate(program, f"{ours}-{theirs}", part))
            found += [[text] for text in back]
            advance(len(part))
    return found


def _find(ours: str, theirs: str) -> str:
    program = shutil.which("apertium")
    install = f"Install it (Debian, Ubuntu: apt-get install apertium-{ours}-{theirs}), or use backtranslation:marian."
    if program is None:
        raise InputError(f"backtranslation:apertium needs the program Apertium, which is not installed. {install}")
    listed = subprocess.run([program, "-l"], capture_output=True, text=True, check=False).stdout.split()
    if missing := [pair for pair in (f"{ours}-{theirs}", f"{theirs}-{ours}") if pair not in listed]:
        raise InputError(f"Apertium has no pair {missing[0]}; it has {', '.join(listed) or 'none'}. {install}")
    return program


def _translate(program: str, pair: str, texts: Sequence[str]) -> list[str]:
    """Return each text in the other language; -u leaves unknown words without a mark."""
    run = subprocess.run(
        [program, "-u", pair],
        input=_BETWEEN.join([*texts, ""]).encode("utf-8", "replace"),
        capture_output=True,
        check=False,
    )
    lines = run.stdout.decode("utf-8", "replace").split(_BETWEEN)[: len(texts)]
    if run.returncode != 0 or len(lines) != len(texts):
        raise InputError(
            f"Apertium ({pair}) gave {len(lines)} texts for {len(texts)}: "
            f"{run.stderr.decode('utf-8', 'replace').strip()[:200] or 'it does not say why'}."
        )
    return [" ".join(line.split()) for line in lines]
