"""Tiny transformers with random weights, saved as any other model of the transformers library."""

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)

from coterie.encoders.transformer import TransformerEncoder

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"alpha beta gamma delta epsilon zeta eta theta iota kappa".split()]
SIZE = {"vocab_size": len(WORDS), "max_position_embeddings": 40}
SHAPE = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 24, **SIZE}
IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
MODELS = {
    "bert": lambda: BertModel(BertConfig(**SHAPE)),
    "roberta": lambda: RobertaModel(RobertaConfig(**IDS, **SHAPE)),
    "distilbert": lambda: DistilBertModel(DistilBertConfig(dim=16, n_layers=3, n_heads=4, hidden_dim=24, **SIZE)),
    "mpnet": lambda: MPNetModel(MPNetConfig(**IDS, **SHAPE)),
}


@pytest.fixture(scope="session")
def words():
    """The vocabulary of the tiny models."""
    return WORDS


@pytest.fixture(scope="session")
def shape():
    """The configuration of the tiny BERT."""
    return SHAPE


@pytest.fixture(scope="session")
def save_model(tmp_path_factory):
    """Save a model and a tokenizer with the given vocabulary; return the folder."""

    def save(model, vocabulary=WORDS):
        path = tmp_path_factory.mktemp("model")
        model.save_pretrained(path)
        tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
        ).save_pretrained(path)
        return path

    return save


@pytest.fixture(scope="session")
def model_folder(save_model):
    """Return the folder of a tiny model by its name in MODELS. ``std`` replaces the usual scale of its weights."""
    folders = {}

    def folder(name, std=None):
        if (name, std) not in folders:
            with torch.random.fork_rng():
                torch.manual_seed(0)
                model = MODELS[name]()
                for weight in model.parameters() if std else ():
                    torch.nn.init.normal_(weight, std=std)
            folders[name, std] = save_model(model)
        return folders[name, std]

    return folder


@pytest.fixture(scope="session")
def encoder_of():
    """Return a float32 encoder of a model folder: ``encoder_of(folder, **changed settings)``."""

    def build(folder, **options):
        return TransformerEncoder(
            **{"model": str(folder), "max_length": 32, "precision": "float32", "device": "cpu"} | options
        )

    return build


@pytest.fixture(scope="session")
def padded_embeddings():
    """Embed texts as the transformers library does: padded and masked, in one batch."""

    def embed(folder, texts, pooling, max_length=32):
        tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
        options = {"padding": True, "truncation": True, "return_tensors": "pt", "return_token_type_ids": False}
        batch = tokenizer(texts, max_length=max_length, **options)
        with torch.no_grad():
            states = model(**batch).last_hidden_state
        mask = batch["attention_mask"][..., None]
        return (states * mask).sum(1) / mask.sum(1) if pooling == "mean" else states[:, 0]

    return embed
