"""Two processes train as one does: loss and gradients of every method, labels, and what happens when one is killed."""

import json
import multiprocessing
import os
import shutil
import signal
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from typer.testing import CliRunner

import coterie
from coterie import seeding
from coterie.cli.main import app
from coterie.errors import TrainingStopped

sys.path.insert(0, str(Path(__file__).parents[1] / "contracts"))
from short_training import DEEP_METHODS, short

pytestmark = pytest.mark.filterwarnings("ignore")


def in_processes(n, folder, function, *args, n_answers=None):
    """Return what ``function(*args)`` returned in each of ``n`` new processes that train together; an error is text.

    One process is new, too: what other tests left in this one, such as a number of threads, would change rounding.
    """
    context = multiprocessing.get_context("forkserver")  # a fork of this process could inherit locked threads
    context.set_forkserver_preload(["torch.distributed", "transformers", "sklearn.cluster"])  # imported once for all
    answers = context.Queue()
    processes = [context.Process(target=_work, args=(rank, n, folder, answers, function, args)) for rank in range(n)]
    for process in processes:
        process.start()
    n_answers = n_answers or n
    found = dict(answers.get(timeout=300) for _ in range(n_answers))
    for process in processes:
        process.join(60)
    return [found[rank] for rank in range(n_answers)]


def _work(rank, n, folder, answers, function, args):
    try:
        if n > 1:
            dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=n)
        answers.put((rank, function(*args)))
    except BaseException:
        answers.put((rank, traceback.format_exc()))
    answers.close()
    answers.join_thread()
    os._exit(0)  # without pytest's own end


def gradients_of(methods, texts, encoder):
    """Return loss terms and gradients of a step in every stage of the methods; the weights stay."""
    taken = []

    def record(adam, *_, **__):
        weights = [weight for group in adam.param_groups for weight in group["params"]]
        taken.append([None if weight.grad is None else weight.grad.numpy().copy() for weight in weights])

    settings = {"epochs": 3, "epoch_steps": 1, "max_steps": 3, "batch_size": 31, "guard": "off"}
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.Adam, "step", record)
        patch.setitem(seeding._REPLACEMENTS, torch.nn.functional.dropout, lambda own, x, *_, **__: x)
        for name in methods:
            model = short(DEEP_METHODS[name], encoder=encoder, **settings).fit(texts)
            losses = [{k: v for k, v in r.items() if isinstance(v, float) and k != "seconds"} for r in model.history_]
            found[name] = losses, taken.copy()
            taken.clear()
    return found


def without_dropout(bert, folder):
    """Return a copy of a BERT without dropout: each process draws its own."""
    shutil.copytree(bert, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def compare(one, two, tolerance):
    for name, (losses, gradients) in one.items():
        assert len(gradients) == len(two[name][1]) > 0, name
        for expected, found in zip(losses, two[name][0], strict=True):
            assert expected == pytest.approx(found, rel=2e-5, abs=1e-6), name
        for expected, found in zip(gradients, two[name][1], strict=True):
            assert [g is None for g in expected] == [g is None for g in found], name
            a, b = (np.concatenate([g.ravel() for g in step if g is not None]) for step in (expected, found))
            assert np.abs(a - b).max() <= tolerance * np.abs(a).max(), name  # without negatives both are 0


@pytest.mark.parametrize(("encoder", "tolerance"), [("tfidf", 2e-6), ("bert", 2e-3)])
def test_loss_and_gradients_of_every_method_are_those_of_one_process(topics, tiny_bert, tmp_path, encoder, tolerance):
    methods = list(DEEP_METHODS)
    if encoder == "bert":  # untrained, its embeddings are nearly equal, and so rounding shows
        methods = ["sccl", "tsdae"]
        encoder = f"transformer:{without_dropout(tiny_bert, tmp_path / 'bert')}"
    (one,) = in_processes(1, tmp_path, gradients_of, methods, topics[0], encoder)
    first, second = in_processes(2, tmp_path, gradients_of, methods, topics[0], encoder)
    assert not isinstance(one, str), one
    assert not isinstance(first, str), first
    assert not isinstance(second, str), second
    compare(one, first, tolerance)
    for name in one:  # bit-equal, or the processes would drift apart
        for a, b in zip(first[name][1], second[name][1], strict=True):
            for x, y in zip(a, b, strict=True):
                assert (x is None and y is None) or np.array_equal(x, y), name


def fit_labels(texts, encoder):
    model = short(coterie.SCCL, encoder=encoder, max_steps=6, epochs=3).fit(texts)
    return model.labels_.tolist(), model.guard_, [record["guard"] for record in model.history_]


def test_both_processes_have_the_labels_of_one_process(topics, tmp_path):
    one = fit_labels(topics[0], "tfidf")
    first, second = in_processes(2, tmp_path, fit_labels, topics[0], "tfidf")
    assert first == second
    assert first[0] == one[0]
    assert first[1].score == pytest.approx(one[1].score)


def fit_until_killed(texts, checkpoint, kill_at):
    steps = []

    def die(*args):
        steps.append(args)
        if dist.get_rank() == 1 and len(steps) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    model = short(coterie.SCCL, max_steps=6, epochs=3, epoch_steps=2, checkpoint=checkpoint, checkpoint_every=1)
    objective = coterie.methods.sccl.SCCLObjective
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objective, "after_step", die)
        return model.fit(texts).history_[-1]["step"], len(steps)


def test_a_killed_process_stops_the_other_with_a_sentence_and_training_resumes(topics, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    (answer,) = in_processes(2, tmp_path, fit_until_killed, topics[0], checkpoint, 4, n_answers=1)
    assert TrainingStopped.__name__ in answer
    assert "Another process of this training has ended. Stopped at step" in answer
    assert "run the same command again to resume" in answer
    (tmp_path / "again").mkdir()
    first, second = in_processes(2, tmp_path / "again", fit_until_killed, topics[0], checkpoint, 99)
    assert first == second
    assert first[0] == 6
    assert first[1] < 4  # the steps before the checkpoint are not done again


def command(file, out):
    os.environ |= {"RANK": str(dist.get_rank()), "WORLD_SIZE": "2", "MASTER_ADDR": "here"}
    settings = [text for pair in ("epochs=1", "max_steps=2", "init=kmeans") for text in ("--set", pair)]
    arguments = ["cluster", str(file), "-k", "3", "-e", "tfidf", "-m", "sccl", "--no-report", "--out", str(out)]
    run = CliRunner().invoke(app, [*arguments, *settings])
    return run.exit_code, run.output


def test_on_the_command_line_the_first_process_writes_and_the_other_is_silent(topics, tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(topics[0]))
    first, second = in_processes(2, tmp_path, command, file, tmp_path / "out")
    assert first[0] == 0, first[1]
    assert "Written to" in first[1]
    assert second == (0, "")
    assert len(coterie.load(tmp_path / "out").labels_) == 90


def test_other_commands_run_in_the_first_process_only(monkeypatch):
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "here"}.items():
        monkeypatch.setenv(name, value)
    assert CliRunner().invoke(app, ["methods"]).output == ""
    monkeypatch.setenv("RANK", "0")
    assert "sccl" in CliRunner().invoke(app, ["methods"]).output
