"""A new file in coterie/augmenters is covered without editing this one."""

import pickle
import runpy
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from coterie.augmenters import cache
from coterie.augmenters.augmenter import AUGMENTERS, UnchangedWarning, make_augmenter, n_unchanged
from coterie.errors import InputError
from coterie.progress import listening

tiny = runpy.run_path(str(Path(__file__).parents[1] / "augmenters" / "tiny.py"))
NAMES = [name for name, cls in AUGMENTERS.items() if cls.takes == "texts" and name != "given"]  # that one's are given
each_augmenter = pytest.mark.parametrize("name", NAMES)

NOTHING_IS_DRAWN = {"dropout", "backtranslation"}
TEXTS = [
    "How do I reset my password again?", "forgot my password, please help", "printer says paper jam", "paper jam",
    "Reset the broken printer", "money back for the old invoice, please", "the screen is broken again", "password",
]  # fmt: skip
ODD = [
    "日本語のテキスト", "我喜欢编程。 你呢?", "ภาษาไทยไม่มีช่องว่าง", "🙂🙂🙂", "👩‍👩‍👧‍👦 family 👍🏽", "a", "?!",
    "x" * 5000, "word " * 500,
    "naïve café", "ПРИВЕТ мир", "مرحبا بالعالم", "\U0010ffff", "[MASK] <mask> ##s", "e\u0301te\u0301", " two  spaces ",
    "ß",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tiny")
    tiny["small_wordnet"](made / "wordnet")
    tiny["write_bert"](made / "bert")
    tiny["write_marian"](made / "there", 0)
    tiny["write_marian"](made / "back", 1)
    return made


@pytest.fixture(autouse=True)
def _surroundings(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_WORDNET", str(folder / "wordnet"))
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def make(folder):
    """Make an augmenter by name, with models that are here."""
    specs = {
        "contextual": f"contextual(model={folder / 'bert'},device=cpu)",
        "backtranslation": f"backtranslation(there={folder / 'there'},back={folder / 'back'},candidates=3,device=cpu)",
    }
    return lambda name: make_augmenter(specs.get(name, name))


@each_augmenter
def test_every_text_gets_a_view_that_says_something(name, make):
    views = make(name).views(TEXTS, 3, seed=0)
    assert [len(view) for view in views] == [len(TEXTS)] * 3
    assert all(isinstance(text, str) and text.strip() for view in views for text in view)


@each_augmenter
def test_one_seed_gives_one_answer_whatever_the_order_and_the_batch(name, make):
    first, second = make(name).views(TEXTS, 2, seed=3)
    assert make(name).views(TEXTS, 2, seed=3) == (first, second)
    backwards = make(name).views(TEXTS[::-1], 2, seed=3)
    assert [list(view)[::-1] for view in backwards] == [list(first), list(second)]
    alone = [make(name).views([text], 2, seed=3) for text in TEXTS]
    assert [view[0] for view, _ in alone] == list(first)
    assert [view[0] for _, view in alone] == list(second)


@each_augmenter
def test_another_seed_or_view_draws_again(name, make):
    if name in NOTHING_IS_DRAWN:
        pytest.skip("nothing is drawn here")
    texts = [f"{text} {other}" for text in TEXTS for other in TEXTS]
    (first, second), (third,) = make(name).views(texts, 2, seed=0), make(name).views(texts, 1, seed=1)
    assert first != second
    assert first != third


@each_augmenter
@pytest.mark.filterwarnings("ignore::coterie.augmenters.augmenter.UnchangedWarning")
def test_any_script_and_any_emoji_comes_back_valid(name, make):
    for view in make(name).views(ODD, 2, seed=0):
        for text, other in zip(ODD, view, strict=True):
            assert other.strip()
            assert other.encode("utf-8").decode("utf-8") == other
            assert "👩‍👩‍👧‍👦" not in text or "family" not in other or "\u200d" not in other.replace("👩‍👩‍👧‍👦", "")


@pytest.mark.parametrize("name", ["eda", "wordnet", "chars", "delete", "contextual", "chain"])
def test_a_language_that_it_is_not_made_for_is_left_alone_counted_and_said(name, make):
    texts = ["日本語のテキストです", "これはペンです。", "ภาษาไทยไม่มีช่องว่าง"] * 4
    with pytest.warns(UnchangedWarning, match="24 of 24 views"):
        views = make(name).views(texts, 2, seed=0)
    assert [n_unchanged(texts, view) for view in views] == [12, 12]


@each_augmenter
def test_progress_is_told(name, make, listener):
    make(name).views(TEXTS, 1, seed=0)
    assert name == "dropout" or listener.told["Augmenting"] >= len(TEXTS)


@pytest.fixture
def listener():
    from collections import Counter
    from contextlib import contextmanager

    told = Counter()

    @contextmanager
    def listen(label, total):
        yield lambda done, note="": told.update({label: done})

    listen.told = told
    with listening(listen):
        yield listen


@each_augmenter
def test_views_are_read_from_the_disk_when_they_were_made_before(name, make, monkeypatch):
    if name == "dropout":
        pytest.skip("the texts themselves need not be kept")
    monkeypatch.setattr(cache, "WORTH_KEEPING", 0)
    views = make(name).views(TEXTS, 2, seed=0)
    monkeypatch.setattr(type(make(name)), "rewrite", lambda *_, **__: pytest.fail("made again"))
    assert make(name).views(TEXTS, 2, seed=0) == views
    with pytest.raises(pytest.fail.Exception, match="made again"):
        make(name).views(TEXTS, 2, seed=1)


@each_augmenter
def test_nothing_is_written_when_making_is_quick(name, make, tmp_path):
    make(name).views(TEXTS[:2], 1, seed=0)
    assert not (tmp_path / "cache").exists()


@each_augmenter
def test_it_survives_a_pickle_and_its_own_spec(name, make):
    augmenter = make(name)
    for again in (pickle.loads(pickle.dumps(augmenter)), make_augmenter(augmenter.spec)):
        assert again.params() == augmenter.params()
        assert again.views(TEXTS[:3], 1, seed=0) == augmenter.views(TEXTS[:3], 1, seed=0)


@pytest.mark.parametrize("cls", AUGMENTERS.values(), ids=AUGMENTERS.keys())
def test_documented(cls):
    assert cls.__doc__
    assert all(f.metadata["help"] for f in fields(cls))
    known = {"", *(f.name for f in fields(cls))}
    assert {cls.after_colon, cls.in_brackets} <= known


@pytest.mark.parametrize("name", [name for name, cls in AUGMENTERS.items() if cls.takes == "images"])
def test_an_augmenter_of_images_keeps_the_same_promises(name, listener):
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    first, second = make_augmenter(name).views(images, 2, seed=3)
    assert (first.shape, first.dtype) == (images.shape, np.uint8)
    assert (first != second).any()
    assert (first != make_augmenter(name).views(images, 1, seed=4)[0]).any()
    backwards = make_augmenter(name).views(images[::-1], 2, seed=3)
    np.testing.assert_array_equal([view[::-1] for view in backwards], [first, second])
    alone = [make_augmenter(name).views(images[i : i + 1], 2, seed=3) for i in range(12)]
    np.testing.assert_array_equal(np.concatenate([view for view, _ in alone]), first)
    again = pickle.loads(pickle.dumps(make_augmenter(name)))
    np.testing.assert_array_equal(again.views(images, 2, seed=3)[1], second)
    assert listener.told["Augmenting"] >= len(images)


def _eda_in_another_process(texts):
    return [list(make_augmenter(name).views(texts, 1, seed=0)[0]) for name in ("eda", "chars", "delete")]


def test_the_number_of_workers_does_not_matter():
    texts = TEXTS * 3
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(_eda_in_another_process, [texts[:5], texts[5:]]))
    together = _eda_in_another_process(texts)
    assert [first + second for first, second in zip(*parts, strict=True)] == together


@pytest.mark.parametrize("name", ["eda", "wordnet", "chars", "delete", "contextual"])
def test_a_strength_that_is_no_share_is_refused(name):
    with pytest.raises(InputError, match=r"`strength` must be a number and > 0 and <= 1, got 1\.5"):
        make_augmenter(f"{name}:1.5")


def test_given_says_how_views_are_given():
    with pytest.raises(InputError, match=r"fit\(texts, views="):
        make_augmenter("given").views(TEXTS, 2, seed=0)
