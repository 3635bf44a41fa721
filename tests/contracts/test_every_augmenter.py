"""Promises of every registered augmenter. A new file in coterie/augmenters is tested without editing this one."""

import pickle
import re
import runpy
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import fields
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import coterie.augmenters
from coterie.augmenters import augmenter as augmenter_module
from coterie.augmenters import view_cache
from coterie.augmenters.augmenter import AUGMENTERS, make_augmenter, n_unchanged
from coterie.errors import InputError, UnchangedWarning
from coterie.progress import listening
from coterie.registry import Registry

tiny = runpy.run_path(str(Path(__file__).parents[1] / "augmenters" / "tiny.py"))
DOCUMENTATION = (Path(__file__).parents[2] / "docs" / "augmenters.md").read_text(encoding="utf-8")
OF_TEXTS = [name for name, cls in AUGMENTERS.items() if cls.input_type == "texts" and cls.makes_views]
OF_IMAGES = [name for name, cls in AUGMENTERS.items() if cls.input_type == "images" and cls.makes_views]
CHANGING = [name for name in OF_TEXTS if AUGMENTERS[name].changes_input]
WITH_STRENGTH = [name for name, cls in AUGMENTERS.items() if cls.main_setting == "strength"]
each_augmenter = pytest.mark.parametrize("name", OF_TEXTS)

TEXTS = [
    "How do I reset my password again?", "forgot my password, please help", "printer says paper jam", "paper jam",
    "Reset the broken printer", "money back for the old invoice, please", "the screen is broken again", "password",
]  # fmt: skip
FAMILY = "👩‍👩‍👧‍👦"
UNUSUAL_TEXTS = [
    "日本語のテキスト", "我喜欢编程。 你呢?", "ภาษาไทยไม่มีช่องว่าง", "🙂🙂🙂", f"{FAMILY} family 👍🏽", "a", "?!",
    "x" * 5000, "word " * 500, "naïve café", "ПРИВЕТ мир", "مرحبا بالعالم", "\U0010ffff", "[MASK] <mask> ##s",
    "e\u0301te\u0301", " two  spaces ", "ß",
]  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The folder of a tiny WordNet and tiny language models."""
    folder = tmp_path_factory.mktemp("tiny")
    tiny["small_wordnet"](folder / "wordnet")
    tiny["write_bert"](folder / "bert")
    tiny["write_marian"](folder / "forward", 0)
    tiny["write_marian"](folder / "backward", 1)
    return folder


@pytest.fixture(autouse=True)
def _isolated_environment(models, tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_WORDNET", str(models / "wordnet"))
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def make(models):
    """A function that makes an augmenter by name; those that need a language model get a tiny one."""
    specs = {
        "contextual": f"contextual(model={models / 'bert'},device=cpu)",
        "backtranslation": (
            f"backtranslation(forward_model={models / 'forward'},backward_model={models / 'backward'},"
            "n_candidates=3,device=cpu)"
        ),
    }
    return lambda name: make_augmenter(specs.get(name, name))


@pytest.fixture
def progress():
    """The number of units that were reported, by label."""
    reported = Counter()

    @contextmanager
    def listener(label, total):
        yield lambda done, note="": reported.update({label: done})

    with listening(listener):
        yield reported


@each_augmenter
def test_every_text_gets_a_view_that_is_not_blank(name, make, progress):
    augmenter = make(name)
    views = augmenter.views(TEXTS, 3, seed=0)
    assert [len(view) for view in views] == [len(TEXTS)] * 3
    assert all(isinstance(text, str) and text.strip() for view in views for text in view)
    assert progress["Augmenting"] >= len(TEXTS) or not augmenter.changes_input


@each_augmenter
def test_a_view_depends_on_its_text_the_seed_and_its_index_only(name, make):
    first, second = make(name).views(TEXTS, 2, seed=3)
    assert make(name).views(TEXTS, 2, seed=3) == (first, second)
    reversed_views = make(name).views(TEXTS[::-1], 2, seed=3)
    assert [list(view)[::-1] for view in reversed_views] == [list(first), list(second)]
    one_by_one = [make(name).views([text], 2, seed=3) for text in TEXTS]
    assert [view[0] for view, _ in one_by_one] == list(first)
    assert [view[0] for _, view in one_by_one] == list(second)


@pytest.mark.parametrize("name", [name for name in OF_TEXTS if AUGMENTERS[name].is_random])
def test_another_seed_or_view_is_different(name, make):
    texts = [f"{text} {other}" for text in TEXTS for other in TEXTS]
    first, second = make(name).views(texts, 2, seed=0)
    (other_seed,) = make(name).views(texts, 1, seed=1)
    assert first != second
    assert first != other_seed


@each_augmenter
@pytest.mark.filterwarnings("ignore::coterie.augmenters.augmenter.UnchangedWarning")
def test_any_script_and_any_emoji_gives_a_valid_view(name, make):
    for view in make(name).views(UNUSUAL_TEXTS, 2, seed=0):
        for text, changed in zip(UNUSUAL_TEXTS, view, strict=True):
            assert changed.strip()
            assert changed.encode("utf-8").decode("utf-8") == changed
            if FAMILY in text and "family" in changed:  # an emoji of several code points is kept or removed as a whole
                assert "\u200d" not in changed.replace(FAMILY, "")


@pytest.mark.parametrize("name", ["eda", "wordnet", "chars", "delete", "contextual", "chain"])
def test_a_language_without_spaces_stays_unchanged_with_a_warning(name, make):
    texts = ["日本語のテキストです", "これはペンです。", "ภาษาไทยไม่มีช่องว่าง"] * 4
    with pytest.warns(UnchangedWarning, match="24 of 24 views"):
        views = make(name).views(texts, 2, seed=0)
    assert [n_unchanged(texts, view) for view in views] == [12, 12]


@pytest.mark.parametrize("name", CHANGING)
def test_views_are_cached(name, make, monkeypatch):
    monkeypatch.setattr(view_cache, "MIN_SECONDS", 0)
    views = make(name).views(TEXTS, 2, seed=0)
    monkeypatch.setattr(type(make(name)), "make_view", lambda *_, **__: pytest.fail("made again"))
    assert make(name).views(TEXTS, 2, seed=0) == views
    with pytest.raises(pytest.fail.Exception, match="made again"):
        make(name).views(TEXTS, 2, seed=1)


@each_augmenter
def test_views_that_are_made_fast_are_not_cached(name, make, tmp_path, monkeypatch):
    monkeypatch.setattr(view_cache, "MIN_SECONDS", 1000)
    make(name).views(TEXTS[:2], 1, seed=0)
    assert not list((tmp_path / "cache").rglob("*.json"))


@each_augmenter
def test_pickle_and_spec_keep_the_settings(name, make):
    augmenter = make(name)
    for copy in (pickle.loads(pickle.dumps(augmenter)), make_augmenter(augmenter.spec)):
        assert copy.params() == augmenter.params()
        assert copy.views(TEXTS[:3], 1, seed=0) == augmenter.views(TEXTS[:3], 1, seed=0)


@pytest.mark.parametrize("cls", AUGMENTERS.values(), ids=AUGMENTERS.keys())
def test_main_setting_and_list_setting_are_settings(cls):
    assert {cls.main_setting, cls.list_setting} <= {"", *(field.name for field in fields(cls))}


@pytest.mark.parametrize("name", OF_IMAGES)
def test_an_augmenter_of_images_keeps_the_same_promises(name, progress):
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    augmenter = make_augmenter(name)
    first, second = augmenter.views(images, 2, seed=3)
    assert (first.shape, first.dtype) == (images.shape, np.uint8)
    assert progress["Augmenting"] >= len(images)
    assert (first != second).any()
    assert (first != augmenter.views(images, 1, seed=4)[0]).any()
    reversed_views = augmenter.views(images[::-1], 2, seed=3)
    np.testing.assert_array_equal([view[::-1] for view in reversed_views], [first, second])
    one_by_one = [augmenter.views(images[i : i + 1], 1, seed=3)[0] for i in range(12)]
    np.testing.assert_array_equal(np.concatenate(one_by_one), first)
    copy = pickle.loads(pickle.dumps(augmenter))
    np.testing.assert_array_equal(copy.views(images, 2, seed=3)[1], second)


def make_views_of_words(texts):
    return [list(make_augmenter(name).views(texts, 1, seed=0)[0]) for name in ("eda", "chars", "delete")]


def test_views_do_not_depend_on_the_process():
    texts = TEXTS * 3
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        (in_another_process,) = pool.map(make_views_of_words, [texts[5:]])
    assert in_another_process == [view[5:] for view in make_views_of_words(texts)]


@pytest.mark.parametrize("name", WITH_STRENGTH)
def test_a_strength_above_one_is_refused(name):
    with pytest.raises(InputError, match=r"`strength` must be a number and > 0 and <= 1, got 1\.5"):
        make_augmenter(f"{name}:1.5")


def test_the_documentation_names_only_registered_augmenters():
    table = DOCUMENTATION.partition("| name |")[2].partition("\n\n")[0]
    documented = re.findall(r"^\| `(\w+)` \|", table, flags=re.M)
    assert documented
    assert set(documented) <= set(AUGMENTERS)


@pytest.fixture
def shout(tmp_path, monkeypatch):
    """The example of the documentation: one file in a folder of the package ``coterie.augmenters``."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENTATION, flags=re.S)
    (tmp_path / "shout.py").write_text(code, encoding="utf-8")
    registry = Registry("augmenter", "coterie.augmenters")
    for name, cls in AUGMENTERS.items():
        registry.register(name, cls)
    monkeypatch.setattr(augmenter_module, "AUGMENTERS", registry)
    monkeypatch.setattr(coterie.augmenters, "__path__", [*coterie.augmenters.__path__, str(tmp_path)])
    yield registry
    sys.modules.pop("coterie.augmenters.shout", None)
    vars(coterie.augmenters).pop("shout", None)


