"""The cache of embeddings that `fit`, the commands and the benchmarks share."""

import json
import os
import stat

import numpy as np
import pytest

import coterie
from coterie.data.user_cache import cached_files, clear_results, user_cache
from coterie.encoders import embedding_cache
from coterie.encoders import encoder as encoder_module
from coterie.encoders.embedding_cache import cache_folder, load_or_embed
from coterie.encoders.encoder import make_encoder
from coterie.encoders.engine.network import TransformerNetwork
from coterie.errors import CacheWarning, InputError

H = np.ones((3, 2), dtype=np.float32)
KEY = "0" * 64


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COTERIE_CACHE_MB", "1")
    monkeypatch.setattr(embedding_cache, "MIN_SECONDS", 0)


def fail():
    raise AssertionError("computed again")


def test_a_second_fit_with_other_clusters_encodes_nothing(tiny_bert, topics, monkeypatch):
    encoder, calls = f"transformer:{tiny_bert}", []
    embed = TransformerNetwork.embed
    monkeypatch.setattr(TransformerNetwork, "embed", lambda self, items: calls.append(1) or embed(self, items))
    first = coterie.KMeans(n_clusters=2, encoder=encoder).fit(topics[0])
    again = coterie.KMeans(n_clusters=3, encoder=encoder).fit(topics[0])
    joined = coterie.KMeans(n_clusters=3, encoder=f"{encoder}+tfidf").fit(topics[0])  # shares the part
    assert len(calls) == 1
    np.testing.assert_array_equal(first.predict(topics[0]), first.labels_)
    np.testing.assert_array_equal(again.predict(topics[0]), again.labels_)
    np.testing.assert_array_equal(joined.predict(topics[0]), joined.labels_)
    for changed in (topics[0][1:], [text.upper() for text in topics[0]]):
        coterie.KMeans(n_clusters=2, encoder=encoder).fit(changed)
    coterie.KMeans(n_clusters=2, encoder=f"transformer(max_length=8):{tiny_bert}").fit(topics[0])
    assert len(calls) == 1 + 3 + 3  # predictions are not cached


def test_a_number_of_clusters_that_is_chosen_encodes_the_texts_once(tiny_bert, topics, monkeypatch):
    encoder, calls = f"transformer:{tiny_bert}", []
    embed = TransformerNetwork.embed
    monkeypatch.setattr(TransformerNetwork, "embed", lambda self, items: calls.append(1) or embed(self, items))
    for n_clusters in ("auto", "2-4", 3):
        coterie.KMeans(n_clusters=n_clusters, encoder=encoder).fit(topics[0])
    assert len(calls) == 1


def test_embeddings_are_kept_private_and_described():
    load_or_embed(KEY, lambda: H, {"encoder": "bundled"})
    np.testing.assert_array_equal(load_or_embed(KEY, fail, {}), H)
    assert stat.S_IMODE(cache_folder().stat().st_mode) == 0o700
    assert json.loads((cache_folder() / f"{KEY}.json").read_text())["encoder"] == "bundled"


@pytest.mark.parametrize("damaged", [".npy", ".json"])
def test_a_damaged_file_is_computed_again(damaged):
    load_or_embed(KEY, lambda: H, {})
    (cache_folder() / f"{KEY}{damaged}").write_bytes(b"{}")
    np.testing.assert_array_equal(load_or_embed(KEY, lambda: H * 2, {}), H * 2)
    np.testing.assert_array_equal(load_or_embed(KEY, fail, {}), H * 2)


def test_the_least_recently_used_are_removed_when_the_cache_is_full():
    h = np.zeros((100_000, 1), dtype=np.float32)  # 0.4 MB of 1 MB
    for time, key in enumerate("123"):
        load_or_embed(key * 64, lambda: h, {})
        for path in cache_folder().glob(f"{key}*"):
            os.utime(path, (time, time))
    load_or_embed("4" * 64, lambda: h, {})
    assert {path.stem[0] for path in cached_files("embeddings")} == {"3", "4"}


def test_what_does_not_fit_or_takes_no_time_is_not_kept(monkeypatch):
    load_or_embed(KEY, lambda: np.zeros((300_000, 1), dtype=np.float32), {})
    monkeypatch.setattr(embedding_cache, "MIN_SECONDS", 60)
    load_or_embed(KEY, lambda: H, {})
    assert not cached_files("embeddings")


def test_zero_megabytes_switch_the_cache_off(monkeypatch):
    load_or_embed(KEY, lambda: H, {})
    monkeypatch.setenv("COTERIE_CACHE_MB", "0")
    np.testing.assert_array_equal(load_or_embed(KEY, lambda: H * 2, {}), H * 2)
    monkeypatch.setenv("COTERIE_CACHE_MB", "many")
    with pytest.raises(InputError, match="COTERIE_CACHE_MB must be a whole number of megabytes, got 'many'"):
        load_or_embed(KEY, fail, {})


def test_a_cache_that_cannot_be_written_is_only_a_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "file"))
    with pytest.warns(CacheWarning, match="COTERIE_CACHE"):
        np.testing.assert_array_equal(load_or_embed(KEY, lambda: H, {}), H)


def test_clear_removes_results_and_nothing_else():
    load_or_embed(KEY, lambda: H, {})
    own = user_cache("embeddings") / "thesis.npy"
    own.write_text("not ours")
    assert clear_results("embeddings") > H.nbytes
    assert cached_files("embeddings") == [own]


def test_an_array_of_another_making_is_computed_again():
    path = cache_folder() / "x.npy"
    embedding_cache.store(path, embedding_cache.Embedded(np.full((2, 3), np.nan, np.float32), 1.0), {})
    assert embedding_cache.load(path) is None  # not finite
    path.write_bytes(path.read_bytes().replace(b"(2, 3), }", b"(9999999999999,9), }", 1))
    assert embedding_cache.load(path) is None


def test_very_many_items_are_cached_in_parts_so_that_an_interrupted_run_goes_on(tiny_bert, topics, monkeypatch):
    texts = [f"{text} {i}" for i, text in enumerate(topics[0])]
    encoder = make_encoder(f"transformer:{tiny_bert}")
    whole = encoder.embed_corpus(texts)
    monkeypatch.setattr(encoder_module, "_MOST_IN_ONE_PART", 50)
    monkeypatch.setattr(encoder_module, "_PART_ITEMS", 40)
    embed, sizes = TransformerNetwork.embed, []

    def interrupted(self, items):
        sizes.append(len(items))
        if len(sizes) == 2:
            raise KeyboardInterrupt
        return embed(self, items)

    monkeypatch.setattr(TransformerNetwork, "embed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        encoder.embed_corpus(texts)
    np.testing.assert_array_equal(encoder.embed_corpus(texts), whole)
    assert sizes == [40, 40, 40, 10]  # the first part was not encoded again


def test_parts_of_a_whole_that_does_not_fit_are_not_cached():
    load_or_embed(KEY, lambda: H, {}, n_bytes=2 * 2**20)
    assert not list(cached_files("embeddings"))
