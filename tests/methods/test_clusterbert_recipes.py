import pytest

from coterie.experiments.recipe import published, read_recipe, recipe_for
from coterie.methods.clusterbert import ClusterBERT


def test_the_paper_recipe_follows_the_paper():
    settings = recipe_for("clusterbert", "agnews", "paper").settings
    model = ClusterBERT(**settings)
    assert (model.batch_size, model.encoder_lr, model.head_lr, model.schedule) == (8, 2e-5, 2e-5, "constant")
    assert (model.adapt_epochs, model.harden_epochs, model.cluster_weight, model.harden_weight) == (2, 2, 0.8, 0.75)
    assert (model.trainable_layers, model.guard, model.init, model.pseudo_labels) == (None, "off", "kmeans", "kmeans")
    assert model.augmenter == "delete"
    assert not read_recipe("clusterbert", "cpu").settings  # the defaults of the class
    assert not read_recipe("tsdae", "cpu").settings
    ablated = recipe_for("clusterbert", "agnews", "cpu", "no-reconstruction").settings
    assert ablated == {"cluster_weight": 1, "harden_weight": 1}


@pytest.mark.parametrize(
    ("method", "dataset", "acc", "nmi"),
    [("clusterbert", "stackoverflow", 79.9, 75.6), ("clusterbert", "bbc", 87.8, 67.9), ("tsdae", "agnews", 86.2, 62.9)],
)
def test_published_scores_are_those_of_table_2(method, dataset, acc, nmi):
    score = published(method, dataset)
    assert (score.acc, score.nmi) == (acc, nmi)
    assert score.source.startswith("ClusterBERT, Table 2")
