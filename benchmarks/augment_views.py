"""What augmenters do to texts: how often views keep their cluster, and how similar they are (SCCL, Fig. 5 right).

    make bench-views                             everything
    python benchmarks/augment_views.py shares    one part: shares, sentences or figure

Prints for StackOverflow the share of changed texts that stay in their k-means cluster (K = 20, bundled encoder, centers
from 5,000 titles), and twenty sentences. Draws the density of the cosine between a text and its view to
docs/figures/augmenters.svg. 1,000 texts of each set, seed 0. The model `corpus` is trained on all texts of the set.
"""

from __future__ import annotations

import platform
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gaussian_kde
from sklearn.cluster import KMeans

from coterie import datasets
from coterie.augmenters.augmenter import Augmenter, make_augmenter
from coterie.augmenters.eda import replace_by_synonyms
from coterie.augmenters.language_models.corpus_masked_lm_training import frequent_words, load_or_train, model_folder
from coterie.augmenters.text_rng import random_choice, random_sample, text_rngs
from coterie.augmenters.word_tokens import is_word, split_punctuation
from coterie.augmenters.wordnet_database import find_wordnet
from coterie.contracts import Vectors
from coterie.encoders.bundled import BundledEncoder
from coterie.words.stop_words import FUNCTION_WORDS

N_TEXTS = 1000
STRENGTHS = (0.1, 0.2, 0.3)
N_WORDS = (1, 2, 3)
EPOCHS = {"stackoverflow": 4, "googlenews-ts": 2}  # texts of GoogleNews-TS are three times as long
PANELS = {
    "contextual, corpus": "contextual(model={model},strength={p})",
    "contextual, corpus, then chars": "chain(contextual(model={model},strength={p}),chars:{p})",
    "wordnet": "wordnet:{p}",
    "eda": "eda:{p}",
    "chars": "chars:{p}",
    "delete": "delete:{p}",
    "backtranslation, apertium": "backtranslation:apertium",
}
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "augmenters.svg"


class RandomWords(Augmenter):
    """Replaces n words by random frequent words of the texts: a baseline."""

    n: int = 1
    words: tuple[str, ...] = ()

    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Iterator[str]:
        """Yield each text with n words replaced."""
        for text, rng in text_rngs(texts, view_index, seed=seed, name="random"):
            tokens = text.split()
            parts = [split_punctuation(token) for token in tokens]
            replaceable = [
                i for i, (_, word, _) in enumerate(parts) if is_word(word) and word.lower() not in FUNCTION_WORDS
            ]
            for i in random_sample(rng, replaceable, self.n):
                before, _, after = parts[i]
                tokens[i] = before + random_choice(rng, self.words) + after
            yield " ".join(tokens)


class Synonyms(Augmenter):
    """Replaces n words by synonyms of WordNet."""

    n: int = 1

    def make_view(self, texts: Sequence[str], view_index: int, *, seed: int) -> Iterator[str]:
        """Yield each text with n words replaced."""
        wordnet = find_wordnet("", needed_by="This comparison")
        for text, rng in text_rngs(texts, view_index, seed=seed, name="synonyms"):
            tokens = text.split()
            replace_by_synonyms(tokens, self.n, rng, wordnet)
            yield " ".join(tokens)


def main() -> None:
    """Print the shares and the sentences, and draw the figure."""
    parts = sys.argv[1:] or ["shares", "sentences", "figure"]
    encoder = BundledEncoder(device="cpu")
    if "shares" in parts:
        print_shares(encoder, train_model("stackoverflow"))
    if "sentences" in parts:
        print_sentences(train_model("stackoverflow"))
    if "figure" in parts:
        draw_figure(encoder, {name: train_model(name) for name in EPOCHS})
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "scikit-learn", "transformers"))
    print(f"\nseed 0, Python {platform.python_version()}, {versions}")


def train_model(dataset: str) -> str:
    """Return the folder of a masked language model trained on all texts of a data set."""
    texts = datasets.load(dataset).texts
    load_or_train(texts, EPOCHS[dataset], "cpu")
    return str(model_folder(texts, EPOCHS[dataset]))


