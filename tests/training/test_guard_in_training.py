"""The guard in a training: it restores the best epoch, and stops a training that diverges or collapses."""

import time

import numpy as np
import pytest
import torch

import coterie
from coterie.closing import evidence_of
from coterie.contracts import Corpus, Stage
from coterie.encoders.engine.network import TransformerNetwork
from coterie.errors import CollapseWarning, InputError, TrainingError
from coterie.methods.sccl import SCCL
from coterie.training.guard import Guard
from coterie.training.stopping import Stopping


def shifted(by):
    """Return a function that shifts the right centers; the clusters are the worse, the larger ``by`` is."""
    return lambda true: true + by * (true[1] - true.mean(dim=0))


@pytest.fixture
def with_centers():
    """Return an objective whose centers in each epoch are a function of the right centers (2, D)."""

    def build(toy, *places):
        class WithCenters(toy):
            def initialize(self, corpus, seed):
                super().initialize(corpus, seed)
                self.true = self.mu.detach().clone()
                self.mu.data.copy_(shifted(1.0)(self.true))  # poor initial centers

            def after_step(self):
                epoch = (len(self.batches) - 1) // 3
                self.mu.data.copy_(places[epoch](self.true))

        return WithCenters

    return build


def test_the_trained_objective_has_the_labels_of_the_best_epoch(train, toy, with_centers):
    seen = []
    improving_then_worse = with_centers(toy, shifted(0.9), shifted(0.0), shifted(-0.8))
    trained = train(improving_then_worse, guard="on", callbacks=[seen.append], encoder_lr=0.0)
    assert trained.guard.verdict.kept == 2
    assert [record["guard"] for record in trained.history] == [trained.guard.score(e.labels) for e in seen[1:]]
    np.testing.assert_array_equal(trained.labels, seen[2].labels)
    assert not np.array_equal(seen[2].labels, seen[3].labels)
    assert trained.guard.verdict.score == trained.history[1]["guard"]


def test_a_collapse_stops_training_and_the_best_state_is_restored(train, toy, with_centers):
    def far(true):
        return torch.stack([true.mean(dim=0), true[0] + 1e6])

    seen = []
    collapsing = with_centers(toy, shifted(0.0), far, shifted(0.0))
    with pytest.warns(CollapseWarning, match=r"stopped at step 6: nearly all items are in a few clusters"):
        trained = train(collapsing, guard="on", callbacks=[seen.append], encoder_lr=0.0)
    assert len(trained.objective.batches) == 6
    assert trained.guard.verdict.kept == 1
    assert trained.guard.verdict.stopped.startswith("nearly all items")
    np.testing.assert_array_equal(trained.labels, seen[1].labels)
    assert set(seen[2].labels) == {0}
    assert not trained.objective.training


@pytest.fixture
def breaking(toy):
    class Breaking(toy):
        def pull(self, batch):
            terms = super().pull(batch)
            return terms | {"same": terms["same"] * torch.nan} if len(self.batches) == 5 else terms

    return Breaking


def test_a_loss_that_is_nan_stops_training_and_the_best_state_is_restored(train, breaking):
    with pytest.warns(CollapseWarning, match=r"step 4: the loss is NaN or infinite \(near [\d.]+, same nan\)"):
        trained = train(breaking, guard="on")
    assert all(torch.isfinite(value).all() for value in trained.objective.state_dict().values())
    assert [record["step"] for record in trained.history] == [3]
    assert "the loss is NaN or infinite" in str(trained.guard.verdict)


def test_with_the_guard_off_a_loss_that_is_nan_is_an_error(train, breaking):
    with pytest.raises(TrainingError, match=r"Training stopped at step 4: the loss is NaN or infinite .*Lower"):
        train(breaking)


def test_embeddings_that_are_nan_stop_training(train, toy):
    class Exploding(toy):
        def after_step(self):
            if len(self.batches) == 6:  # the last step of the second epoch
                self.network.outward.weight.data.fill_(torch.nan)

    with pytest.warns(CollapseWarning, match="step 6: the embeddings contain NaN or infinity"):
        trained = train(Exploding, guard="on")
    assert np.isfinite(trained.objective.network.embed(np.ones((1, 4)))).all()


def test_embeddings_that_become_too_similar_stop_training(train, toy):
    class Merging(toy):
        def fit_assigner(self, corpus, seed):
            if len(self.batches) == 6:
                raise InputError("2 clusters were requested, but there are fewer distinct embeddings.")

    with pytest.warns(CollapseWarning, match="step 6: the embeddings have become too similar to separate the clusters"):
        train(Merging, guard="on")


def test_embeddings_that_are_too_similar_before_training_are_an_input_error(train, toy):
    class Similar(toy):
        def fit_assigner(self, corpus, seed):
            raise InputError("2 clusters were requested, but there are fewer distinct embeddings.")

    with pytest.raises(InputError, match="fewer distinct embeddings"):
        train(Similar, guard="on")


# -- in a method


def test_the_baseline_is_kmeans_on_the_pretrained_embeddings(topics):
    texts = topics[0]
    model = SCCL(n_clusters=5, encoder="tfidf", epochs=2, encoder_lr=0.1, init="neighbors").fit(texts)
    kmeans = coterie.KMeans(n_clusters=5, encoder="tfidf").fit(texts)
    distinct = sorted(set(texts))
    labels = kmeans.predict(distinct)
    corpus = Corpus(distinct, torch.from_numpy(kmeans.transform(distinct)), torch.ones(len(distinct)))
    assert model.guard_.baseline == pytest.approx(Guard("on", evidence_of(corpus, 5, seed=0), labels, 5).score(labels))


