import pytest

from coterie.datasets import DATASETS
from coterie.experiments.recipe import published, read_recipe, recipe_for

OFFICIAL = {  # epsilon_2, lambda, steps of contrast
    "agnews": (1, 10, 600),
    "searchsnippets": (0.1, 10, 600),
    "stackoverflow": (1, 10, 0),
    "biomedical": (1, 10, 0),
    "googlenews-ts": (0.1, 100, 600),
    "googlenews-t": (0.1, 100, 600),
    "googlenews-s": (0.1, 100, 600),
    "tweet": (0.1, 100, 0),
}


@pytest.mark.parametrize("dataset", OFFICIAL)
def test_recipes_follow_the_official_code(dataset):
    epsilon_2, lam, contrast_steps = OFFICIAL[dataset]
    settings = recipe_for("rstc", dataset, "paper").settings
    assert settings["balance_weight"] == pytest.approx(DATASETS[dataset].n_clusters * epsilon_2 / lam)
    assert settings["contrast_epochs"] * settings["epoch_steps"] == contrast_steps
    assert settings["epochs"] * settings["epoch_steps"] == 3000


def test_both_presets_list_their_departures():
    assert all(read_recipe("rstc", name).departures for name in ("default", "cpu"))


def test_published_scores_are_those_of_table_2_of_aecl():
    assert {published("rstc", dataset).source for dataset in OFFICIAL} == {"AECL, Table 2"}
    assert (published("rstc", "tweet").acc, published("rstc", "googlenews-ts").nmi) == (77.75, 92.62)
    assert published("rstc", "helpdesk") is None
