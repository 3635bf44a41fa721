import pytest

from coterie.experiments.recipe import published, read_recipe, recipe_for, variants
from coterie.methods.aecl import AECL

PAPER = {  # λ4, E1, E2
    "agnews": (10, 10, 1),
    "searchsnippets": (0.18, 10, 1),
    "stackoverflow": (10, 2, 1),
    "biomedical": (10, 2, 1),
    "googlenews-ts": (0.09, 10, 6),
    "googlenews-t": (0.09, 10, 6),
    "googlenews-s": (0.09, 10, 6),
    "tweet": (0.09, 20, 10),
}


@pytest.mark.parametrize("dataset", PAPER)
def test_recipes_follow_the_paper(dataset):
    balance_weight, e_1, e_2 = PAPER[dataset]
    model = AECL(**recipe_for("aecl", dataset, "paper").settings)
    assert (model.balance_weight, model.contrast_epochs, model.pseudo_label_epochs) == (balance_weight, e_1, e_2)
    assert (model.instance_weight, model.pseudo_label_weight, model.entropy_weight) == (10, 5, 0.01)
    assert (model.encoder_lr, model.head_lr, model.schedule) == (5e-6, 5e-4, "constant")
    assert (model.epochs, model.batch_size, model.epoch_steps, model.max_steps) == (70, 400, None, None)
    assert (model.threshold, model.implementation, model.positives) == (0.95, "paper", "attention")
    assert (model.augmenter, model.init) == ("eda", "kmeans")
    assert (model.pseudo_labels, model.positives_by) == ("kmeans", "head")


@pytest.mark.parametrize("dataset", PAPER)
def test_the_official_recipe_trains_stage_1_one_epoch_longer(dataset):
    model = AECL(**recipe_for("aecl", dataset, "paper", "official-code").settings)
    assert (model.implementation, model.attend_to, model.reference_size) == ("official", "batch", 400)
    assert model.contrast_epochs == PAPER[dataset][1] + 1  # epochs 0 to E1


def test_published_scores_are_those_of_table_2():
    assert {published("aecl", dataset).source for dataset in PAPER} == {"AECL, Table 2"}
    scores = {dataset: (published("aecl", dataset).acc, published("aecl", dataset).nmi) for dataset in PAPER}
    assert scores == {
        "agnews": (86.21, 64.91), "searchsnippets": (80.58, 69.27), "stackoverflow": (83.22, 73.12),
        "biomedical": (45.25, 38.87), "googlenews-ts": (85.45, 93.71), "googlenews-t": (74.25, 86.16),
        "googlenews-s": (80.41, 89.44), "tweet": (80.46, 87.60),
    }  # fmt: skip


ABLATIONS = {
    "ccssl": {"positives": "confidence"},
    "no-ic": {"positives": "none"},
    "no-stage-1": {"contrast_epochs": 0},
    "no-stage-2": {"pseudo_label_epochs": 0},
    "no-pg": {"pseudo_label_weight": 0},
    "no-rc": {"entropy_weight": 0},
    "no-entropy": {"entropy_weight": 0, "balance_weight": 0},
    "instance-only": {"contrast_epochs": 1000},
}


ALSO = {("no-pg", "cpu"): {"positives_by": "head"}}  # in the other preset the head chooses positives anyway
SWEEPS = {"lambda-1", "lambda-2", "lambda-3", "lambda-4", "e1", "e2"}  # Figures 7 to 9


@pytest.mark.parametrize("preset", ["paper", "cpu"])
@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_changes_only_its_settings(name, preset):
    for dataset in PAPER:
        whole = AECL(**recipe_for("aecl", dataset, preset).settings).get_params()
        ablated = AECL(**recipe_for("aecl", dataset, preset, name).settings).get_params()
        changed = {key: ablated[key] for key in whole if ablated[key] != whole[key]}
        assert changed == ABLATIONS[name] | ALSO.get((name, preset), {})


def test_every_variant_is_tested_and_both_presets_list_their_departures():
    assert set(variants("aecl")) == {*ABLATIONS, *SWEEPS, "official-code"}
    assert all(read_recipe("aecl", name).departures for name in ("default", "cpu"))
