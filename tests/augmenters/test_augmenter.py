"""make_augmenter, chains, the user's own views, and seeds of epochs."""

import pytest

from coterie.augmenters.augmenter import epoch_seed, make_augmenter
from coterie.augmenters.chain import ChainAugmenter
from coterie.augmenters.columns import deduplicate_views
from coterie.augmenters.eda import EDAAugmenter
from coterie.data.texts import check_texts
from coterie.errors import InputError


@pytest.mark.parametrize(
    ("spec", "params"),
    [
        ("eda", {"strength": 0.2, "operation": "any"}),
        ("eda(ascii_lowercase=true)", {"ascii_lowercase": True}),
        ("columns:a,b", {"columns": "a,b"}),
        ("contextual(model=corpus,top_k=5)", {"model": "corpus", "top_k": 5}),
        ("backtranslation:apertium", {"engine": "apertium"}),
        ("chain(contextual(model=corpus,top_k=5),chars:0.1)", {"steps": "contextual(model=corpus,top_k=5),chars:0.1"}),
        ("crop(flip=0.0,scale=0.5)", {"flip": 0, "scale": 0.5}),
    ],
)
def test_make_augmenter_and_its_spec(spec, params):
    augmenter = make_augmenter(spec)
    assert params.items() <= augmenter.params().items()
    assert make_augmenter(augmenter.spec).params() == augmenter.params()


def test_make_augmenter_returns_an_augmenter_unchanged():
    augmenter = EDAAugmenter(strength=0.4)
    assert make_augmenter(augmenter) is augmenter
    assert augmenter.spec == "eda:0.4"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("edda", "Did you mean 'eda'"),
        ("eda:0", "`strength` must be a number and > 0 and <= 1, got 0"),
        ("chain(eda:0.2,,chars)", "brackets do not match"),
        ("chain(eda(strength=0.2,chars)", "brackets do not match"),
        ("chain(eda:0.2,charz)", "Did you mean 'chars'"),
        ("chain(columns,chars)", "'columns' makes no views"),
        ("chain(chars,crop)", "'crop' makes views of images, not of texts"),
    ],
)
def test_invalid_specs_are_explained(spec, message):
    with pytest.raises(InputError, match=message):
        make_augmenter(spec).views(["a b"], 1, seed=0)


def test_a_chain_applies_its_steps_in_order():
    texts = ["reset my password again", "paper jam in the printer"]
    (first,) = make_augmenter("wordnet:0.2").views(texts, 1, seed=5)
    (second,) = make_augmenter("chars:0.3").views(first, 1, seed=6)
    assert ChainAugmenter(steps="wordnet:0.2,chars:0.3").views(texts, 1, seed=5) == (second,)


def test_columns_cannot_make_views():
    with pytest.raises(InputError, match=r"needs views: fit\(texts, views=.*columns a, b"):
        make_augmenter("columns:a, b").views(["a text"], 2, seed=0)


def test_views_of_the_user_are_deduplicated_like_the_texts():
    texts = check_texts(["reset", "", "printer", "reset"])
    views = deduplicate_views([["r1", "x", "", "r3"], ["r2", "x", "p2", "r4"]], texts, 2)
    assert [dict(zip(texts.unique, view, strict=True)) for view in views] == [
        {"reset": "r1", "printer": "printer"},  # the first row counts; a blank view becomes the text
        {"reset": "r2", "printer": "p2"},
    ]
    with pytest.raises(InputError, match="needs 2 views of each text, but 1 are given"):
        deduplicate_views([["a"] * 4], texts, 2)
    with pytest.raises(InputError, match="View 2 has 3 rows, but there are 4 texts"):
        deduplicate_views([["a"] * 4, ["a"] * 3], texts, 2)


def test_every_epoch_has_another_seed():
    seeds = {epoch_seed(seed, epoch) for seed in range(20) for epoch in range(50)}
    assert len(seeds) == 1000
    assert epoch_seed(7, 0) == 7
