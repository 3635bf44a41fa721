"""Tiny versions of what augmenters load: WordNet files, masked language models, translation models."""

import re

WORDS = (
    "the a how do i to in of and for reset my password forgot printer paper jam invoice charge account login "
    "error screen update again broken link money back please help new old fast slow"
).split()
LICENSE = "  1 This line stands for the license.  \n"


def write_wordnet(folder, synsets, exceptions=None):
    """Write WordNet files with ``synsets``, e.g. {"noun": [["car", "auto"], ...]}, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for pos, letter in {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}.items():
        data = LICENSE.encode()
        offsets = {}  # of the synonym sets of each word
        for members in synsets.get(pos, []):
            offset = f"{len(data):08d}"
            words = " ".join(f"{word} 0" for word in members)
            data += f"{offset} 03 {letter} {len(members):02x} {words} 000 | meaning  \n".encode()
            for word in members:
                offsets.setdefault(re.sub(r"\(.*", "", word).lower(), []).append(offset)
        index = [f"{word} {letter} {len(o)} 0 {len(o)} 0 {' '.join(o)}  \n" for word, o in sorted(offsets.items())]
        (folder / f"data.{pos}").write_bytes(data)
        (folder / f"index.{pos}").write_text(LICENSE + "".join(index))
    for pos, lines in (exceptions or {}).items():
        (folder / f"{pos}.exc").write_text(lines)
    return folder


def small_wordnet(folder):
    synsets = {
        "noun": [["password", "watchword", "parole"], ["printer", "pressman"], ["paper", "sheet"], ["mouse", "rodent"]],
        "verb": [["reset", "readjust", "set_back"], ["forget", "bury"]],
        "adj": [["broken(p)", "wiped_out(p)"]],
    }
    return write_wordnet(folder, synsets, {"noun": "mice mouse\n", "verb": "forgot forget\nforgotten forget\n"})


def bert_tokenizer(words=WORDS):
    from transformers import BertTokenizerFast

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, "##s", "##ing", *"?!.,", "x"]
    return BertTokenizerFast(vocab={word: i for i, word in enumerate(vocabulary)})


def write_bert(folder):
    import torch
    from transformers import BertConfig, BertForMaskedLM

    tokenizer = bert_tokenizer()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer) + 3, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_roberta(folder):
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaForMaskedLM, RobertaTokenizerFast

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator([f" {word} {word}" for word in WORDS] * 3, vocab_size=400, special_tokens=special)
    folder.mkdir(parents=True, exist_ok=True)
    trained.save_model(str(folder))
    tokenizer = RobertaTokenizerFast(vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"))
    torch.manual_seed(1)
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=66,
    )  # fmt: skip
    RobertaForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_marian(folder, seed):
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(["<pad>", "</s>", "<unk>", *WORDS])}
    inner = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = WhitespaceSplit()
    inner.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=64
    )
    torch.manual_seed(seed)
    config = MarianConfig(
        vocab_size=len(vocabulary), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64, pad_token_id=0,
        eos_token_id=1, forced_eos_token_id=1, decoder_start_token_id=0, init_std=0.5,
    )  # fmt: skip
    MarianMTModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
