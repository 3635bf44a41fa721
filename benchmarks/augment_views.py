"""What augmenters do to texts: do views keep their cluster, and how near are they (SCCL, Fig. 5 right)?

    make bench-views                             all of it
    python benchmarks/augment_views.py shares    a part: shares, sentences or figure

Prints, for StackOverflow, the share of changed texts whose k-means cluster (K = 20, bundled encoder, centers from
5,000 titles) the view keeps, and twenty sentences; draws the density of the cosine between a text and its view to
docs/figures/augmenters.svg. 1,000 texts of each set, seed 0. `own` learns from all texts of the set.
"""

from __future__ import annotations

import platform
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gaussian_kde
from sklearn.cluster import KMeans

from coterie import datasets
from coterie.augmenters.augmenter import Augmenter, Texts, make_augmenter
from coterie.augmenters.cache import cache_folder
from coterie.augmenters.eda import replace
from coterie.augmenters.language_models.own_training import frequent_words, own_key, own_model
from coterie.augmenters.seeds import dice, draw, draw_some
from coterie.augmenters.wordnet_files import find_wordnet
from coterie.augmenters.words import STOP_WORDS, edges, is_spelt
from coterie.contracts import Vectors
from coterie.encoders.bundled import BundledEncoder

N_TEXTS = 1000
STRENGTHS = (0.1, 0.2, 0.3)
EPOCHS = {"stackoverflow": 4, "googlenews-ts": 2}  # texts of GoogleNews-TS are three times as long and have more gaps
PANELS = {
    "contextual, own": "contextual(model={own},strength={p})",
    "contextual, own, then chars": "chain(contextual(model={own},strength={p}),chars:{p})",
    "wordnet": "wordnet:{p}",
    "eda": "eda:{p}",
    "chars": "chars:{p}",
    "delete": "delete:{p}",
    "backtranslation, apertium": "backtranslation:apertium",
}
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "augmenters.svg"


class RandomWords(Augmenter):
    """Puts any frequent word of the texts in the place of n words: what a technique must be better than."""

    n: int = 1
    words: tuple[str, ...] = ()

    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Iterator[str]:
        """Yield each text with other words in it."""
        for text, rng in dice(texts, number, seed=seed, name="random"):
            words = text.split()
            parts = [edges(token) for token in words]
            places = [i for i, (_, w, _) in enumerate(parts) if is_spelt(w) and w.lower() not in STOP_WORDS]
            for i in draw_some(rng, places, self.n):
                words[i] = parts[i][0] + draw(rng, self.words) + parts[i][2]
            yield " ".join(words)


class Synonyms(Augmenter):
    """WordNet's synonyms in the place of n words."""

    n: int = 1

    def rewrite(self, texts: Texts, number: int, *, seed: int) -> Iterator[str]:
        """Yield each text with synonyms in it."""
        thesaurus = find_wordnet("", need="This comparison")
        for text, rng in dice(texts, number, seed=seed, name="synonyms"):
            words = text.split()
            replace(words, self.n, rng, thesaurus)
            yield " ".join(words)


def main() -> None:
    """Print the shares and the sentences, and draw the figure."""
    wanted = sys.argv[1:] or ["shares", "sentences", "figure"]
    encoder = BundledEncoder(device="cpu")
    if "shares" in wanted:
        shares(encoder, learnt("stackoverflow"))
    if "sentences" in wanted:
        sentences(learnt("stackoverflow"))
    if "figure" in wanted:
        figure(encoder, {name: learnt(name) for name in EPOCHS})
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "scikit-learn", "transformers"))
    print(f"\nseed 0, Python {platform.python_version()}, {versions}")


def learnt(name: str) -> str:
    """Return the folder of a masked language model of all texts of a set."""
    texts = datasets.load(name).texts
    own_model(texts, EPOCHS[name], "cpu")
    return str(cache_folder() / f"own-{own_key(texts, EPOCHS[name])[:32]}")


