"""One model, loaded once, that assigns batches of rows: the class that data engines run in their workers."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.artifact.manifest import MANIFEST
from coterie.artifact.model import Artifact
from coterie.artifact.permission import Allow
from coterie.data.rows import free_names
from coterie.data.text_column import text_column
from coterie.errors import BlankTextWarning, InputError, MissingExtraError, UnreadableTextWarning

if TYPE_CHECKING:
    from coterie.fitting import Assignment

COLUMNS = ("cluster", "cluster_name", "confidence", "second_cluster", "margin")


class Assigner:
    """Adds the columns ``cluster``, ``cluster_name``, ``confidence``, ``second_cluster`` and ``margin`` to batches.

    A batch is an Arrow table, a pandas data frame, or a dictionary of arrays, and comes back as the same type. The
    model is loaded at the first call, once in every process. A row without a cluster has null there, and a user's
    column of such a name is kept: ours is then called ``cluster_2``.

    ``column`` names the texts; without it the column is found in each batch. ``allow`` is that of :func:`coterie.load`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        column: str | None = None,
        min_confidence: float | None = None,
        allow: Allow = False,
    ) -> None:
        self.path, self.column = str(path), column
        self.min_confidence, self.allow = min_confidence, allow
        self._loaded: tuple[Any, dict[int, str]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the settings: a worker loads the model itself."""
        return self.__dict__ | {"_loaded": None}

    def load(self) -> Assigner:
        """Load the model now, so that a wrong folder is known before the work."""
        if self._loaded is None:
            artifact = Artifact.open(self.path)
            if (kind := artifact.config["encoder"]["input_type"]) != "texts":
                raise InputError(f"{self.path} is a model of {kind}. An Assigner reads texts.")
            model = artifact.load(allow=self.allow)
            if self.min_confidence is not None:
                model.set_params(min_confidence=self.min_confidence)
            self._loaded = model, dict(artifact.clusters().names)
        return self

    def sha256(self) -> str:
        """Return the hash of the model's manifest, which names the hash of every other file."""
        return hashlib.sha256((Artifact.open(self.path).folder / MANIFEST).read_bytes()).hexdigest()

    def __call__(self, batch: Any) -> Any:
        """Return the rows of ``batch`` in their order, with the new columns."""
        if isinstance(batch, dict):
            return batch | {name: np.asarray(values) for name, values in self._new_columns(batch, batch).items()}
        if hasattr(batch, "append_column"):
            return self._to_arrow(batch)
        if not hasattr(batch, "assign") or not hasattr(batch, "columns"):
            raise InputError(f"An Assigner takes an Arrow table, a pandas data frame or a dictionary, not {batch!r}.")
        return batch.assign(**self._to_pandas(batch))

    def assignment(self, texts: list[Any]) -> Assignment:
        """Return the clusters of texts; what cannot be read well is not said again for every batch."""
        self.load()
        assert self._loaded is not None
        with warnings.catch_warnings():
            for category in (BlankTextWarning, UnreadableTextWarning):
                warnings.simplefilter("ignore", category)
            found: Assignment = self._loaded[0].assignment(texts)
        return found

    def _to_arrow(self, table: Any) -> Any:
        try:
            import pyarrow
        except ImportError:
            raise MissingExtraError("An Arrow table", "parquet") from None
        columns = dict(zip(table.column_names, table.columns, strict=True))
        for name, values in self._new_columns(columns, columns).items():
            kind = pyarrow.string() if "name" in name else pyarrow.int64() if "cluster" in name else pyarrow.float64()
            table = table.append_column(name, pyarrow.array(values, kind))
        return table

    def _to_pandas(self, frame: Any) -> dict[str, Any]:
        import pandas  # type: ignore[import-untyped]

        new = self._new_columns({name: frame[name] for name in frame.columns}, list(frame.columns))
        kinds = {name: "Int64" for name in new if "cluster" in name and "name" not in name}
        return {name: pandas.array(values, dtype=kinds.get(name)) for name, values in new.items()}

    def _new_columns(self, columns: dict[str, Any], names: Any) -> dict[str, list[Any]]:
        """Return the values of the new columns by their names; None where there is none."""
        found = self.assignment(_as_list(columns[self._text_column(columns)]))
        self.load()
        assert self._loaded is not None
        of_cluster = self._loaded[1]
        values: list[list[Any]] = [
            [label if label >= 0 else None for label in found.labels.tolist()],
            [of_cluster.get(label) for label in found.labels.tolist()],
            [None if np.isnan(value) else value for value in found.confidence.tolist()],
            [label if label >= 0 else None for label in found.second.tolist()],
            [None if np.isnan(value) else value for value in found.margin.tolist()],
        ]
        return dict(zip(free_names(COLUMNS, names), values, strict=True))

    def _text_column(self, columns: dict[str, Any]) -> str:
        if self.column is not None and self.column in columns:
            return self.column
        return str(text_column({name: _as_list(cells[:200]) for name, cells in columns.items()}, self.column))


def _as_list(cells: Any) -> list[Any]:
    """Return the cells of a column of Arrow, pandas or NumPy."""
    return list(cells.to_pylist() if hasattr(cells, "to_pylist") else cells.tolist())
