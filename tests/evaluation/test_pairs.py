import json

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.cli.main import app
from coterie.errors import InputError
from coterie.evaluation import pairs
from coterie.evaluation.pairs import Kind, telling_pairs


def slow(before, after, labels, kind, n):
    """Every pair, one by one."""

    def cosine(h, i, j):
        return float(h[i] @ h[j] / (np.linalg.norm(h[i]) * np.linalg.norm(h[j])))

    scored = []
    for i in range(len(labels)):
        for j in range(i + 1, len(labels)):
            a, b = cosine(before, i, j), cosine(after, i, j)
            if (labels[i] == labels[j]) == kind.startswith("same"):
                score = min(a, b) if "close" in kind else a - b if "apart" in kind else b - a
                scored.append((score, i, j, a, b))
    return sorted(scored, reverse=True)[:n]


@pytest.mark.parametrize("block", [3, 7, 1024])
@pytest.mark.parametrize("n_pairs", [1, 4, 1000])
def test_the_five_kinds_equal_the_loop(monkeypatch, block, n_pairs):
    monkeypatch.setattr(pairs, "_BLOCK", block)
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(2, 20, 4)).astype(np.float32)
    labels = np.array(list("abc"))[rng.integers(3, size=20)]
    found = telling_pairs(before, after, labels, n_pairs=n_pairs)
    for kind in Kind.__args__:
        wanted = slow(before, after, labels, kind, n_pairs)
        own = [pair for pair in found if pair.kind == kind]
        assert [(pair.first, pair.second) for pair in own] == [(i, j) for _, i, j, _, _ in wanted]
        np.testing.assert_allclose([(p.before, p.after) for p in own], [row[3:] for row in wanted], atol=1e-5)


def test_vectors_and_labels_must_fit():
    with pytest.raises(InputError, match="3 and 3 vectors for 2 labels"):
        telling_pairs(np.ones((3, 2), np.float32), np.ones((3, 2), np.float32), ["a", "b"])


def test_the_command_shows_every_kind(topics, tmp_path):
    texts, labels = topics
    file = tmp_path / "texts.csv"
    rows = [f"{text},{label}" for text, label in zip(texts, labels.tolist(), strict=True)]
    file.write_text("\n".join(["text,label", *rows]) + "\n")

    def run(*arguments, code=0):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == code, done.output
        return done

    options = ("-m", "clusterbert", "-e", "tfidf", "--set", "epoch_steps=2", "--set", "guard=off")
    run("cluster", file, "-k", 3, "-o", tmp_path / "out", "-c", "text", *options)
    model = tmp_path / "out" / "model"
    file.write_text("\n".join(["text,label", " ,1", *rows]) + "\n")  # blank texts are in no pair
    found = json.loads(run("pairs", model, file, "-t", "label", "-c", "text", "-n", 2, "--json").stdout)
    assert {row["kind"] for row in found} == set(Kind.__args__)
    assert all((row["labels"][0] == row["labels"][1]) == row["kind"].startswith("same") for row in found)
    known = dict(zip(texts, map(str, labels.tolist()), strict=True))
    assert all(known[text] == label for row in found for text, label in zip(row["texts"], row["labels"], strict=True))
    shown = run("pairs", model, file, "-t", "label", "-c", "text", "-n", 1, "--before", "bow").stdout
    assert "moved apart" in shown
    assert "no column" in run("pairs", model, file, "-t", "topic", code=2).output
