"""Save an adapted encoder as a folder that transformers and sentence-transformers read."""

from __future__ import annotations

from pathlib import Path

from coterie.artifact.files import write_json
from coterie.data.atomic import atomic_folder
from coterie.data.ownership import check_folder, write_marker
from coterie.encoders.engine.loading import without_progress_bars
from coterie.encoders.engine.network import TransformerNetwork

_TYPE = "sentence_transformers.models."


def save_encoder(network: TransformerNetwork, folder: Path, *, overwrite: bool = False) -> None:
    """Write the trained ``network`` as a folder that ``transformer:FOLDER`` and sentence-transformers read.

    Pooling, length and normalization are written where sentence-transformers looks for them. Of these the encoder
    ``transformer`` reads the pooling; the others are settings of its own. A folder that exists is replaced only with
    ``overwrite``, and only if coterie wrote it.
    """
    check_folder(folder, overwrite=overwrite)
    tokenizer, model = network.to_transformers()
    settings = network.settings
    parts = [("", "Transformer"), ("1_Pooling", "Pooling")]
    if settings.normalize:
        parts.append(("2_Normalize", "Normalize"))
    modules = [{"idx": i, "name": str(i), "path": path, "type": _TYPE + name} for i, (path, name) in enumerate(parts)]
    pooling = {
        "word_embedding_dimension": network.dim,
        "pooling_mode_cls_token": settings.resolved_pooling == "cls",
        "pooling_mode_mean_tokens": settings.resolved_pooling == "mean",
    }
    length = {"max_seq_length": settings.max_length, "do_lower_case": False}
    with atomic_folder(folder, overwrite=overwrite) as temporary, without_progress_bars():
        tokenizer.save_pretrained(temporary)
        model.save_pretrained(temporary)
        for path, _ in parts[1:]:
            (temporary / path).mkdir()
        write_json(temporary / "1_Pooling" / "config.json", pooling)
        write_json(temporary / "sentence_bert_config.json", length)
        write_json(temporary / "modules.json", modules)
        write_marker(temporary)
