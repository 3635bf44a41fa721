import numpy as np
import pytest

from coterie.datasets import Dataset
from coterie.encoders.tfidf import TfidfEncoder
from coterie.experiments.embedding_cache import CachedEncoder
from coterie.experiments.jobs import expand
from coterie.experiments.runner import run_job


@pytest.mark.parametrize("method", ["kmeans", "idec"])  # the encoder stays as it is
def test_a_second_job_reads_the_embeddings_of_the_first(method, topics, tmp_path, monkeypatch):
    texts, true_labels = topics
    data = Dataset("helpdesk", texts, true_labels, ["a", "b", "c"])
    overrides = {"epochs": "2", "width": "8"} if method == "idec" else {}
    job = expand([method], ["helpdesk"], 1, "cpu", encoder="tfidf", overrides=overrides)[0]
    first = run_job(job, data, tmp_path)
    assert len(list(tmp_path.glob("*.npy"))) == 1
    monkeypatch.setattr(TfidfEncoder, "embed", None)  # computing the embeddings again would fail
    second = run_job(job, data, tmp_path)
    assert np.array_equal(first[1], second[1])
    assert first[0].get("encode_seconds") == second[0].get("encode_seconds")
    assert first[0]["processor_seconds"] >= 0


def test_texts_vocabulary_and_settings_are_part_of_the_key(tmp_path):
    def embed(fitted, texts, **settings):
        return CachedEncoder(inner=TfidfEncoder(**settings), folder=tmp_path).fit(fitted).embed(texts)

    first = embed(["red fish", "blue fish"], ["red fish"])
    assert np.array_equal(first, TfidfEncoder().fit(["red fish", "blue fish"]).embed(["red fish"]))
    assert not np.array_equal(first, embed(["red fish", "blue fish"], ["blue fish"]))
    assert first.shape != embed(["red fish"], ["red fish"]).shape
    assert first.shape != embed(["red fish", "blue fish"], ["red fish"], max_features=2).shape


def test_an_incomplete_file_is_computed_again(tmp_path):
    cached = CachedEncoder(inner="bow", folder=tmp_path).fit(["red fish"])
    first = cached.embed(["red fish"])
    path = next(tmp_path.glob("*.npy"))
    path.write_bytes(path.read_bytes()[:100])
    assert np.array_equal(cached.embed(["red fish"]), first)
    assert np.array_equal(np.load(path), first)
