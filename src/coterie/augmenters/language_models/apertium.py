"""Translate with Apertium, a rule-based translation program that is run as a subprocess (Forcada et al., 2011)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from coterie.errors import InputError
from coterie.progress import track

_CHUNK_SIZE = 2000  # texts that one run of the program translates
_SEPARATOR = "\n\n"  # an empty line ends a sentence, so that texts are translated independently


def back_translate(texts: Sequence[str], language_pair: str) -> list[list[str]]:
    """Return one candidate for each text: its translation by ``language_pair`` (e.g. eng-spa), translated back."""
    source, _, target = language_pair.partition("-")
    if not source or not target:
        raise InputError(f"`language_pair` is {language_pair!r}; write two languages, e.g. eng-spa.")
    program = _find_program(source, target)
    candidates: list[list[str]] = []
    with track("Translating", len(texts)) as advance:
        for start in range(0, len(texts), _CHUNK_SIZE):
            chunk = [" ".join(text.split()) for text in texts[start : start + _CHUNK_SIZE]]
            translated = _translate(program, f"{source}-{target}", chunk)
            candidates += [[text] for text in _translate(program, f"{target}-{source}", translated)]
            advance(len(chunk))
    return candidates


def _find_program(source: str, target: str) -> str:
    """Return the path of the program, or raise :class:`InputError` if it or one of the two directions is missing."""
    program = shutil.which("apertium")
    install = f"Install it (Debian, Ubuntu: apt-get install apertium-{source}-{target}), or use backtranslation:marian."
    if program is None:
        raise InputError(f"backtranslation:apertium needs the program Apertium, which is not installed. {install}")
    installed = subprocess.run([program, "-l"], capture_output=True, text=True, check=False).stdout.split()
    for pair in (f"{source}-{target}", f"{target}-{source}"):
        if pair not in installed:
            raise InputError(f"Apertium has no pair {pair}; it has {', '.join(installed) or 'none'}. {install}")
    return program


def _translate(program: str, pair: str, texts: Sequence[str]) -> list[str]:
    """Return each text in the other language; the option -u leaves unknown words unmarked."""
    run = subprocess.run(
        [program, "-u", pair],
        input=_SEPARATOR.join([*texts, ""]).encode("utf-8", "replace"),
        capture_output=True,
        check=False,
    )
    translations = run.stdout.decode("utf-8", "replace").split(_SEPARATOR)[: len(texts)]
    if run.returncode != 0 or len(translations) != len(texts):
        raise InputError(
            f"Apertium ({pair}) returned {len(translations)} translations of {len(texts)} texts: "
            f"{run.stderr.decode('utf-8', 'replace').strip()[:200] or 'no error message'}."
        )
    return [" ".join(translation.split()) for translation in translations]
