"""The paper's recipe of TCC for CIFAR-10, which needs a GPU and a day: here one epoch on a few synthetic images."""

import io
import tarfile

import numpy as np
import pytest

from coterie import datasets
from coterie.errors import RepackedWarning
from coterie.experiments.jobs import expand
from coterie.experiments.runner import run_job


@pytest.fixture
def small_cifar(tmp_path, monkeypatch):
    """Write an archive in the public format, with 4 images in each of its six files and one color per class."""
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    colors = rng.integers(40, 216, (10, 3, 1, 1))
    names = [*(f"data_batch_{batch}" for batch in range(1, 6)), "test_batch"]
    with tarfile.open(tmp_path / "cifar-10-binary.tar.gz", "w:gz") as archive:
        for number, name in enumerate(names):
            labels = rng.permutation(np.arange(4 * number, 4 * number + 4) % 10)
            images = (colors[labels] + rng.integers(-30, 31, (4, 3, 32, 32))).astype(np.uint8)
            data = np.hstack([labels.astype(np.uint8)[:, None], images.reshape(4, -1)]).tobytes()
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return tmp_path


@pytest.mark.slow
def test_one_epoch_with_the_settings_of_the_paper(small_cifar):
    (job,) = expand(["tcc"], ["cifar10"], 1, "paper", overrides={"epochs": "1", "batch_size": "12"})
    assert job.params["head_init"] == "random"
    assert job.params["similarity"] == "dot"
    assert job.params["augmenter"] == "crop"
    assert (job.encoder_params["width"], job.encoder_params["blocks"]) == (64, 3)
    with pytest.warns(RepackedWarning, match="has other bytes"):
        data = datasets.load("cifar10")
    assert data.items.shape == (24, 32, 32, 3)
    result, labels = run_job(job, data, small_cifar / "embeddings")
    assert len(labels) == 24
    before, after = result["curve"]
    assert (before["step"], after["step"]) == (0, 2)
    assert np.isfinite(after["loss"])
    assert 0 < result["label_based"]["acc"] <= 1