def sample(name: str) -> list[str]:
    """Return the texts that are looked at."""
    texts = datasets.load(name).texts
    return texts[:: len(texts) // N_TEXTS][:N_TEXTS]


def shares(encoder: BundledEncoder, own: str) -> None:
    """Print how many changed texts stay in their k-means cluster, by the techniques' own counts and by equal ones."""
    every, texts = datasets.load("stackoverflow").texts, sample("stackoverflow")
    kmeans = KMeans(20, n_init=1, random_state=0).fit(encoder.embed(every[::4]))
    labels = kmeans.predict(encoder.embed(texts))
    words = tuple(frequent_words(every))
    tables: dict[str, dict[str, list[Augmenter]]] = {
        "as set: 10 % | 20 % | 30 %": {
            "contextual, own": [make_augmenter(f"contextual(model={own},strength={p})") for p in STRENGTHS],
            "wordnet": [make_augmenter(f"wordnet:{p}") for p in STRENGTHS],
        },
        "1 word | 2 words | 3 words": {
            "contextual, own": [_exactly(own, n, "stop_words=replace") for n in (1, 2, 3)],
            "the same, stop words kept": [_exactly(own, n, "stop_words=keep") for n in (1, 2, 3)],
            "the same, by context alone": [_exactly(own, n, "stop_words=keep,closeness=0") for n in (1, 2, 3)],
            "wordnet": [Synonyms(n=n) for n in (1, 2, 3)],
            "random words of the set": [RandomWords(n=n, words=words) for n in (1, 2, 3)],
        },
    }
    for title, rows in tables.items():
        print(f"\n| {N_TEXTS} titles, {title} |\n|---|---|---|---|")
        for name, augmenters in rows.items():
            kept = [_kept(augmenter, texts, labels, kmeans, encoder) for augmenter in augmenters]
            print(f"| {name} | {' | '.join(kept)} |", flush=True)


def _exactly(own: str, n: int, others: str) -> Augmenter:
    return make_augmenter(f"contextual(model={own},strength=1,most={n},{others})")


def _kept(
    augmenter: Augmenter, texts: list[str], labels: NDArray[np.int32], kmeans: KMeans, encoder: BundledEncoder
) -> str:
    """Return the share of changed texts that stay, and how many tokens of a changed text differ on average."""
    view = augmenter.view(texts, 0, seed=0)
    pairs = [(text, other) for text, other in zip(texts, view, strict=True)]
    changed = np.array([text != other for text, other in pairs])
    stay = kmeans.predict(encoder.embed(list(view))) == labels
    words = [_n_changed(text, other) for text, other in pairs if text != other]
    return f"{stay[changed].mean():.1%} ({np.mean(words):.2f} words, {changed.sum():,} texts)"


def _n_changed(text: str, other: str) -> int:
    """Return how many tokens of ``text`` are not in ``other`` any more."""
    return (Counter(text.split()) - Counter(other.split())).total()


def sentences(own: str) -> None:
    """Print twenty texts beside their views."""
    texts = datasets.load("stackoverflow").texts[::1000][:20]
    views = [
        make_augmenter(spec).view(texts, 0, seed=0)
        for spec in (f"contextual(model={own},strength=0.2,stop_words=keep)", "wordnet:0.2")
    ]
    print("\n| title | contextual(model=own,strength=0.2,stop_words=keep) | wordnet:0.2 |\n|---|---|---|")
    for row in zip(texts, *views, strict=True):
        print(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |")


def figure(encoder: BundledEncoder, own: dict[str, str]) -> None:
    """Draw a row of panels for each set: a panel for each augmenter, a line for each strength."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")

    mpl.rcParams["svg.hashsalt"] = "coterie"  # the same numbers give the same file
    drawing, axes = plt.subplots(len(own), len(PANELS), figsize=(3 * len(PANELS), 5), sharex=True, sharey="row")
    for row, (name, folder) in zip(axes, own.items(), strict=True):
        texts = sample(name)
        h = encoder.embed(texts)
        for panel, (title, spec) in zip(row, PANELS.items(), strict=True):
            for p in STRENGTHS if "{p}" in spec else STRENGTHS[:1]:
                view = make_augmenter(spec.format(own=folder, p=p)).view(texts, 0, seed=0)
                cosine = (h * encoder.embed(list(view))).sum(axis=1)
                strength = f"{p:.0%}" if "{p}" in spec else ""  # a translation has none
                print(f"{name}, {title} {strength}: median cosine {np.median(cosine):.3f}", flush=True)
                _draw(panel, cosine, strength)
            panel.set_title(title, fontsize=9)
        row[0].set_ylabel(name)
        row[0].legend(title="words changed", fontsize=8)
    drawing.supxlabel("cosine of a text and its view, bundled encoder")
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    drawing.tight_layout()
    drawing.savefig(FIGURE, metadata={"Date": None})
    print(f"\nDrawn to {FIGURE.relative_to(FIGURE.parents[2])}")


def _draw(panel: object, cosine: Vectors, label: str) -> None:
    x = np.linspace(0, 1, 200)
    y = gaussian_kde(np.clip(cosine, 0, 1) + np.random.default_rng(0).normal(0, 1e-4, len(cosine)))(x)
    panel.plot(x, y, label=label or None, color=None if label else "0.4", linewidth=1.2)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
