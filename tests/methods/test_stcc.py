"""STCC: its network and its loss against slow loops, and the codes that it learns."""

import math

import numpy as np
import pytest
import torch

import coterie
from coterie.contracts import Batch, Corpus, Network
from coterie.encoders.encoder import make_encoder
from coterie.knn.eigenmaps import laplacian_eigenmaps
from coterie.losses.reconstruction import code_cross_entropy
from coterie.methods.stcc import binary_codes


@pytest.fixture(scope="module")
def encoder(tmp_path_factory, topics):
    """The encoder `cnn` with random word vectors of 6 dimensions."""
    words = sorted({word for text in topics[0] for word in text.split()})
    rng = np.random.default_rng(0)
    lines = [" ".join([word, *(f"{x:.3f}" for x in rng.normal(size=6))]) for word in words]
    path = tmp_path_factory.mktemp("words") / "vectors.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return f"cnn(vectors={path},max_length=12)"


# -- the network


def slow_layer(x, layer, n_rows, k):
    """Return the maps [row][map][word] of x[row][map][word]: convolve, fold, keep the k largest in order, tanh."""
    n_maps, length = len(x[0]), len(x[0][0])
    weight = layer.conv.weight.detach().double().numpy().reshape(n_rows, -1, n_maps, 3)
    bias = layer.bias.detach().double().numpy().reshape(n_rows // 2, -1)
    after = []
    for row in range(0, n_rows, 2):
        maps = []
        for m in range(weight.shape[1]):
            line = [
                sum(
                    weight[r, m, before, shift] * x[r][before][place + shift - 2]
                    for r in (row, row + 1)
                    for before in range(n_maps)
                    for shift in range(3)
                    if 0 <= place + shift - 2 < length
                )
                for place in range(length + 2)
            ]
            largest = sorted(sorted(range(length + 2), key=lambda place: -line[place])[:k])
            maps.append([math.tanh(line[place] + bias[row // 2, m]) for place in largest])
        after.append(maps)
    return after


def slow_network(network, words):
    padded = [*words, *[np.zeros(6)] * (5 - len(words))]
    x = [[[word[row] if row < 6 else 0.0 for word in padded]] for row in range(8)]  # 6 dimensions, then two of zeros
    first = slow_layer(x, network.first, 8, max(math.ceil(len(padded) / 2), 5))
    return np.array(slow_layer(first, network.second, 4, 5)).ravel()


def test_the_network_is_that_of_a_slow_loop(encoder, topics):
    cnn = make_encoder(encoder).fit(topics[0])
    network = cnn.network()
    with torch.no_grad():
        network.first.bias.normal_()
        network.second.bias.normal_()
    known = cnn._loaded()
    long = " ".join(topics[0][:3])
    for text in (topics[0][0], topics[0][0].split()[0], "unknown", long):
        words = [known.vectors[known.row[word]].astype(float) for word in text.split() if word in known.row][:12]
        np.testing.assert_allclose(network.embed([text])[0], slow_network(network, words), atol=1e-5)


def test_a_text_does_not_depend_on_its_batch_or_on_room_for_longer_ones(encoder, topics):
    cnn = make_encoder(encoder).fit(topics[0])
    torch.manual_seed(0)
    network = cnn.network()
    h = network.embed(topics[0])
    assert h.shape == (90, network.dim) == (90, 2 * 8 * 5)
    np.testing.assert_array_equal(network.embed(topics[0][7:8])[0], h[7])
    torch.manual_seed(0)
    roomy = make_encoder(encoder.replace("=12", "=40")).fit(topics[0]).network()
    np.testing.assert_allclose(roomy.embed(topics[0]), h, atol=1e-6)


# -- codes and loss


def test_eigenmaps_by_lanczos_are_those_of_all_eigenvectors(monkeypatch):
    rng = np.random.default_rng(0)
    x = np.eye(4)[np.arange(300) % 4] + 0.2 * rng.normal(size=(300, 4))
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    found = laplacian_eigenmaps(x, 6, n_neighbors=5, seed=0)
    assert np.ptp(found[:, 0]) < 1e-6  # constant
    parts = [found[np.arange(300) % 4 == k, 1:4] for k in range(4)]
    assert max(part.std(axis=0).max() for part in parts) < found[:, 1:4].std() / 3  # nearly constant on each part
    monkeypatch.setattr("coterie.knn.eigenmaps._DENSE", 300)
    dense = laplacian_eigenmaps(x, 6, n_neighbors=5, seed=0)
    np.testing.assert_allclose(np.abs(found), np.abs(dense), atol=1e-6)


def test_a_bit_is_set_for_half_of_the_texts():
    y = np.random.default_rng(0).normal(size=(101, 3)) * [1, 5, 0.1] + [0, 100, -3]
    codes = binary_codes(y)
    assert codes.sum(axis=0).tolist() == [50, 50, 50]
    np.testing.assert_array_equal(codes[:, 1], y[:, 1] > sorted(y[:, 1])[50])


def test_the_loss_is_that_of_a_slow_loop():
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    codes = torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]], dtype=torch.bool)
    total = 0.0
    for i in range(4):
        for bit in range(3):
            p = 1 / (1 + math.exp(-logits[i, bit]))
            total -= math.log(p if codes[i, bit] else 1 - p)
    assert code_cross_entropy(logits, codes).item() == pytest.approx(total / 4, rel=1e-5)
    assert code_cross_entropy(torch.zeros(4, 3), codes).item() == pytest.approx(3 * math.log(2), rel=1e-6)


@pytest.mark.parametrize("reduction", ["eigenmaps", "lsa"])
def test_the_output_layer_learns_the_codes_of_the_rows(reduction, topics):
    objective = coterie.STCC(n_clusters=3, n_bits=4, dropout=0.0, reduction=reduction).build_objective(Network(5))
    h = torch.randn(90, 5, generator=torch.Generator().manual_seed(0))
    objective.initialize(Corpus(topics[0], h, torch.ones(90), torch.arange(90) % 3), 0)
    assert 0.3 < objective.codes.double().mean() < 0.6
    rows = torch.tensor([40, 2, 77])
    term = objective.learn_codes(Batch(rows, h[rows], ()))["code"]
    expected = code_cross_entropy(objective.output(h[rows]), objective.codes[rows])
    assert term.item() == pytest.approx(expected.item())


def test_it_finds_topics_by_words_and_predicts_new_texts(encoder, topics):
    settings = {"encoder": encoder, "epochs": 4, "batch_size": 30, "n_bits": 4, "init": "kmeans", "guard": "off"}
    model = coterie.STCC(n_clusters=3, **settings).fit(topics[0])
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)
    assert model.history_[-1]["code"] < model.history_[1]["code"]
    assert model.transform(topics[0][:2]).shape == (2, 80)