def test_an_augmenter_is_one_file(shout):
    assert "shout" in shout
    assert make_augmenter("shout").views(["a b"], 2, seed=0) == (["A B!"], ["A B!"])
    assert make_augmenter("shout:3").views(["a"], 1, seed=0) == (["A!!!"],)
    augmenter = make_augmenter("shout(marks=0)")
    assert augmenter.params() == {"marks": 0}
    assert augmenter.spec == "shout:0"
    assert make_augmenter("chain(shout:0,delete:0.1)").views(["a b"], 1, seed=0)[0][0].isupper()
    with pytest.raises(InputError, match="ShoutAugmenter: `marks` must be a whole number and >= 0, got -1"):
        make_augmenter("shout:-1")
    with pytest.raises(InputError, match="The augmenter 'shout' has the settings marks"):
        make_augmenter("shout(volume=3)")


def test_a_new_augmenter_is_listed_on_the_command_line(shout):
    from coterie.cli.main import app

    listed = CliRunner().invoke(app, ["augmenters"]).stdout
    assert re.search(r"shout +Writes in capital letters\.", listed)
    assert "exclamation marks" in CliRunner().invoke(app, ["augmenters", "shout"]).stdout


def test_the_new_augmenter_is_gone_afterwards():
    assert "shout" not in AUGMENTERS
    assert "coterie.augmenters.shout" not in sys.modules
