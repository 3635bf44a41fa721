"""The table of clusters on screens of every width."""

import os

import numpy as np
import pytest
from rich.cells import cell_len

from coterie.cli.cluster_view import cluster_lines, wrap
from coterie.cli.output import screen_width
from coterie.describe.cluster_table import ClusterRow, ClusterTable, cluster_table

LONG = "paper is not printed on both sides of the paper, although in the menu for paper, paper has two sides " * 3


@pytest.fixture(scope="module")
def table():
    texts = [*["reset my password"] * 3, "paper jam", LONG, "你好世界你好世界"]
    return cluster_table(texts, np.array([0, 0, 0, 1, 1, 2]), np.array([0.5, 0.5, 0.5, 0.6, 0.5, 0.5]), 3, n_examples=3)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 300])
def test_nothing_is_wider_than_the_screen_and_examples_are_below_the_keywords(table, width):
    lines = cluster_lines(table, width)
    assert max(map(cell_len, lines)) <= width
    name = next(i for i, line in enumerate(lines) if line.startswith("1"))
    assert lines[name].split()[:2] == ["1", "Paper"]
    assert lines[name + 1].startswith("   paper, two sides")
    examples = [line for line in lines[name + 1 :] if line.startswith("   - ")]
    assert examples[0] == "   - paper jam"
    assert examples[1].startswith("   - paper is not printed")
    assert "你好世界" in "".join(lines)


@pytest.mark.parametrize(("width", "numbers"), [(40, 2), (60, 3), (120, 3)])
def test_a_narrow_screen_shows_the_first_numbers_only(table, width, numbers):
    header, _, first, *_ = cluster_lines(table, width)
    assert header.split() == ["cluster", "size", "share", "confidence"][: numbers + 1]
    assert first.split()[-numbers:] == ["3", "50.0%", "0.50"][:numbers]


def test_long_texts_end_at_a_word_after_two_lines(table):
    lines = wrap(LONG, 50, max_lines=2)
    assert len(lines) == 2
    assert lines[1].endswith(" …")
    assert set(" ".join(lines).split()[:-1]) <= set(LONG.split())
    assert wrap("x" * 100, 10, max_lines=2) == ["x" * 10, "x" * 8 + " …"]


def test_a_long_name_wraps_beside_its_numbers():
    row = ClusterRow(7, "A name that is much too long for one line of a narrow screen", 1, 1.0, 1.0, [], [])
    lines = cluster_lines(ClusterTable([row]), 60)
    assert lines[2].endswith("1  100.0%        1.00")
    assert " ".join(" ".join(lines[2:]).split()[1:]).replace(" 1 100.0% 1.00", "") == row.name


@pytest.mark.parametrize(("columns", "width"), [("90", 90), ("7", 40), ("0", 120), ("wide", 120), ("", 120)])
def test_the_width_is_that_of_columns_or_120_without_a_terminal(monkeypatch, columns, width):
    def no_terminal(_):
        raise OSError

    monkeypatch.setattr(os, "get_terminal_size", no_terminal)
    monkeypatch.setenv("COLUMNS", columns)
    assert screen_width() == width


def test_a_pipe_takes_the_width_of_the_terminal_behind_it(monkeypatch):
    def size(stream):
        if stream == 1:
            raise OSError
        return os.terminal_size((77, 20))

    monkeypatch.setattr(os, "get_terminal_size", size)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert screen_width() == 77


def test_stability_is_shown_where_it_is_known(table):
    rows = [ClusterRow(k, "Refund", 1, 0.5, 1.0, [], [], stability=known) for k, known in enumerate((0.987, None))]
    header, _, first, second = cluster_lines(ClusterTable(rows), 80)
    assert header.split()[-1] == "stability"
    assert first.endswith("1.00       0.99")
    assert second.endswith("1.00")
    assert "stability" not in cluster_lines(table, 80)[0]
