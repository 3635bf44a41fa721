"""Load a pretrained transformer and its tokenizer from a folder or the hub."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import nn

from coterie.errors import EncoderError
from coterie.printable import printable_lines, shorten
from coterie.seeding import CONSTRUCTION

_UNREADABLE = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, OSError, RecursionError,
    TypeError, ValueError,
)  # fmt: skip
"""What transformers raises for a folder whose files are not those of a model."""
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_MAX_LOG = 4_000  # characters of a message


class _PrintableLog(logging.Filter):
    """Makes what transformers logs safe to print: its messages repeat names from the files of a model."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = printable_lines(shorten(_COLOR.sub("", record.getMessage()), _MAX_LOG))
        record.args = ()
        return True


_PRINTABLE_LOG = _PrintableLog()


def loading_options(source: str) -> dict[str, Any]:
    """Return options of ``from_pretrained``: never code of the model, and for a folder never the network."""
    return {"trust_remote_code": False, "local_files_only": Path(source).is_dir()}


def load_transformer(source: str) -> tuple[Any, Any]:
    """Return tokenizer and model of a folder or hub id, or raise :class:`EncoderError`."""
    from transformers import AutoModel, AutoTokenizer

    try:
        with without_progress_bars(), reading_weights():
            tokenizer = AutoTokenizer.from_pretrained(source, **loading_options(source))
            model = AutoModel.from_pretrained(source, dtype=torch.float32, **loading_options(source))
    except _UNREADABLE as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:500]
        raise EncoderError(
            f"Cannot load the model {source!r}: {reason} Give a folder with a transformers model, or a hub "
            "id on a machine that can reach the hub; or use the encoder 'bundled', which needs neither."
        ) from error
    if not tokenizer.is_fast:
        raise EncoderError(f"The tokenizer of {source!r} has no fast version, which coterie needs.")
    return tokenizer, model


def pooling_of(source: str) -> str:
    """Return the pooling that a sentence-transformers configuration beside the model names; else ``mean``."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    name = "1_Pooling/config.json"
    try:
        found = Path(source, name) if Path(source).is_dir() else Path(hf_hub_download(source, name))
        config = json.loads(found.read_text(encoding="utf-8"))
    except (EntryNotFoundError, FileNotFoundError):
        return "mean"
    except (ValueError, RecursionError) as error:
        raise EncoderError(f"{name} of the model {source!r} is not valid JSON ({error}).") from None
    if not isinstance(config, dict):
        raise EncoderError(f"{name} of the model {source!r} is not an object.")
    names = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    modes = [names.get(key, key) for key, on in config.items() if key.startswith("pooling_mode_") and on]
    mode = config.get("pooling_mode", modes)  # a single word since sentence-transformers 6, else a list
    mode = mode[0] if isinstance(mode, list) and len(mode) == 1 else mode
    if mode not in ("mean", "cls"):
        raise EncoderError(
            f"The model {source!r} uses the pooling {mode}, which coterie does not support; set `pooling` to mean or "
            "cls."
        )
    return str(mode)


@contextmanager
def reading_weights() -> Iterator[None]:
    """Raise OSError, in words for users, for weights that are damaged or that are code."""
    from safetensors import SafetensorError

    try:
        yield
    except (UnpicklingError, EOFError) as error:
        raise OSError(
            "its weights are a damaged pickle, or one with more than tensors in it, and no code of a model is run. "
            "Save the model as safetensors."
        ) from error
    except (SafetensorError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        raise OSError(f"its weights are damaged, or not those of its configuration ({reason}).") from error


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """Switch the progress bars of transformers off: reading 100 tensors takes no time. One thread loads at a time.

    What transformers logs is printable from then on.
    """
    from transformers.utils import logging as transformers_logging

    for handler in transformers_logging.get_logger("transformers").handlers:
        handler.addFilter(_PRINTABLE_LOG)
    with CONSTRUCTION:
        enabled = transformers_logging.is_progress_bar_enabled()
        transformers_logging.disable_progress_bar()
        try:
            yield
        finally:
            if enabled:
                transformers_logging.enable_progress_bar()


def weights_sha256(model: nn.Module, vocabulary: dict[str, int] | None = None) -> str:
    """Return a hash of the weights of ``model``, and of the tokenizer's ``vocabulary`` when given."""
    digest = hashlib.sha256()
    if vocabulary is not None:
        digest.update(json.dumps(sorted(vocabulary.items())).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
