"""Fixtures that several folders share: small texts on three topics, a tiny BERT, and data sets."""

import os
import signal

# Before torch is imported: the arrays of the tests are so small that a second thread only costs time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["COTERIE_CACHE_MB"] = "0"  # every test computes its own embeddings

import numpy as np
import pytest

from coterie import datasets

signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background begins with Ctrl-C ignored

WORDS = {
    0: "goal match team league score player coach",
    1: "stock bank market profit shares price trade",
    2: "gene cell protein virus dna tissue enzyme",
}


@pytest.fixture(scope="session")
def topics():
    """90 generated texts on three topics, and their topics (90,)."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS[i % 3].split(), 5)) for i in range(90)]
    return texts, np.arange(90) % 3


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory):
    """The folder of a BERT with two small layers whose vocabulary is the words of ``topics``."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast
    from transformers.utils import logging

    folder = tmp_path_factory.mktemp("tiny") / "bert"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *" ".join(WORDS.values()).split()]
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
    logging.disable_progress_bar()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(BertConfig(vocab_size=len(words), max_position_embeddings=160, **shape)).save_pretrained(folder)
    BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}, model_max_length=160).save_pretrained(folder)
    logging.enable_progress_bar()
    return folder


@pytest.fixture(scope="session")
def helpdesk():
    """The data set of help-desk messages that is part of the package."""
    return datasets.load("helpdesk")


@pytest.fixture(scope="session")
def benchmark_data():
    """The function that loads a benchmark data set; the test is skipped where the files are missing."""
    if not os.environ.get("COTERIE_DATA"):
        pytest.skip("COTERIE_DATA names no folder with the benchmark files")
    return datasets.load
