"""Read models of schema version 1: the names of settings, values and tensors that have changed since."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from coterie.encoders.encoder import EncoderState

_METHODS = {"neighbours": "neighbors"}

_SETTINGS = {
    "clip_norm": "max_grad_norm",
    "fresh_views": "resample_views",
    "n_neighbours": "n_neighbors",
    "min_texts": "min_df",
    "max_share": "max_df",
    "pseudo_weight": "pseudo_label_weight",
    "unsure_weight": "entropy_weight",
    "teach_epochs": "pseudo_label_epochs",
    "alone_epochs": "instance_epochs",
    "warm_up": "warmup_epochs",
    "filed_beside": "attend_to",
    "first_labels": "pseudo_labels",
    "first_groups": "positives_by",
    "head_start": "head_init",
    "prototypes": "head_init",
    "cluster_share": "cluster_weight",
    "tied": "tie_decoder",
    "mixture": "topic_mixture",
    "rounds": "smoothing_rounds",
    "power": "similarity_power",
    "linkage": "use_linkage",
    "least_size": "min_cluster_size",
}
"""Settings whose new name is the same in every method."""

_SETTINGS_OF = {
    "neighbours": {"words": "use_words"},
    "sccl": {"variant": "implementation"},
    "aecl": {"variant": "implementation"},
    "deccrl": {"contrast": "contrastive_loss"},
    "tcc": {"variant": "similarity", "instance": "instance_embedding", "contrast": "cluster_negatives"},
    "tsdae": {"words": "vocabulary"},
    "clusterbert": {"words": "vocabulary"},
}
"""Settings whose new name depends on the method."""

_VALUES = {
    ("pseudo_labels", "start"): "init",
    ("positives_by", "pseudo"): "pseudo_labels",
    ("head_init", "means"): "centers",
    ("head_init", "groups"): "centers",
    ("implementation", "code"): "official",
    ("similarity", "paper"): "dot",
    ("instance_embedding", "plain"): "features",
    ("contrastive_loss", "other_view"): "cross_view",
    ("reconstruct", "nothing"): "none",
    ("init", "neighbours"): "neighbors",
}

_TENSORS = [
    (r"^encoder\.", "network."),
    (r"^memory\.difference$", "classifier.codes"),
    (r"^memory\.near$", "classifier.neighbors"),
    (r"^memory\.", "classifier."),
    (r"^by_classifier$", "assign_by_head"),
]


_REMOVED = {"neighbours": {"words", "word_weight", "word_agreement", "linkage_margin"}}
"""Settings of the fit that are gone and do not change predictions."""

_ADDED = {"neighbours": {"assign_by": "knn"}}
"""Settings that did not exist, with the values that mean the behavior of then."""


def migrate_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration of schema 1 in the names of today."""
    method = config["method"]
    kept = {name: value for name, value in config["params"].items() if name not in _REMOVED.get(method, ())}
    encoder = dict(config["encoder"])
    encoder["input_type"] = encoder.pop("reads", "texts")  # the first models did not name it
    return config | {
        "method": _METHODS.get(method, method),
        "params": dict(_setting(method, name, value) for name, value in kept.items()) | _ADDED.get(method, {}),
        "encoder": encoder,
    }


def _setting(method: str, name: str, value: Any) -> tuple[str, Any]:
    name = _SETTINGS_OF.get(method, {}).get(name) or _SETTINGS.get(name, name)
    if name == "augmenter" and isinstance(value, str):
        value = re.sub(r"^given\b", "columns", value)
        value = re.sub(r"\bmodel=own\b", "model=corpus", value)
    return name, _VALUES.get((name, value), value) if isinstance(value, str) else value


def migrate_tensors(tensors: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors of schema 1 under the names of today."""
    return {_tensor_name(name): value for name, value in tensors.items()}


def _tensor_name(name: str) -> str:
    for pattern, replacement in _TENSORS:
        renamed = re.sub(pattern, replacement, name)
        if renamed != name:
            return renamed
    return name


def migrate_encoder_state(state: EncoderState, config: dict[str, Any]) -> EncoderState:
    """Return the state of an encoder; that of ``precomputed`` was in the configuration."""
    if config["name"] == "precomputed":
        return EncoderState({"dim": np.array(config["dim"])})
    return state
