import math

import numpy as np
import pytest
import torch

from coterie.contracts import Batch, Corpus, Network
from coterie.losses.assignment import kl, sharpen, student_t
from coterie.losses.contrastive import cross_view, nt_xent
from coterie.methods.deccrl import DECCRL, DECCRLObjective
from coterie.words.vocabulary import Vocabulary

TEXTS = ["red red blue", "blue green", "black", "green black red", "nothing known", "red blue"]
SETTINGS = {"n_clusters": 3, "n_topics": 2, "word_dim": 5, "inference_dim": 7, "min_df": 1, "max_df": 1.0}
MIXTURES = ("marginal", "expected", "gumbel", "argmax", "softmax")


def make_corpus(items=TEXTS):
    h = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    return Corpus(items, h, torch.ones(6, dtype=torch.long), torch.tensor([0, 1, 2, 0, 1, 2]))


def initialized(items=TEXTS, **options):
    torch.manual_seed(0)
    objective = DECCRLObjective(DECCRL(**SETTINGS | options), Network(4))
    objective.initialize(make_corpus(items), 0)
    return objective


def make_batch():
    h, h_1, h_2 = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(2))
    return Batch(torch.arange(6), h, (h_1, h_2))


# -- terms


def test_the_loss_is_equation_16():
    settings = {"cluster_weight": 0.3, "reconstruction_weight": 0.2, "temperature": 0.4, "degrees_of_freedom": 2.0}
    objective, batch = initialized(scale=1.5, **settings), make_batch()
    torch.manual_seed(7)
    terms = objective.joint(batch)
    assert terms.keys() == {"instance", "cluster", "reconstruction"}
    contrast = cross_view(*(objective.g(h) for h in batch.augmented), tau=0.4)
    log_q = student_t(1.5 * batch.original, 1.5 * objective.mu, alpha=2.0)
    torch.manual_seed(7)  # the same noise
    torch.testing.assert_close(terms["instance"], contrast)
    torch.testing.assert_close(terms["cluster"], 0.3 * kl(sharpen(log_q), log_q))
    torch.testing.assert_close(terms["reconstruction"], 0.2 * objective.reconstruction(log_q, batch.rows))


def slow_reconstruction(objective, q, noise):
    """Eq. 10-15 with every topic of every cluster, text by text; texts without words are left out of the mean."""
    topics, total, n_texts = objective.topics, 0.0, 0
    with torch.no_grad():
        alpha = torch.stack(
            [torch.stack([topics.words.fc_g(torch.cat([c, u])) for u in topics.words.u]) for c in objective.mu]
        )  # (K, T, R)
        beta = torch.softmax(torch.einsum("vr,ktr->ktv", topics.words.rho, alpha), dim=2)
        for i, text in enumerate(TEXTS):
            index = topics.vocabulary.index
            word_ids = [index[word] for word in text.split() if word in index]
            if not word_ids:
                continue
            bag = torch.zeros(len(topics.vocabulary))
            for word_id in word_ids:
                bag[word_id] += 1 / len(word_ids)
            hidden = topics.inference.hidden(bag @ topics.inference.words + topics.inference.bias)
            mean, log_variance = topics.inference.mean(hidden), topics.inference.log_variance(hidden)
            theta = torch.softmax(mean + noise[i] * torch.exp(log_variance / 2), dim=0)
            of_cluster = [math.prod(float(beta[k].T[word_id] @ theta) + 1e-6 for word_id in word_ids) for k in range(3)]
            divergence = -0.5 * sum(1 + s - m**2 - math.exp(s) for m, s in zip(mean, log_variance, strict=True))
            total += float(divergence) - math.log(sum(float(q[i, k]) * of_cluster[k] for k in range(3)))
            n_texts += 1
    assert n_texts == 5
    return total / n_texts


def test_departure_the_reconstruction_marginalizes_the_cluster_of_each_text_with_words():
    objective, batch = initialized(min_df=2), make_batch()
    assert objective.topics.vocabulary.words == ["black", "blue", "green", "red"]
    log_q = objective.log_q(batch.original)
    torch.manual_seed(3)
    found = objective.reconstruction(log_q, batch.rows).item()
    torch.manual_seed(3)
    noise = torch.randn(6, 2)
    assert found == pytest.approx(slow_reconstruction(objective, log_q.detach().exp(), noise), rel=1e-4)


def test_the_contrastive_loss_may_be_twice_that_of_sccl():
    objective, batch = initialized(contrastive_loss="nt_xent"), make_batch()
    expected = 2 * nt_xent(*(objective.g(h) for h in batch.augmented), tau=0.5)
    torch.testing.assert_close(objective.joint(batch)["instance"], expected)
    assert initialized().joint(batch)["instance"].item() != pytest.approx(expected.item(), rel=1e-3)


