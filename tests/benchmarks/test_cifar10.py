"""The paper's recipe for CIFAR-10, which wants a GPU and a day: one epoch of it, on few images of our own."""

import io
import tarfile

import numpy as np
import pytest

from coterie.benchmarks.jobs import expand
from coterie.benchmarks.run import run_job
from coterie.data import datasets
from coterie.data.remote import RepackedWarning


@pytest.fixture
def small_cifar(tmp_path, monkeypatch):
    """Write the public archive with 4 images in each of its six files: a colour of its own for every class."""
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    colours = rng.integers(40, 216, (10, 3, 1, 1))
    with tarfile.open(tmp_path / "cifar-10-binary.tar.gz", "w:gz") as archive:
        for number, name in enumerate([*(f"data_batch_{batch}" for batch in range(1, 6)), "test_batch"]):
            labels = rng.permutation(np.arange(4 * number, 4 * number + 4) % 10)
            images = (colours[labels] + rng.integers(-30, 31, (4, 3, 32, 32))).astype(np.uint8)
            data = np.hstack([labels.astype(np.uint8)[:, None], images.reshape(4, -1)]).tobytes()
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return tmp_path


@pytest.mark.slow
def test_an_epoch_of_the_papers_setting_runs_on_the_public_format(small_cifar):
    (job,) = expand(["tcc"], ["cifar10"], 1, "paper", overrides={"epochs": "1", "batch_size": "12"})
    assert (job.params["prototypes"], job.params["variant"], job.params["augmenter"]) == ("random", "paper", "crop")
    assert (job.encoder_params["width"], job.encoder_params["blocks"]) == (64, 3)
    with pytest.warns(RepackedWarning, match="has other bytes"):
        data = datasets.load("cifar10")
    assert data.items.shape == (24, 32, 32, 3)
    result, labels = run_job(job, data, small_cifar / "vectors")
    assert len(labels) == 24
    start, epoch = result["curve"]
    assert (start["step"], epoch["step"]) == (0, 2)
    assert np.isfinite(epoch["loss"])
    assert 0 < result["label_based"]["acc"] <= 1
