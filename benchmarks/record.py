"""Results of the scripts about scale: one line each in benchmarks/results/scale.jsonl, with versions, date and load."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from coterie.experiments.results import append_result

OUT = Path("benchmarks") / "results" / "scale.jsonl"


def record(data: str, **values: Any) -> None:
    """Append a result; ``data`` says which script made it."""
    about = {
        "date": datetime.now(UTC).date().isoformat(),
        "load": round(os.getloadavg()[0], 1),  # at the end; above the number of processors other programs take part
        "versions": {name: version(name) for name in ("torch", "numpy", "scikit-learn")},
    }
    append_result(OUT, {"data": data, **values, **about})