def test_without_reconstruction_there_are_two_terms():
    assert initialized(reconstruct="none").joint(make_batch()).keys() == {"instance", "cluster"}


def test_the_latent_reconstruction_is_the_squared_error_of_h():
    batch = make_batch()
    objective = initialized(reconstruct="latent", reconstruction_weight=0.5)
    assert [tuple(weight.shape) for weight in objective.lsr.parameters()] == [(2, 4), (2,), (4, 2), (4,)]
    expected = (batch.original - objective.lsr(batch.original)).square().sum(dim=1).mean()
    torch.testing.assert_close(objective.joint(batch)["reconstruction"], 0.5 * expected)


@pytest.mark.parametrize("items", [np.eye(6, 4), ["?", "!", "1", "2", "3", "4"]], ids=["vectors", "no words"])
def test_without_words_there_are_two_terms(items):
    objective = initialized(items)
    assert objective.joint(make_batch()).keys() == {"instance", "cluster"}
    assert objective.topics.vocabulary.words == []


def test_departure_distances_are_scaled():
    objective, h = initialized(scale=3.0), make_batch().original
    torch.testing.assert_close(objective.log_q(h), student_t(3 * h, 3 * objective.mu, alpha=10.0))


# -- mixtures of Eq. 6


@pytest.mark.parametrize("topic_mixture", MIXTURES)
def test_the_reconstruction_trains_centers_topics_and_inference(topic_mixture):
    objective = initialized(topic_mixture=topic_mixture)
    h = make_batch().original.requires_grad_()
    objective.reconstruction(objective.log_q(h), torch.arange(6)).backward()
    trained = {name: weight for name, weight in objective.named_parameters() if name.startswith(("topics", "mu"))}
    assert {"mu", "topics.words.u", "topics.words.fc_g.weight", "topics.inference.words"} <= trained.keys()
    for name, weight in trained.items():
        assert weight.grad is not None, name
        assert weight.grad.abs().sum() > 0, name
    assert (h.grad is not None and h.grad.abs().sum() > 0) == (topic_mixture != "argmax")


def test_the_whole_loss_trains_every_parameter():
    objective = initialized()
    sum(objective.joint(make_batch()).values()).backward()
    for name, weight in objective.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.abs().sum() > 0, name


def test_departure_all_mixtures_but_that_of_the_paper_agree_if_q_is_one_hot():
    one_hot = torch.full((6, 3), -40.0)
    one_hot[torch.arange(6), torch.arange(6) % 3] = 0.0
    soft = initialized().log_q(make_batch().original)
    values = {}
    for topic_mixture in MIXTURES:
        for kind, log_q in (("one-hot", one_hot), ("soft", soft)):
            objective = initialized(topic_mixture=topic_mixture)
            torch.manual_seed(1)  # the same noise
            values[topic_mixture, kind] = objective.reconstruction(log_q, torch.arange(6)).item()
    for topic_mixture in ("marginal", "expected", "gumbel"):
        assert values[topic_mixture, "one-hot"] == pytest.approx(values["argmax", "one-hot"], rel=1e-4)
    assert values["softmax", "one-hot"] != pytest.approx(values["argmax", "one-hot"], rel=1e-3)
    assert values["expected", "soft"] != pytest.approx(values["argmax", "soft"], rel=1e-3)
    assert values["marginal", "soft"] != pytest.approx(values["expected", "soft"], rel=1e-3)


# -- size


def test_no_tensor_has_the_size_of_all_word_distributions():
    """K = 152, T = 20, V = 20,000, as in the largest data set: the whole beta would have K x T x V numbers."""
    settings = {"n_clusters": 152, "n_topics": 20, "word_dim": 100, "inference_dim": 64}
    objective = DECCRLObjective(DECCRL(**settings), Network(32))
    vocabulary = Vocabulary([f"w{i}" for i in range(20_000)])
    generator = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in generator.integers(20_000, size=8)) for _ in range(200)]
    corpus = Corpus(texts, torch.randn(200, 32), torch.ones(200, dtype=torch.long), torch.arange(200) % 152)
    objective.mu.data.copy_(corpus.means(152))
    objective.topics.initialize(vocabulary, torch.randn(20_000, 100), corpus, objective.mu.detach())
    largest = 0

    class LargestTensor(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            found = func(*args, **(kwargs or {}))
            for x in found if isinstance(found, tuple | list) else [found]:
                largest = max(largest, x.numel() if isinstance(x, torch.Tensor) else 0)
            return found

    with LargestTensor():
        objective.reconstruction(objective.log_q(corpus.h), torch.arange(200)).backward()
    assert 152 * 20_000 <= largest < 152 * 20 * 20_000 / 10
