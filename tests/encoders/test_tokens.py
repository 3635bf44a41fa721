"""Tokens of many texts in one tensor, their packed layout, and the dropout of the packed engine."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from coterie.encoders.engine.packed import Dropout, pack
from coterie.encoders.engine.tokens import Tokens, concatenate, tokenize

some_lengths = st.lists(st.integers(1, 9), min_size=1, max_size=12)


def tokens_of(lengths, width=0):
    values = torch.arange(sum(lengths))
    return Tokens(values[:, None] * torch.ones(width) if width else values, torch.tensor(lengths))


def as_lists(tokens):
    return [part.tolist() for part in torch.split(tokens.values, tokens.lengths.tolist())]


# -- tokens


@settings(max_examples=50, deadline=None)
@given(lengths=some_lengths, width=st.sampled_from([0, 3]), data=st.data())
def test_rows_are_selected_as_in_a_list_of_texts(lengths, width, data):
    tokens = tokens_of(lengths, width)
    rows = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=20))
    selected = tokens[torch.tensor(rows, dtype=torch.long)]
    assert len(tokens) == len(lengths)
    assert len(selected) == len(rows)
    assert as_lists(selected) == [as_lists(tokens)[row] for row in rows]


def test_states_are_selected_with_their_token_ids():
    tokens = Tokens(torch.randn(5, 2), torch.tensor([2, 3]), torch.tensor([7, 8, 9, 10, 11]))
    assert tokens[torch.tensor([1, 0])].ids.tolist() == [9, 10, 11, 7, 8]
    assert tokens.shortest_first()[0].ids.tolist() == [7, 8, 9, 10, 11]


@settings(max_examples=50, deadline=None)
@given(lengths=some_lengths, width=st.sampled_from([0, 3]), rows=st.integers(0, 150))
def test_packed_texts_can_be_unpacked(lengths, width, rows):
    tokens = tokens_of(lengths, width)
    ordered, place = tokens.shortest_first()
    assert ordered.lengths.tolist() == sorted(lengths)
    values, packed = ordered.pack(rows)
    assert len(values) == packed.rows == max(rows, sum(lengths))
    assert packed.n_tokens == sum(lengths)
    assert not values[sum(lengths) :].any()  # padding
    texts = [text.tolist() for group in packed.split(values) for text in group]
    assert [texts[i] for i in place.tolist()] == as_lists(tokens)
    positions = [i for group in packed.groups for _ in range(group.texts) for i in range(group.length)]
    assert packed.positions.tolist() == positions + [0] * (packed.rows - packed.n_tokens)


def test_pack_groups_texts_of_equal_length():
    packed = pack([2, 2, 3], rows=9)
    assert [tuple(group) for group in packed.groups] == [(2, 2), (1, 3)]
    assert (packed.n_tokens, packed.rows) == (7, 9)
    assert packed.positions.tolist() == [0, 1, 0, 1, 0, 1, 2, 0, 0]  # the last two are padding
    assert [part.tolist() for part in packed.split(torch.arange(9))] == [[[0, 1], [2, 3]], [[4, 5, 6]]]


@settings(max_examples=50, deadline=None)
@given(lengths=some_lengths, budget=st.integers(1, 40))
def test_chunks_hold_every_row_once_shortest_first_within_the_budget(lengths, budget):
    chunks = [chunk.tolist() for chunk in tokens_of(lengths).chunks(budget)]
    flat = [row for chunk in chunks for row in chunk]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[row] for row in flat] == sorted(lengths)
    sizes = [sum(lengths[row] for row in chunk) for chunk in chunks]
    assert all(size <= budget or len(chunk) == 1 for size, chunk in zip(sizes, chunks, strict=True))
    for size, following in zip(sizes, chunks[1:], strict=False):  # no chunk could have held one more text
        assert size + lengths[following[0]] > budget


@settings(max_examples=20, deadline=None)
@given(views=st.lists(some_lengths, min_size=1, max_size=3))
def test_concatenated_views_follow_each_other(views):
    tokens = [tokens_of(lengths) for lengths in views]
    assert as_lists(concatenate(tokens)) == [text for part in tokens for text in as_lists(part)]


def test_token_ids_are_those_of_the_tokenizer(model_folder):
    tokenizer = AutoTokenizer.from_pretrained(model_folder("bert"))
    assert as_lists(tokenize(tokenizer, ["alpha", "beta no-such-word", "theta " * 30], 5)) == [
        [2, 4, 3],
        [2, 5, 1, 1, 3],
        [2, 11, 11, 11, 3],
    ]
    assert len(tokenize(tokenizer, [], 5)) == 0


# -- dropout


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropout_zeroes_a_share_of_the_values_and_keeps_the_mean(p):
    torch.manual_seed(0)
    x = torch.rand(500, 401) + 1
    y = Dropout(p)(x)
    share = round(p * 256) / 256
    assert (y == 0).float().mean().item() == pytest.approx(share, abs=0.004)
    torch.testing.assert_close(y[y != 0], x[y != 0] / (1 - share))
    assert y.mean().item() == pytest.approx(x.mean().item(), abs=0.01)
    by_column = (y == 0).float().mean(dim=0)  # the same in all columns
    assert by_column.max() < share + 0.15
    assert by_column.min() > share - 0.15


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 3, 4, 5)])
def test_dropout_takes_any_shape(shape):
    assert Dropout(0.5)(torch.ones(shape)).shape == shape


def test_dropout_is_off_in_evaluation_and_for_zero():
    x = torch.randn(50, 50)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_dropout_is_determined_by_the_seed_and_differs_between_calls():
    drop, x = Dropout(0.3), torch.ones(100)
    torch.manual_seed(5)
    first, second = drop(x), drop(x)
    torch.manual_seed(5)
    assert torch.equal(drop(x), first)
    assert not torch.equal(first, second)


def test_the_gradient_of_dropout_is_its_mask():
    x = torch.randn(40, 11).requires_grad_()
    y = Dropout(0.25)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad * x.detach(), y.detach())
    assert x.grad.unique().tolist() == [0.0, pytest.approx(256 / 192)]