@pytest.mark.parametrize(("lr", "reason"), [(1e30, "too similar"), (1e38, "contain NaN or infinity")])
def test_after_a_far_too_high_learning_rate_the_state_before_training_is_kept(topics, lr, reason):
    model = SCCL(n_clusters=3, encoder="tfidf", epochs=3, encoder_lr=lr)
    with pytest.warns(CollapseWarning, match=reason):
        model.fit(topics[0])
    untrained = SCCL(n_clusters=3, encoder="tfidf", epochs=0).fit(topics[0])
    assert model.guard_.kept == 0
    np.testing.assert_array_equal(model.labels_, untrained.labels_)
    np.testing.assert_array_equal(model.transform(topics[0]), untrained.transform(topics[0]))


@pytest.mark.parametrize("epochs", [1, 3])
def test_with_the_guard_off_a_far_too_high_learning_rate_is_an_error(topics, epochs):
    with pytest.raises(TrainingError, match=r"NaN or (infinite|infinity).*Lower encoder_lr"):
        SCCL(n_clusters=3, encoder="tfidf", epochs=epochs, encoder_lr=1e38, guard="off").fit(topics[0])


def test_the_score_of_every_epoch_is_in_the_history(topics):
    model = SCCL(n_clusters=3, encoder="tfidf", epochs=3).fit(topics[0])
    assert [np.isfinite(record["guard"]) for record in model.history_] == [True] * 3
    assert model.guard_.epochs == 3


def test_the_guard_does_not_judge_stages_whose_labels_mean_nothing_yet(train, toy):
    class Staged(toy):
        def stages(self, epochs):
            return [Stage("blind", 2, self.pull, labeled=False), Stage("pull", 1, self.pull)]

    trained = train(Staged, guard="on")
    assert ["guard" in record for record in trained.history] == [False, False, True]
    assert trained.guard.verdict.epochs == 3
    assert trained.guard.verdict.kept in (0, 3)


@pytest.mark.parametrize("init", ["neighbors", "kmeans"])
def test_where_training_does_not_help_the_model_is_that_of_the_method_that_trains_nothing(topics, tmp_path, init):
    """Groups, probabilities, new texts and the saved model."""
    texts, new = topics[0], ["the goalkeeper saved the penalty", "interest rates rise"]
    model = SCCL(n_clusters=3, encoder="tfidf", epochs=0, init=init).fit(texts)
    untrained = coterie.clusterer.METHODS[init](n_clusters=3, encoder="tfidf").fit(texts)
    assert model.guard_.kept == 0
    np.testing.assert_array_equal(model.labels_, untrained.labels_)
    np.testing.assert_allclose(model.predict_proba(texts + new), untrained.predict_proba(texts + new), atol=1e-6)
    np.testing.assert_allclose(model.cluster_centers_, untrained.cluster_centers_, atol=1e-6)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model").predict(texts + new), model.predict(texts + new))


def test_training_ends_after_epochs_without_a_higher_score(train, toy):
    trained = train(toy, guard="on", epochs=10, stopping=Stopping(patience=2), encoder_lr=0.0, head_lr=0.0)
    assert len(trained.history) == 3  # the first, and two that are no better
    assert len(train(toy, guard="on", epochs=5, encoder_lr=0.0, head_lr=0.0).history) == 5


def test_only_epochs_of_the_last_stage_try_the_patience(train, toy):
    """Earlier stages prepare the last one: their score may fall."""

    class Staged(toy):
        def stages(self, epochs):
            return [Stage("warm-up", 4, self.pull), Stage("pull", 6, self.pull)]

    trained = train(Staged, guard="on", epochs=10, stopping=Stopping(patience=2), encoder_lr=0.0, head_lr=0.0)
    assert [record["stage"] for record in trained.history] == ["warm-up"] * 4 + ["pull"] * 3


def test_training_ends_when_the_time_is_up_and_its_last_epoch_is_judged(train, toy, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    class Slow(toy):
        def after_step(self):
            super().after_step()
            now[0] += 1.0

    trained = train(Slow, guard="on", epochs=1000, stopping=Stopping(deadline=12.5))
    assert trained.history[-1]["step"] == 13
    assert "guard" in trained.history[-1]
    assert train(toy, stopping=Stopping(deadline=now[0] - 1)).history == []


def test_a_fit_keeps_its_time_budget(topics):
    endless = {"epochs": 10**6, "max_steps": None, "patience": None}
    model = SCCL(n_clusters=3, encoder="tfidf", init="kmeans", time_budget=3.0, **endless)
    start = time.perf_counter()
    model.fit(topics[0])
    assert 2 < time.perf_counter() - start < 3.6
    assert model.history_[-1]["step"] < 10**6


def test_embeddings_of_the_last_epoch_are_not_computed_again(topics, monkeypatch):
    given = []
    monkeypatch.setattr(
        TransformerNetwork,
        "embed_corpus",
        lambda self, *inputs, call=TransformerNetwork.embed_corpus: given.append(inputs[2]) or call(self, *inputs),
    )
    model = SCCL(n_clusters=3, encoder="bundled(max_length=8,precision=float32)", epochs=1, max_steps=1, guard="off")
    model.fit(topics[0], callback=lambda _: None)
    np.testing.assert_allclose(given[0], model.transform(sorted(set(topics[0]))), atol=1e-3)
