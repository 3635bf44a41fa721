import json

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.cli.main import app
from coterie.errors import InputError
from coterie.evaluation import moved_pairs as moved_pairs_module
from coterie.evaluation.moved_pairs import Kind, moved_pairs


def slow_moved_pairs(before, after, labels, kind, n):
    """Score every pair, one at a time."""

    def cosine(h, i, j):
        return float(h[i] @ h[j] / (np.linalg.norm(h[i]) * np.linalg.norm(h[j])))

    scored = []
    for i in range(len(labels)):
        for j in range(i + 1, len(labels)):
            if (labels[i] == labels[j]) != kind.startswith("same"):
                continue
            a = cosine(before, i, j)
            b = cosine(after, i, j)
            if "close" in kind:
                score = min(a, b)
            elif "apart" in kind:
                score = a - b
            else:
                score = b - a
            scored.append((score, i, j, a, b))
    return sorted(scored, reverse=True)[:n]


@pytest.mark.parametrize("block", [3, 7, 1024])
@pytest.mark.parametrize("n_pairs", [1, 4, 1000])
def test_all_kinds_equal_slow_loop(monkeypatch, block, n_pairs):
    monkeypatch.setattr(moved_pairs_module, "_BLOCK", block)
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(2, 20, 4)).astype(np.float32)
    labels = np.array(["a", "b", "c"])[rng.integers(3, size=20)]
    pairs = moved_pairs(before, after, labels, n_pairs=n_pairs)
    for kind in Kind.__args__:
        expected = slow_moved_pairs(before, after, labels, kind, n_pairs)
        of_kind = [pair for pair in pairs if pair.kind == kind]
        assert [(pair.first, pair.second) for pair in of_kind] == [(i, j) for _, i, j, _, _ in expected]
        cosines = [(pair.before, pair.after) for pair in of_kind]
        np.testing.assert_allclose(cosines, [row[3:] for row in expected], atol=1e-5)


def test_different_numbers_of_vectors_and_labels_raise():
    with pytest.raises(InputError, match="3 and 3 vectors for 2 labels"):
        moved_pairs(np.ones((3, 2), np.float32), np.ones((3, 2), np.float32), ["a", "b"])


def test_the_command_prints_every_kind(topics, tmp_path):
    texts, labels = topics
    file = tmp_path / "texts.csv"
    rows = [f"{text},{label}" for text, label in zip(texts, labels.tolist(), strict=True)]
    file.write_text("\n".join(["text,label", *rows]) + "\n")

    def run(*arguments, exit_code=0):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == exit_code, result.output
        return result

    options = ("-m", "clusterbert", "-e", "tfidf", "--set", "epoch_steps=2", "--set", "guard=off")
    run("cluster", file, "-k", 3, "-o", tmp_path / "out", "-c", "text", *options)
    model = tmp_path / "out" / "model"
    file.write_text("\n".join(["text,label", " ,1", *rows]) + "\n")  # the blank text must be in no pair
    pairs = json.loads(run("pairs", model, file, "-t", "label", "-c", "text", "-n", 2, "--json").stdout)
    assert {pair["kind"] for pair in pairs} == set(Kind.__args__)
    label_of_text = dict(zip(texts, map(str, labels.tolist()), strict=True))
    for pair in pairs:
        assert (pair["labels"][0] == pair["labels"][1]) == pair["kind"].startswith("same")
        assert [label_of_text[text] for text in pair["texts"]] == pair["labels"]
    table = run("pairs", model, file, "-t", "label", "-c", "text", "-n", 1, "--before", "bow").stdout
    assert "moved apart" in table
    assert "no column" in run("pairs", model, file, "-t", "topic", exit_code=2).output
