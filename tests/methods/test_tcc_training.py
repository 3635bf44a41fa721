from functools import partial

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import coterie
from coterie.encoders.transformer import TransformerEncoder
from coterie.evaluation.metrics import accuracy
from coterie.methods.tcc import TCC, TCCObjective


def small(**options):
    defaults = {"n_clusters": 3, "encoder": "tfidf", "epochs": 3, "epoch_steps": 4, "batch_size": 30, "guard": "off"}
    return TCC(**defaults | options)


@pytest.mark.parametrize("head_init", ["centers", "random"])
def test_departure_prototypes_start_from_the_initial_clusters_or_at_random(topics, head_init):
    model = small(head_init=head_init, epochs=0, init="kmeans").fit(topics[0])
    initial = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0])
    similarity = torch.cosine_similarity(
        torch.from_numpy(model.cluster_centers_), torch.from_numpy(initial.cluster_centers_)
    )
    assert (similarity > 0.99).all() == (head_init == "centers")
    if head_init == "centers":
        np.testing.assert_array_equal(model.labels_, initial.labels_)


def test_random_prototypes_find_the_clusters_after_the_instance_stage(topics):
    model = small(head_init="random", epochs=6, encoder_lr=1e-3, instance_epochs=3).fit(topics[0])
    initial = coterie.KMeans(n_clusters=3, encoder="tfidf").fit(topics[0])
    assert accuracy(initial.labels_, model.labels_) > 0.95
    assert [record["stage"] for record in model.history_] == ["instance"] * 3 + ["joint"] * 3


def test_the_loss_decreases(topics):
    history = small(epochs=8, queue_steps=1, encoder_lr=3e-3).fit(topics[0]).history_
    assert history[-1]["loss"] < history[1]["loss"]  # the queues are full from the second epoch on


def test_the_momentum_encoder_stays_behind_the_trained_weights(topics):
    start, end = (small(epochs=n, encoder_lr=1e-2).fit(topics[0]).objective_ for n in (0, 3))
    mu = end.momentum_encoder.get_buffer("mu")
    assert 0 < (mu - start.mu).norm() < (end.mu - start.mu).norm()


@pytest.mark.parametrize(
    "options",
    [
        {"cluster_weight": 0.0},
        {"cluster_weight": 1.0},
        {"cluster_negatives": "batch"},
        {"stochastic": False},
        {"instance_embedding": "cluster"},
        {"instance_embedding": "features"},
        {"prior": "sample"},
        {"similarity": "dot"},
        {"latent_dim": 8},
        {"instance_epochs": 1},
    ],
    ids=str,
)
def test_every_option_trains_and_keeps_its_labels_after_load(topics, tmp_path, options):
    model = small(**options, epoch_steps=2).fit(topics[0])
    model.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(topics[0]), model.labels_)
    np.testing.assert_array_equal(loaded.predict_proba(topics[0]), model.predict_proba(topics[0]))
    assert model.transform(topics[0][:2]).shape[1] == options.get("latent_dim", model.encoder_.embed(["goal"]).shape[1])


def test_a_saved_model_has_no_queue_and_no_momentum_encoder(topics, tmp_path):
    small(epochs=1).fit(topics[0]).save(tmp_path / "model")
    saved = set(load_file(tmp_path / "model" / "weights.safetensors"))
    assert "mu" in saved
    assert not [name for name in saved if name.partition(".")[0] in TCCObjective.transient]


@pytest.mark.parametrize(("stop", "instance_epochs"), [(4, 0), (8, 0), (4, 2), (8, 2)])
def test_killed_and_resumed_it_ends_bit_for_bit_the_same(topics, tmp_path, stop, instance_epochs):
    model = partial(small, instance_epochs=instance_epochs)
    whole, path = model().fit(topics[0]), tmp_path / "run.checkpoint"

    def kill(evaluation):
        if evaluation.record["step"] == stop:
            raise MemoryError("killed")

    with pytest.raises(MemoryError, match="killed"):
        model(checkpoint=path, checkpoint_every=1).fit(topics[0], callback=kill)
    assert path.exists()
    resumed = model(checkpoint=path, checkpoint_every=1).fit(topics[0])
    for name, value in whole.objective_.state_dict().items():
        assert torch.equal(resumed.objective_.state_dict()[name], value), name
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)


def test_frozen_layers_of_a_transformer_are_not_copied(topics, tiny_bert):
    encoder = TransformerEncoder(model=str(tiny_bert), max_length=16, precision="float32", device="cpu")
    model = small(encoder=encoder, trainable_layers=1, encoder_lr=1e-3, epochs=1).fit(topics[0])
    names = model.objective_.momentum_encoder.weight_names
    assert not [name for name in names if ".layers.0." in name or ".words." in name]
    assert [name for name in names if ".layers.1." in name]
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_images_from_scratch_are_not_judged_by_their_pixels():
    images = np.random.default_rng(0).integers(0, 255, (60, 8, 8), dtype=np.uint8)
    options = {"encoder": "image(width=2)", "guard": "on", "instance_epochs": 1, "epoch_steps": 2}
    guard = small(**options, augmenter="crop").fit(images).guard_
    assert guard.untrained is None
    assert guard.kept == guard.epochs == 3  # a judgment by pixels could keep an earlier one
    assert "watches for collapse only" in str(guard)
