import numpy as np
import torch

from coterie.contracts import Corpus
from coterie.heads.topic_model import TopicModel, TopicWords
from coterie.words.vocabulary import Vocabulary

TEXTS = ["red red blue", "blue green", "black", "green black red", "nothing known", "red blue"]


def test_topic_words_start_from_the_words_of_the_initial_clusters():
    counts = torch.tensor([[9.0, 1, 0, 2], [0, 8, 1, 2], [1, 0, 9, 2]])
    torch.manual_seed(0)
    words, c = TopicWords(4, 2, 6), torch.eye(3, 4)
    words.initialize(torch.randn(4, 6), c, counts)
    with torch.no_grad():
        words.u.zero_()  # without the difference between the topics of a cluster
        a, b = words(c)
    found = torch.softmax(a[:, None] + b, dim=2)[:, 0]  # (K, V)
    p = counts.sum(0) / counts.sum()
    n_added = counts.sum() / 3 / 2  # half the words of a mean cluster, distributed as in the corpus
    log_p_given_k = ((counts + n_added * p) / (counts.sum(1, keepdim=True) + n_added)).log()
    expected = torch.softmax(p.log() + log_p_given_k - log_p_given_k.mean(0), dim=1)
    np.testing.assert_allclose(found, expected, atol=0.005)
    assert found.argmax(dim=1).tolist() == [0, 1, 2]


def make_model():
    torch.manual_seed(0)
    model = TopicModel(3, 4, 2, 5, 7)
    h = torch.randn(6, 4)
    corpus = Corpus(TEXTS, h, torch.tensor([1, 1, 1, 1, 1, 5]), torch.tensor([0, 1, 2, 0, 1, 2]))
    vocabulary = Vocabulary(["black", "blue", "green", "red"])
    model.initialize(vocabulary, torch.randn(4, 5), corpus, corpus.means(3))
    return model, corpus


def test_proportions_are_uniform_for_a_text_without_words():
    model, _ = make_model()
    theta = model.inference.proportions(model.bags)
    assert theta.dtype == torch.float64
    torch.testing.assert_close(theta.sum(dim=1), torch.ones(6, dtype=torch.float64))
    torch.testing.assert_close(theta[4], torch.full((2,), 0.5, dtype=torch.float64))
    assert not torch.allclose(theta[0], theta[4], atol=1e-3)


def test_weights_are_the_mean_proportions_of_a_cluster_by_text_count():
    model, corpus = make_model()
    model.fit_weights(corpus.labels, corpus.counts)
    theta = model.inference.proportions(model.bags)
    torch.testing.assert_close(model.weight[2].double(), (theta[2] + 5 * theta[5]) / 6, atol=1e-6, rtol=0)


def test_topics_are_the_most_probable_words_of_each_center():
    model, corpus = make_model()
    c = corpus.means(3)
    found = model.topics(c, n_words=2)
    with torch.no_grad():
        a, b = model.words(c)
    names = model.vocabulary.words
    for k in range(3):
        for t in range(2):
            best = (a[k] + b[t]).topk(2).indices.tolist()
            assert found[k][t].words == [names[i] for i in best]
            assert found[k][t].weight == 0.5


def test_without_a_vocabulary_there_are_no_topics():
    model = TopicModel(3, 4, 2, 5, 7)
    assert model.topics(torch.zeros(3, 4), n_words=2) == []
