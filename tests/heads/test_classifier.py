import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.heads.classifier import Classifier


def classifier(n_clusters=12, *, dim=6, width=16):
    torch.manual_seed(0)
    return Classifier(dim, n_clusters, width=width)


def make_logits(n=60, n_clusters=12, *, never=(), seed=0):
    """Return logits (N, K) that predict cluster i mod K for row i; clusters in ``never`` are never predicted."""
    logits = torch.rand(n, n_clusters, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    logits[torch.arange(n), torch.arange(n) % n_clusters] += 3
    logits[:, list(never)] -= 5
    return logits


def cluster_sizes(logits, head):
    return (logits + head.offset).argmax(dim=1).bincount(minlength=logits.shape[1])


def test_parameter_count_is_that_of_two_hidden_layers():
    head = Classifier(128, 20, width=768)
    assert head(torch.zeros(5, 128)).shape == (5, 20)
    assert sum(weight.numel() for weight in head.parameters()) == 129 * 768 + 769 * 768 + 769 * 20


def test_dropout_rate_is_one_half_and_only_in_training():
    head, x = classifier(), torch.ones(4, 6)
    assert not torch.equal(head(x), head(x))
    head.eval()
    assert torch.equal(head(x), head(x))
    assert [layer.p for layer in head.layers if isinstance(layer, torch.nn.Dropout)] == [0.5, 0.5]


def test_output_equals_its_layers():
    head, x = classifier().eval(), torch.randn(5, 6)
    first, second, last = (layer for layer in head.layers if isinstance(layer, torch.nn.Linear))
    expected = last(second(first(x).clamp_min(0)).clamp_min(0))
    torch.testing.assert_close(head(x), expected)


def test_forward_does_not_use_the_offset():
    head, x = classifier().eval(), torch.randn(5, 6)
    before = head(x)
    head.offset += 10 * torch.arange(12)
    assert torch.equal(head(x), before)
    assert "offset" in head.state_dict()


def test_without_an_empty_cluster_the_offset_is_zero():
    head = classifier()
    head.offset += 7  # from an earlier epoch
    assert head.cover_all_clusters(make_logits())
    assert not head.offset.any()


def test_an_empty_cluster_gets_only_its_nearest_row():
    head, logits = classifier(), make_logits(never=[4])
    before = logits.argmax(dim=1)
    assert head.cover_all_clusters(logits)
    after = (logits + head.offset).argmax(dim=1)
    nearest = int((logits.amax(dim=1) - logits[:, 4]).argmin())
    assert (after == 4).nonzero().flatten().tolist() == [nearest]
    assert torch.equal(after[after != 4], before[after != 4])
    assert head.offset.nonzero().flatten().tolist() == [4]


def test_two_empty_clusters_of_many_get_a_row_each():
    head, logits = classifier(20), make_logits(100, 20, never=[3, 11])
    assert head.cover_all_clusters(logits)
    assert (cluster_sizes(logits, head) > 0).all()


def test_a_cluster_that_loses_its_last_row_gets_another():
    head, logits = classifier(), make_logits(never=[4])
    logits[torch.arange(60) != 5, 5] -= 5  # cluster 5 has one row left, ...
    logits[5, 4] = logits[5, 5] - 0.1  # ... which is the nearest to cluster 4
    assert (logits.argmax(dim=1) == 5).sum() == 1
    assert head.cover_all_clusters(logits)
    assert (cluster_sizes(logits, head) > 0).all()


@pytest.mark.parametrize(("n_clusters", "never"), [(12, [0, 1]), (12, range(11)), (3, [2]), (20, [5, 6, 7])])
def test_with_many_empty_clusters_it_returns_false_and_the_offset_is_zero(n_clusters, never):
    head = classifier(n_clusters)
    head.offset += 7
    assert not head.cover_all_clusters(make_logits(n_clusters=n_clusters, never=never))
    assert not head.offset.any()


def test_a_single_cluster_is_never_empty():
    head = classifier(1)
    assert head.cover_all_clusters(torch.randn(5, 1))
    assert not head.offset.any()


def test_float32_logits_are_accepted_and_not_modified():
    head, logits = classifier(), make_logits(never=[4]).float()
    before = logits.clone()
    assert head.cover_all_clusters(logits)
    assert torch.equal(logits, before)
    assert head.offset.dtype == torch.float64
    assert (cluster_sizes(logits, head) > 0).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n_clusters=st.integers(4, 30), more=st.integers(0, 60), missing=st.integers(0, 3))
def test_the_result_says_whether_every_cluster_has_a_row(seed, n_clusters, more, missing):
    head, logits = classifier(n_clusters), make_logits(n_clusters + more, n_clusters, never=range(missing), seed=seed)
    covered = head.cover_all_clusters(logits)
    if covered:
        assert (cluster_sizes(logits, head) > 0).all()
    else:
        assert not head.offset.any()
        assert (cluster_sizes(logits, head) == 0).any()
