import torch

from coterie.losses.similarity import confidence_mask, confidence_weights


def test_confidence_mask_is_one_above_the_threshold():
    q = torch.tensor([[0.96, 0.03, 0.01], [0.01, 0.94, 0.05], [0.02, 0.01, 0.97], [0.5, 0.25, 0.25]])
    assert confidence_mask(q.log(), 0.95).tolist() == [1, 0, 1, 0]
    assert confidence_mask(q.log(), 0.0).tolist() == [1, 1, 1, 1]
    assert confidence_mask(q.log(), 1.0).tolist() == [0, 0, 0, 0]


def test_confidence_mask_is_zero_at_the_threshold():
    assert confidence_mask(torch.tensor([[0.5, 0.5]]).log(), 0.5).tolist() == [0]


def test_confidence_weights_are_equal_for_confident_texts_of_one_label():
    q = torch.tensor([[0.97, 0.03], [0.96, 0.04], [0.9, 0.1], [0.99, 0.01], [0.01, 0.99]])
    labels = torch.tensor([0, 0, 0, 0, 1])
    weights = confidence_weights((labels[:, None] == labels).float(), q.log(), 0.95)
    third = 1 / 3
    expected = [
        [third, third, 0, third, 0],
        [third, third, 0, third, 0],
        [0, 0, 0, 0, 0],
        [third, third, 0, third, 0],
        [0, 0, 0, 0, 1],
    ]
    torch.testing.assert_close(weights, torch.tensor(expected))


def test_confidence_has_no_gradient():
    log_q = torch.randn(4, 3).log_softmax(dim=1).requires_grad_()
    assert not confidence_mask(log_q, 0.5).requires_grad
    assert not confidence_weights(torch.ones(4, 4), log_q, 0.5).requires_grad
