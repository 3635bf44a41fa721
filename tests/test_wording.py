"""Plurals, and the name that a user probably meant."""

import pytest

from coterie.wording import count, did_you_mean


@pytest.mark.parametrize(
    ("n", "noun", "expected"), [(1, "texts", "1 text"), (0, "jobs", "0 jobs"), (1325, "texts", "1,325 texts")]
)
def test_a_noun_follows_its_number(n, noun, expected):
    assert count(n, noun) == expected


def test_the_closest_name_is_suggested_in_any_case():
    names = ["epochs", "epoch_steps", "batch_size"]
    assert did_you_mean("epoch", names) == " Did you mean 'epochs'?"
    assert did_you_mean("BATCH_SIZE", names) == " Did you mean 'batch_size'?"
    assert did_you_mean("temperature", names) == ""
