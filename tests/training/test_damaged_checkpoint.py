"""Damaged, altered and malformed checkpoints: a sentence that names the file, never a traceback or a wrong result."""

import json
import os

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import coterie
from coterie.errors import ArtifactError, TrainingStopped
from coterie.training import checkpoint as module
from coterie.training.checkpoint import Checkpoint


@pytest.fixture
def checkpoint(train, toy, tmp_path):
    """A checkpoint at step 4 of 9."""

    class Stopped(toy):
        def after_step(self):
            super().after_step()
            if len(self.batches) == 5:
                raise KeyboardInterrupt

    checkpoint = Checkpoint(tmp_path / "run", "the same items")
    with pytest.raises(TrainingStopped):
        train(Stopped, guard="on", checkpoint=checkpoint)
    return checkpoint


def contents(path):
    with safe_open(path, framework="pt") as file:
        return file.metadata(), {name: file.get_tensor(name) for name in file.keys()}


def rewrite(path, meta=None, tensors=None, *, signed=True):
    """Write a checkpoint with other contents, and a checksum that fits, as a stranger could."""
    metadata, old = contents(path)
    text = json.dumps(json.loads(metadata["coterie"]) | (meta or {}))
    new = {name: value for name, value in (old | (tensors or {})).items() if value is not None}
    sha256 = module._sha256(text, new) if signed else metadata["sha256"]
    save_file(new, path, metadata={"coterie": text, "sha256": sha256})


def refused(train, toy, checkpoint, reason):
    with pytest.raises(ArtifactError, match=rf"{checkpoint.path} is not a readable checkpoint \(.*{reason}.*Delete it"):
        train(toy, guard="on", checkpoint=checkpoint)
    assert checkpoint.path.exists()  # nothing is deleted that the user may need


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (lambda old: old[: len(old) // 2], ""),
        (lambda old: b"", ""),
        (lambda old: b"not a checkpoint at all", ""),
        (lambda old: (2**60).to_bytes(8, "little") + old[8:], ""),
        (lambda old: old[:-100] + bytes([old[-100] ^ 1]) + old[-99:], "damaged or was altered: its SHA-256 differs"),
    ],
)
def test_a_damaged_file_is_named(train, toy, checkpoint, data, reason):
    checkpoint.path.write_bytes(data(checkpoint.path.read_bytes()))
    refused(train, toy, checkpoint, reason)


def test_altered_weights_and_records_are_found(train, toy, checkpoint):
    before = checkpoint.path.read_bytes()
    rewrite(checkpoint.path, tensors={"trained.mu": torch.ones(3, 2)}, signed=False)
    refused(train, toy, checkpoint, "SHA-256 differs")
    checkpoint.path.write_bytes(before)
    rewrite(checkpoint.path, meta={"step": 5}, signed=False)
    refused(train, toy, checkpoint, "SHA-256 differs")


def test_a_checkpoint_without_a_checksum_is_refused(train, toy, checkpoint):
    metadata, tensors = contents(checkpoint.path)
    save_file(tensors, checkpoint.path, metadata={"coterie": metadata["coterie"]})
    refused(train, toy, checkpoint, "SHA-256 differs")


@pytest.mark.parametrize(
    "meta",
    [
        {"fingerprint": 5}, {"fingerprint": None}, {"step": "4"}, {"step": -1}, {"step": 10**9}, {"step": 4.5},
        {"history": "x"}, {"history": [1]}, {"sums": []}, {"sums": {"loss": "x"}}, {"guard": {}},
        {"guard": {"baseline": "x", "score": "x", "kept": 1, "epochs": 1}}, {"guard": None}, {"guard": {"x": 1}},
        *({"guard": {"baseline": 0.1, "score": 0.1, "kept": 1, "epochs": 1} | wrong}
          for wrong in ({"epochs": [[]]}, {"kept": -1}, {"stopped": 3}, {"mode": "x"}, {"untrained": "x"})),
    ],
)  # fmt: skip
def test_records_that_no_run_writes_are_refused(train, toy, checkpoint, meta):
    rewrite(checkpoint.path, meta)
    refused(train, toy, checkpoint, "")


@pytest.mark.parametrize(
    "tensors",
    [
        {"trained.mu": None}, {"trained.more": torch.ones(1)}, {"trained.mu": torch.ones(7)}, {"best.mu": None},
        {"best.mu": torch.ones(7)},
        {"adam.0.exp_avg": torch.ones(9)}, {"adam.99.step": torch.ones(())}, {"adam.x": torch.ones(())},
        {"random.cpu": torch.ones(3)}, {"random.cpu": torch.zeros(5056, dtype=torch.uint8)},
    ],
)  # fmt: skip
def test_tensors_of_another_training_are_refused(train, toy, checkpoint, tensors):
    rewrite(checkpoint.path, tensors=tensors)
    refused(train, toy, checkpoint, "")


@pytest.mark.parametrize("value", [torch.nan, -torch.inf, 1e30])
@pytest.mark.parametrize("part", ["trained", "best"])
def test_weights_that_no_training_can_go_on_from_are_refused(train, toy, checkpoint, part, value):
    mu = contents(checkpoint.path)[1]["trained.mu"]
    rewrite(checkpoint.path, tensors={f"{part}.mu": torch.full_like(mu, value)})
    refused(train, toy, checkpoint, "mu has values that are not finite numbers, or far too large")


@pytest.mark.parametrize("label", [3, -1])
def test_labels_of_no_cluster_are_refused(topics, tmp_path, label):
    def stop(evaluation):
        if evaluation.record["step"]:
            raise KeyboardInterrupt

    path = tmp_path / "run"
    model = coterie.VaSCL(
        n_clusters=3, encoder="tfidf", epochs=2, epoch_steps=2, checkpoint=path, checkpoint_every=1, init="kmeans"
    )
    with pytest.raises(KeyboardInterrupt):
        model.fit(topics[0], callback=stop)
    labels = contents(path)[1]["trained.initial_labels"]
    rewrite(path, tensors={"trained.initial_labels": torch.full_like(labels, label)})
    with pytest.raises(ArtifactError, match="initial_labels has labels that are not those of its clusters"):
        model.fit(topics[0])


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_refused(train, toy, checkpoint, kind):
    checkpoint.path.unlink()
    os.mkdir(checkpoint.path) if kind == "folder" else os.mkfifo(checkpoint.path)
    refused(train, toy, checkpoint, "a folder, a pipe or a device")
