"""Write the log of every epoch as CSV or for TensorBoard."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from coterie.data.files import Table, write_table
from coterie.errors import MissingExtraError

Format = Literal["csv", "tensorboard"]


def check_log(log_format: Format) -> None:
    """Raise :class:`MissingExtraError` when the package of a format is not installed."""
    if log_format == "tensorboard" and find_spec("tensorboard") is None:
        raise MissingExtraError("log_format='tensorboard'", "tensorboard")


def write_log(history: list[dict[str, Any]], folder: Path, log_format: Format) -> None:
    """Write the whole history to ``folder``, after every epoch: a resumed run leaves no gaps or duplicates."""
    folder.mkdir(parents=True, exist_ok=True)
    if log_format == "csv":
        names = list(dict.fromkeys(name for record in history for name in record))
        columns = {name: [_cell(record.get(name, "")) for record in history] for name in names}
        write_table(Table(columns, "csv"), folder / "history.csv")
    else:
        _write_events(history, folder)


def _write_events(history: list[dict[str, Any]], folder: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    record = history[-1]
    with SummaryWriter(str(folder), purge_step=record["step"]) as writer:
        for name, value in record.items():
            if isinstance(value, float):
                writer.add_scalar(name, value, record["step"])


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
