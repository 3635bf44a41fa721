"""What is kept of an interrupted job until it is finished: the checkpoint of its training, and the curve so far."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import coterie
from coterie.data.atomic import atomic_file
from coterie.experiments.jobs import Job

_FOLDER = "unfinished"
Point = dict[str, Any]


@dataclass(frozen=True)
class Spent:
    """Time of the clock, and of the processor, which hardly depends on other programs."""

    seconds: float = 0.0
    processor_seconds: float = 0.0

    @classmethod
    def now(cls) -> Spent:
        """Return the time now, to take differences."""
        return cls(time.perf_counter(), time.process_time())

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.seconds + other.seconds, self.processor_seconds + other.processor_seconds)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.seconds - other.seconds, self.processor_seconds - other.processor_seconds)

    def to_dict(self) -> dict[str, float]:
        """Return both for a result."""
        return {name: round(value, 2) for name, value in asdict(self).items()}


class Unfinished:
    """Two files beside the results, named after the job and the version."""

    def __init__(self, job: Job, results: Path) -> None:
        """``results`` is the folder of the results."""
        identity = json.dumps([job.to_dict(), coterie.__version__], sort_keys=True)
        name = hashlib.sha256(identity.encode()).hexdigest()[:16]
        self.checkpoint = results / _FOLDER / f"{name}.safetensors"
        self.claim = results / name  # only its lock file exists, while a process runs the job
        self._curve = self.checkpoint.with_suffix(".json")

    def begin(self) -> tuple[Spent, list[Point]]:
        """Return the time that the job took so far and the points of its curve; none for a job that starts."""
        self.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        if not (self.checkpoint.is_file() and self._curve.is_file()):
            return Spent(), []
        known = json.loads(self._curve.read_text(encoding="utf-8"))
        return Spent(**known["spent"]), known["points"]

    def keep(self, spent: Spent, points: list[Point]) -> None:
        """Write how far the job is."""
        with atomic_file(self._curve) as temporary:
            temporary.write_text(json.dumps({"spent": asdict(spent), "points": points}), encoding="utf-8")

    def remove(self) -> None:
        """Delete the files of a finished job, and the folder when no other job is unfinished."""
        for path in self.checkpoint.parent.glob(f"{self.checkpoint.stem}.*"):
            path.unlink(missing_ok=True)
        if self.checkpoint.parent.is_dir() and not any(self.checkpoint.parent.iterdir()):
            self.checkpoint.parent.rmdir()
