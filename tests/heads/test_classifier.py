import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.heads.classifier import Classifier


def classifier(n_clusters=12, *, dim=6, width=16):
    torch.manual_seed(0)
    return Classifier(dim, n_clusters, width=width)


def made_up(n=60, n_clusters=12, *, without=(), seed=0):
    """Return logits (N, K) by which row i is of group i mod K; those of ``without`` are behind everywhere."""
    logits = torch.rand(n, n_clusters, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    logits[torch.arange(n), torch.arange(n) % n_clusters] += 3
    logits[:, list(without)] -= 5
    return logits


def sizes(logits, head):
    return (logits + head.offset).argmax(dim=1).bincount(minlength=logits.shape[1])


def test_it_has_two_hidden_layers_and_as_many_weights_as_the_papers():
    head = Classifier(128, 20, width=768)
    assert head(torch.zeros(5, 128)).shape == (5, 20)
    assert sum(weight.numel() for weight in head.parameters()) == 129 * 768 + 769 * 768 + 769 * 20


def test_dropout_is_half_and_ends_with_training():
    head, x = classifier(), torch.ones(4, 6)
    assert not torch.equal(head(x), head(x))
    head.eval()
    assert torch.equal(head(x), head(x))
    assert [layer.p for layer in head.layers if isinstance(layer, torch.nn.Dropout)] == [0.5, 0.5]


def test_it_is_what_its_layers_say():
    head, x = classifier().eval(), torch.randn(5, 6)
    first, second, last = (layer for layer in head.layers if isinstance(layer, torch.nn.Linear))
    expected = last(second(first(x).clamp_min(0)).clamp_min(0))
    torch.testing.assert_close(head(x), expected)


def test_what_is_learnt_does_not_see_the_offset():
    head, x = classifier().eval(), torch.randn(5, 6)
    before = head(x)
    head.offset += 10 * torch.arange(12)
    assert torch.equal(head(x), before)
    assert "offset" in head.state_dict()


def test_where_no_group_is_empty_nothing_is_raised():
    head = classifier()
    head.offset += 7  # of an earlier epoch
    assert head.reach_all(made_up())
    assert not head.offset.any()


def test_an_empty_group_gets_the_row_that_is_nearest_to_it_and_no_other():
    head, logits = classifier(), made_up(without=[4])
    before = logits.argmax(dim=1)
    assert head.reach_all(logits)
    after = (logits + head.offset).argmax(dim=1)
    nearest = int((logits.amax(dim=1) - logits[:, 4]).argmin())
    assert (after == 4).nonzero().flatten().tolist() == [nearest]
    assert torch.equal(after[after != 4], before[after != 4])
    assert head.offset.nonzero().flatten().tolist() == [4]


def test_two_empty_groups_of_many_get_a_row_each():
    head, logits = classifier(20), made_up(100, 20, without=[3, 11])
    assert head.reach_all(logits)
    assert (sizes(logits, head) > 0).all()


def test_a_group_that_loses_its_last_row_gets_one_back():
    head, logits = classifier(), made_up(without=[4])
    logits[torch.arange(60) != 5, 5] -= 5  # group 5 has one row left, ...
    logits[5, 4] = logits[5, 5] - 0.1  # ... which is the nearest to group 4
    assert (logits.argmax(dim=1) == 5).sum() == 1
    assert head.reach_all(logits)
    assert (sizes(logits, head) > 0).all()


@pytest.mark.parametrize(("n_clusters", "without"), [(12, [0, 1]), (12, range(11)), (3, [2]), (20, [5, 6, 7])])
def test_where_many_groups_are_empty_it_says_so_and_raises_none(n_clusters, without):
    head = classifier(n_clusters)
    head.offset += 7
    assert not head.reach_all(made_up(n_clusters=n_clusters, without=without))
    assert not head.offset.any()


def test_one_group_is_never_empty():
    head = classifier(1)
    assert head.reach_all(torch.randn(5, 1))
    assert not head.offset.any()


def test_logits_stay_as_they_are_and_may_be_of_single_precision():
    head, logits = classifier(), made_up(without=[4]).float()
    before = logits.clone()
    assert head.reach_all(logits)
    assert torch.equal(logits, before)
    assert head.offset.dtype == torch.float64
    assert (sizes(logits, head) > 0).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n_clusters=st.integers(4, 30), more=st.integers(0, 60), missing=st.integers(0, 3))
def test_it_keeps_its_word(seed, n_clusters, more, missing):
    head, logits = classifier(n_clusters), made_up(n_clusters + more, n_clusters, without=range(missing), seed=seed)
    reached = head.reach_all(logits)
    if reached:
        assert (sizes(logits, head) > 0).all()
    else:
        assert not head.offset.any()
        assert (sizes(logits, head) == 0).any()
