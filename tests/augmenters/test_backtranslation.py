import shutil

import pytest
from tiny import WORDS, write_marian

from coterie.augmenters.augmenter import make_augmenter
from coterie.augmenters.backtranslation import chosen
from coterie.augmenters.bleu import sentence_bleu
from coterie.augmenters.language_models import apertium
from coterie.augmenters.language_models.marian import Translator
from coterie.errors import InputError

TEXT = "how do i reset my password"


def test_bleu_is_one_for_the_same_and_falls_with_every_change():
    scores = [sentence_bleu(c, TEXT) for c in (TEXT, "how do i change my password", "my password how", "paper jam", "")]
    assert scores[0] == pytest.approx(1)
    assert scores == sorted(scores, reverse=True)
    assert scores[-2:] == [0, 0]


def test_bleu_is_the_formula():
    # 2 of 3 words, 1 of 2 pairs, 0 of 1 triples and 0 of 0 runs of four are shared; no brevity penalty.
    expected = (2 / 3 * (1 + 1) / (2 + 1) * (0 + 1) / (1 + 1) * (0 + 1) / (0 + 1)) ** 0.25
    assert sentence_bleu("a b x", "a b c") == pytest.approx(expected)


def test_candidates_are_chosen_by_how_much_wording_they_keep():
    ranked = ["how do i reset my code", "how do i change my code", "how can i change my code", "what is a code"]
    both = {w: [chosen(TEXT, [TEXT, *ranked[::-1]], w, n) for n in (0, 1)] for w in ("highest", "medium", "lowest")}
    assert both["highest"] == ranked[:2]
    assert sorted(both["medium"]) == sorted(ranked[1:3])
    assert both["lowest"] == ranked[:1:-1]
    assert chosen(TEXT, [TEXT, TEXT.upper(), ""], "lowest", 0) == TEXT


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian")
    return write_marian(folder / "there", 0), write_marian(folder / "back", 1)


def test_marian_gives_so_many_candidates_and_views_from_them(models):
    found = Translator(str(models[0]), "cpu")([TEXT, "paper jam"], 4)
    assert [len(candidates) for candidates in found] == [4, 4]
    assert {word for candidates in found for text in candidates for word in text.split()} <= set(WORDS)
    spec = f"backtranslation(there={models[0]},back={models[1]},candidates=4,device=cpu)"
    first, second = make_augmenter(spec).views([TEXT, "paper jam"], 2, seed=0)
    assert {word for text in [*first, *second] for word in text.split()} <= set(WORDS)


def test_a_model_that_is_not_there_is_said_with_what_to_do(tmp_path):
    with pytest.raises(InputError, match="backtranslation:apertium"):
        make_augmenter(f"backtranslation(there={tmp_path / 'nowhere'})").views([TEXT], 1, seed=0)


PROGRAM = """#!/bin/sh
if [ "$1" = "-l" ]; then echo "  eng-spa"; echo "  spa-eng"; exit 0; fi
echo "$2" >> {log}
tr 'a-m' 'n-z'
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A program that looks like Apertium and moves letters."""
    path = tmp_path / "bin" / "apertium"
    path.parent.mkdir()
    path.write_text(PROGRAM.format(log=tmp_path / "log"))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent), prepend=":")
    return tmp_path / "log"


def test_apertium_is_run_there_and_back(program, monkeypatch):
    monkeypatch.setattr(apertium, "_AT_ONCE", 2)
    (view,) = make_augmenter("backtranslation:apertium").views(["abc\nxyz", "nop", "def"], 1, seed=0)
    assert view == ["nop xyz", "nop", "qrs"]
    assert program.read_text().split() == ["eng-spa", "spa-eng"] * 2


def test_a_pair_that_apertium_does_not_have_is_refused(program):
    with pytest.raises(InputError, match=r"no pair eng-fra; it has eng-spa, spa-eng.*apertium-eng-fra"):
        make_augmenter("backtranslation(engine=apertium,pair=eng-fra)").views([TEXT], 1, seed=0)
    with pytest.raises(InputError, match="write two languages"):
        make_augmenter("backtranslation(engine=apertium,pair=spanish)").views([TEXT], 1, seed=0)


def test_apertium_that_is_not_installed_is_said_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install apertium-eng-spa"):
        make_augmenter("backtranslation:apertium").views([TEXT], 1, seed=0)


def test_apertium_that_fails_is_not_taken_for_an_answer(program, tmp_path):
    (tmp_path / "bin" / "apertium").write_text('#!/bin/sh\n[ "$1" = -l ] && echo eng-spa spa-eng && exit 0\nexit 3\n')
    with pytest.raises(InputError, match=r"Apertium \(eng-spa\) gave . texts for 2"):
        make_augmenter("backtranslation:apertium").views([TEXT, "paper"], 1, seed=0)


@pytest.mark.skipif(shutil.which("apertium") is None, reason="Apertium is not installed")
def test_the_real_apertium_keeps_texts_apart():
    texts = ["The good", "boy runs [x] ^y$ 日本語 🙂", "How do I reset my password?"]
    augmenter = make_augmenter("backtranslation:apertium")
    try:
        together = augmenter.view(texts, 0, seed=0)
    except InputError as error:
        pytest.skip(str(error))
    assert [augmenter.view([text], 0, seed=0)[0] for text in texts] == together
    assert all(part in together[1] for part in ("[x]", "^", "$", "日本語 🙂"))
