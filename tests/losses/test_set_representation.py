import pytest
import torch
import torch.nn.functional as F

from coterie.losses.assignment import set_representation


def slow_set_representation(q, f):
    """TCC Eq. 4, one cluster at a time."""
    sums = [sum(q[i][k] * f[i] for i in range(len(f))) for k in range(len(q[0]))]
    return torch.stack([s / s.norm() for s in sums])


def random_log_q(n=6, n_clusters=4):
    return (2 * torch.randn(n, n_clusters, generator=torch.Generator().manual_seed(0))).log_softmax(dim=1)


def random_unit_rows(n, dim=4, seed=0):
    return F.normalize(torch.randn(n, dim, generator=torch.Generator().manual_seed(seed)), dim=1)


@pytest.mark.parametrize(("n", "n_clusters"), [(6, 4), (1, 3), (20, 1)])
def test_equals_slow_loop(n, n_clusters):
    log_q = random_log_q(n, n_clusters)
    f = 3 * random_unit_rows(n, seed=1)
    r = set_representation(log_q, f)
    assert r.shape == (n_clusters, 4)
    expected = slow_set_representation(log_q.double().exp(), f.double())
    torch.testing.assert_close(r.double(), expected, rtol=1e-5, atol=1e-6)


def test_one_hot_rows_contribute_to_their_own_cluster_only():
    f = random_unit_rows(4)
    log_q = (100 * F.one_hot(torch.tensor([0, 1, 1, 2]), 3).float()).log_softmax(dim=1)
    expected = torch.stack([f[0], F.normalize(f[1] + f[2], dim=0), f[3]])
    torch.testing.assert_close(set_representation(log_q, f), expected)


def test_a_cluster_without_members_is_represented_by_its_most_probable_row():
    log_q = torch.tensor([[0.0, -200.0], [0.0, -300.0]])  # exp(-200) underflows in float32
    r = set_representation(log_q, torch.eye(2))
    torch.testing.assert_close(r, torch.tensor([[0.5**0.5, 0.5**0.5], [1.0, 0.0]]))


def test_the_order_of_the_batch_does_not_matter():
    log_q = random_log_q()
    f = random_unit_rows(6)
    order = torch.tensor([3, 1, 5, 0, 2, 4])
    torch.testing.assert_close(set_representation(log_q[order], f[order]), set_representation(log_q, f))
