"""Training in bfloat16, which `auto` chooses where the processor has it, and what a fit does not compute twice."""

import numpy as np
import pytest

import coterie
from coterie import closing
from coterie.encoders.engine.device import bfloat16_works
from coterie.encoders.engine.network import TransformerNetwork
from coterie.methods.sccl import SCCLObjective

pytestmark = pytest.mark.skipif(not bfloat16_works(), reason="bfloat16 crashes on this processor")


@pytest.fixture
def fit(topics, tiny_bert):
    def fit(precision):
        encoder = f"transformer(model={tiny_bert},precision={precision})"
        model = coterie.SCCL(n_clusters=3, encoder=encoder, epochs=1, batch_size=30, trainable_layers=1, n_neighbors=2)
        return model.fit(topics[0])

    return fit


def test_the_loss_in_bfloat16_is_that_of_float32(fit):
    expected, found = fit("float32").history_[0], fit("bfloat16").history_[0]
    assert set(expected) == set(found)
    for term in ("loss", "instance", "cluster"):
        assert found[term] == pytest.approx(expected[term], rel=1e-2)
        assert found[term] != expected[term]


def test_a_fit_that_keeps_the_untrained_clusters_computes_them_and_their_embeddings_once(fit, topics, monkeypatch):
    methods, heights = [], []
    untrained, embed_tokens = closing.untrained_model, TransformerNetwork._embed_tokens

    def counted(method, *args):
        methods.append(method)
        return untrained(method, *args)

    def recorded(self, layers, tokens, **how):
        heights.append(len(tokens))
        return embed_tokens(self, layers, tokens, **how)

    monkeypatch.setattr("coterie.deep.untrained_model", counted)
    monkeypatch.setattr(TransformerNetwork, "_embed_tokens", recorded)
    monkeypatch.setattr(SCCLObjective, "max_loss", -100.0)
    model = fit("bfloat16")
    assert (model.guard_.kept, methods) == (0, ["neighbors"])
    assert heights == [len(set(topics[0]))] * 2  # before training, and after its epoch
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)
