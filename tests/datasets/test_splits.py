import numpy as np
import pytest

from coterie.datasets.splits import SPLITS, load_split
from coterie.errors import InputError


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_clusters"),
    [("agnews", 6400, 1600, 4), ("stackoverflow", 15083, 4917, 20), ("biomedical", 15583, 4417, 20)],
)
def test_the_parts_have_the_sizes_of_the_paper_and_every_class(benchmark_data, name, n_train, n_test, n_clusters):
    train, test = load_split(name)
    assert (len(train.texts), len(test.texts)) == (n_train, n_test)
    for part in (train, test):
        assert len(part.texts) == len(part.true_labels)
        assert set(part.true_labels) == set(range(n_clusters))
        assert len(part.label_names) == n_clusters


@pytest.mark.data
@pytest.mark.parametrize("name", SPLITS)
def test_the_parts_have_the_classes_of_the_whole(benchmark_data, name):
    whole, parts = benchmark_data(name), load_split(name)
    assert sum(len(part.texts) for part in parts) == len(whole.texts)
    together = sum(np.bincount(part.true_labels) for part in parts)
    np.testing.assert_array_equal(together, np.bincount(whole.true_labels))
    assert parts[0].label_names == parts[1].label_names == whole.label_names


@pytest.mark.data
def test_label_names_match_the_texts(benchmark_data):
    train, _ = load_split("stackoverflow")
    number = train.label_names.index("hibernate")
    texts = [text for text, label in zip(train.texts, train.true_labels, strict=True) if label == number]
    assert sum("hibernate" in text.lower() for text in texts) > 0.5 * len(texts)


@pytest.mark.data
def test_a_random_split_is_always_the_same_and_has_every_row_once(benchmark_data):
    train, test = load_split("agnews")
    assert load_split("agnews")[0].texts == train.texts
    assert sorted(train.texts + test.texts) == sorted(benchmark_data("agnews").texts)


def test_a_data_set_without_parts_is_an_error():
    with pytest.raises(InputError, match=r"'tweet' has no training and test part\. There are: agnews, stackoverflow"):
        load_split("tweet")
