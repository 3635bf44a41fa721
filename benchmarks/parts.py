"""Processor time and peak memory of the parts of a program; a part within another one does not count for the other.

The peak of a part is that of the whole process while the part runs. Linux only: the kernel is asked to forget the peak
whenever a part begins or ends.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from coterie.experiments.runner import peak_gb

OTHER = "other"
_LONG = 2.0  # seconds of parts whose end is printed


class Parts:
    """Measures functions of modules or classes that it replaces."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.peaks: dict[str, float] = defaultdict(float)
        self._running = [OTHER]
        self.begin()

    def begin(self) -> None:
        """Forget what was used so far."""
        self.seconds.clear()
        self.peaks.clear()
        _forget_peak()
        self._since = time.process_time()

    def measure(self, owner: Any, name: str, part: str) -> None:
        """Let ``owner.name``, a function, count as ``part``."""
        setattr(owner, name, self._measured(getattr(owner, name), part))

    def _measured(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self.close()
            self._running.append(part)
            try:
                return function(*args, **kwargs)
            finally:
                self.close()
                self._running.pop()
                if self.seconds[part] > _LONG:
                    print(f"{self.total():6.0f} s: {part}, peak {self.peaks[part]:.2f} GB", file=sys.stderr, flush=True)

        return wrapper

    def total(self) -> float:
        """Return the seconds of processor time of all parts so far."""
        return sum(self.seconds.values())

    def close(self) -> None:
        """Count what was used since the last call for the part that runs now."""
        part, now = self._running[-1], time.process_time()
        self.seconds[part] += now - self._since
        self.peaks[part] = max(self.peaks[part], peak_gb() or 0.0)
        _forget_peak()
        self._since = now


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")
