import numpy as np
import pytest

from coterie.experiments.comparison import difference


def test_a_data_set_counts_once_however_many_seeds_it_has():
    found = difference({"a": [1.0, 1.0, 1.0, 1.0], "b": [3.0]})
    assert found.mean == pytest.approx(2.0)
    assert found.n_pairs == 5


def test_a_clear_difference_is_no_noise_and_a_small_one_is():
    rng = np.random.default_rng(0)
    noise = {name: rng.normal(0, 1, 5).tolist() for name in "abcd"}
    clear = {name: [value + 5 for value in values] for name, values in noise.items()}
    assert difference(noise).is_noise
    assert str(difference(noise)).endswith("noise")
    assert not difference(clear).is_noise
    low, high = difference(clear).interval
    assert low < difference(clear).mean < high


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    n_covered = 0
    for _ in range(40):
        low, high = difference({name: rng.normal(2, 1, 3).tolist() for name in "abcdefgh"}).interval
        n_covered += low <= 2 <= high
    assert 0.8 <= n_covered / 40 <= 1


@pytest.mark.parametrize(("pairs", "text"), [({"a": [4.0], "b": []}, "1 pair"), ({"a": [4.0, 3.0, 5.0]}, "3 pairs")])
def test_of_a_few_pairs_nothing_is_claimed(pairs, text):
    found = difference(pairs)
    assert found.is_noise
    assert str(found) == f"+4.0 ({text})"


def test_without_pairs_there_is_no_difference():
    assert difference({"a": []}) is None
