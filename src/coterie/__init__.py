"""Turn a pile of short texts into clear groups, and keep a model that files new texts the same way."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from coterie.artifact import load as load
    from coterie.clusterer import METHODS as METHODS
    from coterie.clusterer import Clusterer as Clusterer
    from coterie.data import datasets as datasets
    from coterie.encoders.encoder import ENCODERS as ENCODERS
    from coterie.methods.aecl import AECL as AECL
    from coterie.methods.clusterbert import ClusterBERT as ClusterBERT
    from coterie.methods.deccrl import DECCRL as DECCRL
    from coterie.methods.kmeans import KMeans as KMeans
    from coterie.methods.neighbours import Neighbours as Neighbours
    from coterie.methods.rstc import RSTC as RSTC
    from coterie.methods.sccl import SCCL as SCCL
    from coterie.methods.tcc import TCC as TCC
    from coterie.methods.tsdae import TSDAE as TSDAE

_METHODS = ("AECL", "ClusterBERT", "DECCRL", "KMeans", "Neighbours", "RSTC", "SCCL", "TCC", "TSDAE")
_PLACES = {name: f"coterie.methods.{name.lower()}" for name in _METHODS} | {
    "ENCODERS": "coterie.encoders.encoder", "METHODS": "coterie.clusterer", "Clusterer": "coterie.clusterer",
    "datasets": "coterie.data", "load": "coterie.artifact"}  # fmt: skip
__all__ = ["AECL", "DECCRL", "ENCODERS", "METHODS", "RSTC", "SCCL", "TCC", "TSDAE", "ClusterBERT", "Clusterer",
           "KMeans", "Neighbours", "__version__", "datasets", "load"]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `coterie --help` need not wait for torch."""
    if name not in _PLACES:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    return import_module("coterie.data.datasets") if name == "datasets" else getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
