"""Cluster short texts or images, and keep a model that assigns new ones to the same clusters."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coterie.machine import set_threads

__version__ = "0.2.0"
set_threads()  # before torch is loaded

if TYPE_CHECKING:  # for editors; a method works without a line here
    from coterie import datasets as datasets
    from coterie.artifact.model import load as load
    from coterie.augmenters.augmenter import AUGMENTERS as AUGMENTERS
    from coterie.augmenters.augmenter import Augmenter as Augmenter
    from coterie.augmenters.augmenter import make_augmenter as make_augmenter
    from coterie.bulk.assigner import Assigner as Assigner
    from coterie.clusterer import METHODS as METHODS
    from coterie.clusterer import Clusterer as Clusterer
    from coterie.deep import DeepClusterer as DeepClusterer
    from coterie.describe.cluster_table import ClusterTable as ClusterTable
    from coterie.describe.tree import ClusterTree as ClusterTree
    from coterie.encoders.encoder import ENCODERS as ENCODERS
    from coterie.encoders.encoder import Encoder as Encoder
    from coterie.encoders.encoder import EncoderState as EncoderState
    from coterie.encoders.encoder import make_encoder as make_encoder
    from coterie.methods.aecl import AECL as AECL
    from coterie.methods.agglomerative import Agglomerative as Agglomerative
    from coterie.methods.cc import CC as CC
    from coterie.methods.clusterbert import ClusterBERT as ClusterBERT
    from coterie.methods.dec import DEC as DEC
    from coterie.methods.deccrl import DECCRL as DECCRL
    from coterie.methods.hacsd import HACSD as HACSD
    from coterie.methods.hdbscan import HDBSCAN as HDBSCAN
    from coterie.methods.idec import IDEC as IDEC
    from coterie.methods.kmeans import KMeans as KMeans
    from coterie.methods.mice import MiCE as MiCE
    from coterie.methods.moco import MoCo as MoCo
    from coterie.methods.neighbors import Neighbors as Neighbors
    from coterie.methods.refine import Refine as Refine
    from coterie.methods.rstc import RSTC as RSTC
    from coterie.methods.scan import SCAN as SCAN
    from coterie.methods.sccl import SCCL as SCCL
    from coterie.methods.selftrain import SelfTrain as SelfTrain
    from coterie.methods.spectral import Spectral as Spectral
    from coterie.methods.stcc import STCC as STCC
    from coterie.methods.tcc import TCC as TCC
    from coterie.methods.tsdae import TSDAE as TSDAE
    from coterie.methods.vascl import VaSCL as VaSCL
    from coterie.training.guard import Verdict as Verdict
    from coterie.training.trainer import Evaluation as Evaluation

_PLACES = {
    "AUGMENTERS": "augmenters.augmenter",
    "Assigner": "bulk.assigner",
    "Augmenter": "augmenters.augmenter",
    "Clusterer": "clusterer",
    "ClusterTable": "describe.cluster_table",
    "ClusterTree": "describe.tree",
    "DeepClusterer": "deep",
    "ENCODERS": "encoders.encoder",
    "Encoder": "encoders.encoder",
    "EncoderState": "encoders.encoder",
    "Evaluation": "training.trainer",
    "METHODS": "clusterer",
    "Verdict": "training.guard",
    "load": "artifact.model",
    "make_augmenter": "augmenters.augmenter",
    "make_encoder": "encoders.encoder",
}
"""Public names and the modules that define them. Methods are found in the registry; errors in ``coterie.errors``."""
_MODULES = ("datasets", "errors")
__all__ = [*sorted(_PLACES), *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `coterie --help` does not load torch."""
    if name in _MODULES:
        return import_module(f"coterie.{name}")
    if name in _PLACES:
        return getattr(import_module(f"coterie.{_PLACES[name]}"), name)
    if not name.startswith("_"):
        methods = _method_classes()
        if name in methods:
            return methods[name]
    raise AttributeError(f"module 'coterie' has no attribute {name!r}")


def _method_classes() -> dict[str, Any]:
    """Return every registered method by the name of its class."""
    registry = import_module("coterie.clusterer").METHODS
    return {cls.__name__: cls for cls in registry.values()}


def __dir__() -> list[str]:
    return sorted([*__all__, *_method_classes()])