def sample(dataset: str) -> list[str]:
    """Return 1,000 texts of a data set."""
    texts = datasets.load(dataset).texts
    return texts[:: len(texts) // N_TEXTS][:N_TEXTS]


def print_shares(encoder: BundledEncoder, model: str) -> None:
    """Print the share of changed texts that stay in their k-means cluster, by strength and by number of words."""
    all_texts = datasets.load("stackoverflow").texts
    texts = sample("stackoverflow")
    kmeans = KMeans(20, n_init=1, random_state=0).fit(encoder.embed(all_texts[::4]))
    labels = kmeans.predict(encoder.embed(texts))
    words = tuple(frequent_words(all_texts))
    tables: dict[str, dict[str, list[Augmenter]]] = {
        "strength 10 % | 20 % | 30 %": {
            "contextual, corpus": [make_augmenter(f"contextual(model={model},strength={p})") for p in STRENGTHS],
            "wordnet": [make_augmenter(f"wordnet:{p}") for p in STRENGTHS],
        },
        "1 word | 2 words | 3 words": {
            "contextual, corpus": [_contextual(model, n, "stop_words=replace") for n in N_WORDS],
            "the same, stop words kept": [_contextual(model, n, "stop_words=keep") for n in N_WORDS],
            "the same, context only": [_contextual(model, n, "stop_words=keep,similarity_weight=0") for n in N_WORDS],
            "wordnet": [Synonyms(n=n) for n in N_WORDS],
            "random words of the set": [RandomWords(n=n, words=words) for n in N_WORDS],
        },
    }
    for title, rows in tables.items():
        print(f"\n| {N_TEXTS} titles, {title} |\n|---|---|---|---|")
        for name, augmenters in rows.items():
            cells = [_share(augmenter, texts, labels, kmeans, encoder) for augmenter in augmenters]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _contextual(model: str, n: int, settings: str) -> Augmenter:
    """Return an augmenter that replaces n words."""
    return make_augmenter(f"contextual(model={model},strength=1,max_words={n},{settings})")


def _share(
    augmenter: Augmenter, texts: list[str], labels: NDArray[np.int32], kmeans: KMeans, encoder: BundledEncoder
) -> str:
    """Return the share of changed texts that stay in their cluster, and the mean number of changed words."""
    view = augmenter.view(texts, 0, seed=0)
    changed = np.array([text != other for text, other in zip(texts, view, strict=True)])
    stays = kmeans.predict(encoder.embed(list(view))) == labels
    n_words = [_n_changed_words(text, other) for text, other in zip(texts, view, strict=True) if text != other]
    return f"{stays[changed].mean():.1%} ({np.mean(n_words):.2f} words, {changed.sum():,} texts)"


def _n_changed_words(text: str, view: str) -> int:
    """Return the number of tokens of ``text`` that ``view`` does not have."""
    return (Counter(text.split()) - Counter(view.split())).total()


def print_sentences(model: str) -> None:
    """Print twenty texts beside their views."""
    texts = datasets.load("stackoverflow").texts[::1000][:20]
    specs = (f"contextual(model={model},strength=0.2,stop_words=keep)", "wordnet:0.2")
    views = [make_augmenter(spec).view(texts, 0, seed=0) for spec in specs]
    print("\n| title | contextual(model=corpus,strength=0.2,stop_words=keep) | wordnet:0.2 |\n|---|---|---|")
    for row in zip(texts, *views, strict=True):
        print(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |")


def draw_figure(encoder: BundledEncoder, models: dict[str, str]) -> None:
    """Draw a row of panels for each data set, a panel for each augmenter, a line for each strength."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    mpl.rcParams["svg.hashsalt"] = "coterie"  # the same numbers give the same file
    figure, axes = plt.subplots(len(models), len(PANELS), figsize=(3 * len(PANELS), 5), sharex=True, sharey="row")
    for row, (dataset, model) in zip(axes, models.items(), strict=True):
        texts = sample(dataset)
        h = encoder.embed(texts)
        for panel, (title, spec) in zip(row, PANELS.items(), strict=True):
            for p in STRENGTHS if "{p}" in spec else STRENGTHS[:1]:
                view = make_augmenter(spec.format(model=model, p=p)).view(texts, 0, seed=0)
                cosine = (h * encoder.embed(list(view))).sum(axis=1)
                strength = f"{p:.0%}" if "{p}" in spec else ""  # a translation has no strength
                print(f"{dataset}, {title} {strength}: median cosine {np.median(cosine):.3f}", flush=True)
                _draw_density(panel, cosine, strength)
            panel.set_title(title, fontsize=9)
        row[0].set_ylabel(dataset)
        row[0].legend(title="words changed", fontsize=8)
    figure.supxlabel("cosine of a text and its view, bundled encoder")
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(FIGURE, metadata={"Date": None})
    print(f"\nWritten to {FIGURE.relative_to(FIGURE.parents[2])}")


def _draw_density(panel: object, cosine: Vectors, label: str) -> None:
    x = np.linspace(0, 1, 200)
    noise = np.random.default_rng(0).normal(0, 1e-4, len(cosine))  # the density of equal values is not defined
    y = gaussian_kde(np.clip(cosine, 0, 1) + noise)(x)
    panel.plot(x, y, label=label or None, color=None if label else "0.4", linewidth=1.2)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
