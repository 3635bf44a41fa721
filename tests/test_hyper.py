"""Declared hyper-parameters: their rules, and the errors that name a wrong value."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pytest

from coterie.encoders.encoder import Encoder, make_encoder
from coterie.errors import InputError
from coterie.hyper import Setting, check_settings, document_settings, hyper, settings, summary
from coterie.methods.kmeans import KMeans


@dataclass
class Machine:
    plain: str = "not a setting"
    needed: list[int] = field(default_factory=list)
    count: int = hyper(3, "how many", symbol="n", eq="Eq. 1", ge=1, le=9)
    rate: float = hyper(0.5, "how fast", gt=0, lt=1)
    mode: Literal["slow", "fast"] = hyper("slow", "how")
    loud: bool = hyper(False, "whether it makes a sound")
    limit: int | None = hyper(None, "where it ends", ge=0)
    title: str = hyper("", "what it is called")
    auto: Literal["auto"] | float = hyper("auto", "a word or a number", ge=0)


BY_NAME = {setting.name: setting for setting in settings(Machine)}


def test_settings_are_the_declared_fields_in_order():
    assert list(BY_NAME) == ["count", "rate", "mode", "loud", "limit", "title", "auto"]


def test_a_setting_has_everything_that_was_declared():
    assert BY_NAME["count"] == Setting("count", int, 3, "how many", "n", "Eq. 1", {"ge": 1, "le": 9})
    assert (Machine().count, Machine(count=5).count) == (3, 5)


def test_an_unknown_bound_is_a_type_error():
    with pytest.raises(TypeError, match=r"unknown bounds \['min'\]"):
        hyper(1, "", min=0)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("count", "a whole number and >= 1 and <= 9"),
        ("rate", "a number and > 0 and < 1"),
        ("mode", "one of 'slow', 'fast'"),
        ("loud", "true or false"),
        ("limit", "a whole number or none and >= 0"),
        ("title", "a word"),
    ],
)
def test_the_rule_lists_the_allowed_values(name, rule):
    assert BY_NAME[name].rule == rule


def test_the_rule_of_a_union_lists_both_types():
    assert "'auto'" in BY_NAME["auto"].rule
    assert "a number" in BY_NAME["auto"].rule


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("count", value) for value in (1, 9, np.int64(4), np.uint8(2))],
        *[("rate", value) for value in (0.1, 0.999, np.float32(0.5), np.float64(0.5))],
        *[("mode", value) for value in ("slow", "fast", np.str_("fast"))],
        *[("loud", value) for value in (True, False)],
        *[("limit", value) for value in (None, 0, 10**12)],
        *[("title", value) for value in ("", "x", np.str_("y"))],
        *[("auto", value) for value in ("auto", 0, 1.5)],
    ],
)
def test_good_values_are_accepted(name, value):
    assert BY_NAME[name].accepts(value)
    check_settings(Machine(**{name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[
            ("count", value)
            for value in (0, 10, -1, 2.0, np.float64(2), True, np.True_, "3", None, [3], 3j, float("nan"))
        ],
        *[("rate", value) for value in (0, 1, 0.0, 1.0, float("nan"), float("inf"), True, "0.5", None, [0.5])],
        *[("mode", value) for value in ("", "Slow", "slow ", None, 0, True, ["slow"])],
        *[("loud", value) for value in (0, 1, "yes", None, 1.0)],
        *[("limit", value) for value in (-1, 0.5, "none", False)],
        *[("title", value) for value in (None, 1, b"x", ["x"])],
        *[("auto", value) for value in ("other", -1, None, True)],
    ],
)
def test_the_error_of_a_bad_value_has_name_rule_and_value(name, value):
    with pytest.raises(InputError) as refusal:
        check_settings(Machine(**{name: value}))
    assert str(refusal.value) == f"Machine: `{name}` must be {BY_NAME[name].rule}, got {value!r}."


def test_the_first_broken_setting_is_named():
    with pytest.raises(InputError, match="`rate`"):
        check_settings(Machine(rate=2, limit=-1))


def test_fields_that_are_not_settings_are_not_checked():
    check_settings(Machine(plain=3, needed=None))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_init": 0}, "KMeans: `n_init` must be a whole number and >= 1, got 0."),
        ({"n_init": 2.5}, "KMeans: `n_init` must be a whole number and >= 1, got 2.5."),
        ({"n_init": True}, "KMeans: `n_init` must be a whole number and >= 1, got True."),
        ({"n_clusters": 0}, "KMeans: `n_clusters` must be a whole number or a word and >= 1, got 0."),
        ({"n_clusters": 2.5}, "KMeans: `n_clusters` must be a whole number or a word and >= 1, got 2.5."),
        ({"on_empty": "drop"}, "KMeans: `on_empty` must be one of 'keep', 'error', got 'drop'."),
        ({"encoder": 3}, "KMeans: `encoder` must be a word or Encoder or list or Callable or SupportsEncode, got 3."),
        ({"verbose": 1}, "KMeans: `verbose` must be true or false, got 1."),
        (
            {"random_state": 0.5},
            "KMeans: `random_state` must be a whole number or RandomState or none and >= 0 and < 4294967296, got 0.5.",
        ),
    ],
)
def test_a_method_refuses_wrong_settings_when_it_is_fitted(wrong, sentence):
    with pytest.raises(InputError) as refusal:
        KMeans(**wrong).fit(["one", "two", "three"])
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("random_state", [None, 0, np.int64(7), np.random.RandomState(0)])
def test_every_kind_of_seed_is_accepted(random_state):
    check_settings(KMeans(random_state=random_state))


def test_an_encoder_itself_is_accepted():
    encoder = make_encoder("tfidf")
    assert isinstance(encoder, Encoder)
    check_settings(KMeans(encoder=encoder))


def test_the_docstring_of_every_method_lists_its_settings():
    from coterie.clusterer import METHODS

    for cls in METHODS.values():
        text = " ".join(cls.__doc__.split())
        for setting in settings(cls):
            assert f"{setting.name}: {' '.join(setting.help.rstrip('.').split())}" in text
            assert f"Must be {setting.rule}; default {setting.default!r}." in text


def test_a_summary_is_the_docstring_without_settings():
    @dataclass
    class Tool:
        """Does something.

        In detail.
        """

        size: int = hyper(1, "how large", ge=1)

    document_settings(Tool)
    assert Tool.__doc__.endswith("Args:\n    size: how large. Must be a whole number and >= 1; default 1.\n")
    assert summary(Tool) == "Does something.\n\nIn detail."


def test_a_type_that_is_not_defined_yet_is_shown_as_written():
    @dataclass
    class Early:
        """Comes before its type."""

        kind: "Later | None" = hyper(None, "which")  # noqa: F821

    document_settings(Early)
    assert "kind: which. Must be Later | None; default None." in Early.__doc__
