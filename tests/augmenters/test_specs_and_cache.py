import os
import stat

import pytest

from coterie.augmenters import cache
from coterie.augmenters.augmenter import epoch_seed, make_augmenter
from coterie.augmenters.cache import CacheWarning, Recipe, cache_folder, kept
from coterie.augmenters.chain import ChainAugmenter
from coterie.augmenters.eda import EDAAugmenter
from coterie.errors import InputError


@pytest.mark.parametrize(
    ("spec", "params"),
    [
        ("eda", {"strength": 0.2, "operation": "any"}),
        ("eda:0.1", {"strength": 0.1}),
        (" eda( operation = swap , strength=0.3 ) ", {"strength": 0.3, "operation": "swap"}),
        ("eda(plain=true)", {"plain": True}),
        ("given:a,b", {"columns": "a,b"}),
        ("contextual(model=own,top_k=5)", {"model": "own", "top_k": 5}),
        ("backtranslation:apertium", {"engine": "apertium"}),
        ("chain(contextual(model=own,top_k=5),chars:0.1)", {"steps": "contextual(model=own,top_k=5),chars:0.1"}),
    ],
)  # fmt: skip
def test_what_a_user_writes_is_read(spec, params):
    augmenter = make_augmenter(spec)
    assert params.items() <= augmenter.params().items()
    assert make_augmenter(augmenter.spec).params() == augmenter.params()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("edda", "Did you mean 'eda'"),
        ("dropout:0.1", "takes nothing after a colon"),
        ("eda:", "nothing follows the colon"),
        ("eda:much", "`strength` must be a number and > 0 and <= 1, got 'much'"),
        ("eda:0", "`strength` must be a number and > 0 and <= 1, got 0"),
        ("eda(operation=sort)", "`operation` must be one of 'any', 'replace'"),
        ("eda(speed=3)", "'speed=3' is not a setting.*strength, operation, plain, folder"),
        ("eda(0.2)", "'0.2' is not a setting"),
        ("eda(strength=0.2", "not closed"),
        ("eda(strength=0.2,)", "do not match"),
        ("chain(eda:0.2,,chars)", "do not match"),
        ("chain(eda(strength=0.2,chars)", "do not match"),
        ("chain(eda:0.2,charz)", "Did you mean 'chars'"),
        ("chain(given,chars)", "'given' makes no views"),
    ],
)
def test_what_cannot_be_read_is_said(spec, message):
    with pytest.raises(InputError, match=message):
        make_augmenter(spec).views(["a b"], 1, seed=0)


def test_an_augmenter_passes_as_it_is():
    augmenter = EDAAugmenter(strength=0.4)
    assert make_augmenter(augmenter) is augmenter
    assert augmenter.spec == "eda:0.4"


def test_a_chain_is_one_after_the_other():
    texts = ["reset my password again", "paper jam in the printer"]
    (halfway,) = make_augmenter("wordnet:0.2").views(texts, 1, seed=5)
    (expected,) = make_augmenter("chars:0.3").views(halfway, 1, seed=6)
    assert ChainAugmenter(steps="wordnet:0.2,chars:0.3").views(texts, 1, seed=5) == (expected,)


def test_every_epoch_has_its_own_seed():
    seeds = {epoch_seed(seed, epoch) for seed in range(20) for epoch in range(50)}
    assert len(seeds) == 1000
    assert epoch_seed(7, 0) == 7


def test_the_key_depends_on_everything():
    recipe = Recipe("eda", 0, 0, ["a", "b"])
    others = [
        recipe._replace(augmenter="chars"), recipe._replace(number=1), recipe._replace(seed=1),
        recipe._replace(texts=["a b"]), recipe._replace(texts=["b", "a"]),
    ]  # fmt: skip
    assert len({recipe.key, *(other.key for other in others)}) == 6


@pytest.fixture
def keep_all(monkeypatch):
    monkeypatch.setattr(cache, "WORTH_KEEPING", 0)
    return Recipe("eda", 0, 0, ["a", "b"])


def test_views_are_kept_for_their_owner_only(keep_all):
    assert kept(lambda: ["x", "y"], keep_all) == ["x", "y"]
    assert kept(lambda: pytest.fail("made again"), keep_all) == ["x", "y"]
    assert stat.S_IMODE(cache_folder().stat().st_mode) == 0o700


@pytest.mark.parametrize("content", ["", "[", '["x"]', '["x", 1]', '{"x": "y"}'])
def test_a_damaged_file_is_made_again(keep_all, content):
    kept(lambda: ["x", "y"], keep_all)
    (cache_folder() / f"{keep_all.key}.json").write_text(content)
    assert kept(lambda: ["x", "z"], keep_all) == ["x", "z"]
    assert kept(lambda: pytest.fail("made again"), keep_all) == ["x", "z"]


def test_the_oldest_views_go_when_the_folder_is_full(keep_all, monkeypatch):
    monkeypatch.setattr(cache, "LARGEST", 60)
    for age, number in enumerate((3, 2, 1)):
        kept(lambda: ["x" * 10, "y" * 10], keep_all._replace(number=number))
        os.utime(cache_folder() / f"{keep_all._replace(number=number).key}.json", (age, age))
    kept(lambda: ["x" * 10, "y" * 10], keep_all)
    left = {path.stem for path in cache_folder().glob("*.json")}
    assert left == {keep_all.key, keep_all._replace(number=1).key}


def test_a_folder_that_cannot_be_written_is_said_and_costs_nothing_else(keep_all, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "file"))
    with pytest.warns(CacheWarning, match="COTERIE_CACHE"):
        assert kept(lambda: ["x", "y"], keep_all) == ["x", "y"]
