import shutil

import pytest

from coterie.augmenters.augmenter import make_augmenter
from coterie.augmenters.backtranslation import select_candidate
from coterie.augmenters.bleu import sentence_bleu
from coterie.augmenters.language_models import apertium, marian
from coterie.augmenters.language_models.marian import Translator
from coterie.errors import InputError
from tiny import WORDS, write_marian

TEXT = "how do i reset my password"


def test_bleu_falls_with_every_change():
    candidates = (TEXT, "how do i change my password", "my password how", "paper jam", "")
    scores = [sentence_bleu(candidate, TEXT) for candidate in candidates]
    assert scores[0] == pytest.approx(1)
    assert scores == sorted(scores, reverse=True)
    assert scores[-2:] == [0, 0]


def test_bleu_follows_its_formula():
    # Shared: 2 of 3 words, 1 of 2 bigrams, 0 of 1 trigrams and 0 of 0 4-grams. Both have the same length.
    expected = (2 / 3 * (1 + 1) / (2 + 1) * (0 + 1) / (1 + 1) * (0 + 1) / (0 + 1)) ** 0.25
    assert sentence_bleu("a b x", "a b c") == pytest.approx(expected)


def test_candidates_are_ranked_by_bleu():
    ranked = ["how do i reset my code", "how do i change my code", "how can i change my code", "what is a code"]
    candidates = [TEXT, *ranked[::-1]]
    selected = {
        bleu: [select_candidate(TEXT, candidates, bleu, view_index) for view_index in (0, 1)]
        for bleu in ("highest", "medium", "lowest")
    }
    assert selected["highest"] == ranked[:2]
    assert sorted(selected["medium"]) == sorted(ranked[1:3])
    assert selected["lowest"] == ranked[:1:-1]


def test_a_text_without_another_wording_is_its_own_view():
    assert select_candidate(TEXT, [TEXT, TEXT.upper(), ""], "lowest", 0) == TEXT


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian")
    return write_marian(folder / "forward", 0), write_marian(folder / "backward", 1)


def test_marian_returns_n_candidates(models):
    candidates = Translator(str(models[0]), "cpu")([TEXT, "paper jam"], 4)
    assert [len(translations) for translations in candidates] == [4, 4]
    assert {word for translations in candidates for text in translations for word in text.split()} <= set(WORDS)


def test_views_by_marian_are_candidates(models):
    spec = f"backtranslation(forward_model={models[0]},backward_model={models[1]},n_candidates=4,device=cpu)"
    texts = [TEXT, "paper jam"]
    candidates = marian.back_translate(texts, str(models[0]), str(models[1]), 4, "cpu")
    for view in make_augmenter(spec).views(texts, 2, seed=0):
        assert all(
            changed == text or changed in translations
            for text, changed, translations in zip(texts, view, candidates, strict=True)
        )


def test_a_missing_model_is_explained(tmp_path):
    with pytest.raises(InputError, match="backtranslation:apertium"):
        make_augmenter(f"backtranslation(forward_model={tmp_path / 'nowhere'})").views([TEXT], 1, seed=0)


PROGRAM = """#!/bin/sh
if [ "$1" = "-l" ]; then echo "  eng-spa"; echo "  spa-eng"; exit 0; fi
echo "$2" >> {log}
tr 'a-m' 'n-z'
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A program with the options of Apertium that replaces letters; return its log."""
    path = tmp_path / "bin" / "apertium"
    path.parent.mkdir()
    path.write_text(PROGRAM.format(log=tmp_path / "log"))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent), prepend=":")
    return tmp_path / "log"


def test_apertium_translates_in_both_directions(program, monkeypatch):
    monkeypatch.setattr(apertium, "_CHUNK_SIZE", 2)
    (view,) = make_augmenter("backtranslation:apertium").views(["abc\nxyz", "nop", "def"], 1, seed=0)
    assert view == ["nop xyz", "nop", "qrs"]
    assert program.read_text().split() == ["eng-spa", "spa-eng"] * 2


def test_a_language_pair_that_is_not_installed_is_refused(program):
    with pytest.raises(InputError, match=r"no pair eng-fra; it has eng-spa, spa-eng.*apertium-eng-fra"):
        make_augmenter("backtranslation(engine=apertium,language_pair=eng-fra)").views([TEXT], 1, seed=0)
    with pytest.raises(InputError, match="write two languages"):
        make_augmenter("backtranslation(engine=apertium,language_pair=spanish)").views([TEXT], 1, seed=0)


def test_a_missing_apertium_is_explained(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install apertium-eng-spa"):
        make_augmenter("backtranslation:apertium").views([TEXT], 1, seed=0)


def test_a_failure_of_apertium_is_an_error(program, tmp_path):
    (tmp_path / "bin" / "apertium").write_text('#!/bin/sh\n[ "$1" = -l ] && echo eng-spa spa-eng && exit 0\nexit 3\n')
    with pytest.raises(InputError, match=r"Apertium \(eng-spa\) returned . translations of 2 texts"):
        make_augmenter("backtranslation:apertium").views([TEXT, "paper"], 1, seed=0)


@pytest.mark.skipif(shutil.which("apertium") is None, reason="Apertium is not installed")
def test_the_real_apertium_translates_texts_independently():
    texts = ["The good", "boy runs [x] ^y$ 日本語 🙂", "How do I reset my password?"]
    augmenter = make_augmenter("backtranslation:apertium")
    try:
        together = augmenter.view(texts, 0, seed=0)
    except InputError as error:
        pytest.skip(str(error))
    assert [augmenter.view([text], 0, seed=0)[0] for text in texts] == together
    assert all(part in together[1] for part in ("[x]", "^", "$", "日本語 🙂"))
