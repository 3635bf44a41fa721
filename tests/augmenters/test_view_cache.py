import os
import stat

import pytest

from coterie.augmenters import view_cache
from coterie.augmenters.view_cache import ViewKey, cache_folder, load_or_make
from coterie.errors import CacheWarning


@pytest.fixture
def key(monkeypatch):
    """A key of a view; every view is cached, however fast it is made."""
    monkeypatch.setattr(view_cache, "MIN_SECONDS", 0)
    return ViewKey("eda", 0, 0, ["a", "b"])


def fail_to_make():
    pytest.fail("made again")


def test_the_key_depends_on_everything(key):
    changed = [
        key._replace(fingerprint="chars"),
        key._replace(view_index=1),
        key._replace(seed=1),
        key._replace(texts=["a b"]),
        key._replace(texts=["b", "a"]),
    ]
    assert len({key.sha256, *(other.sha256 for other in changed)}) == 6


def test_views_are_cached_and_private(key):
    assert load_or_make(lambda: ["x", "y"], key) == ["x", "y"]
    assert load_or_make(fail_to_make, key) == ["x", "y"]
    assert stat.S_IMODE(cache_folder().stat().st_mode) == 0o700


@pytest.mark.parametrize("content", ["", "[", '["x"]', '["x", 1]', '{"x": "y"}'])
def test_a_damaged_file_is_replaced(key, content):
    load_or_make(lambda: ["x", "y"], key)
    (cache_folder() / f"{key.sha256}.json").write_text(content)
    assert load_or_make(lambda: ["x", "z"], key) == ["x", "z"]
    assert load_or_make(fail_to_make, key) == ["x", "z"]


def test_the_least_recently_used_views_are_removed(key, monkeypatch):
    monkeypatch.setattr(view_cache, "MAX_BYTES", 60)
    for time, view_index in enumerate((3, 2, 1)):
        older = key._replace(view_index=view_index)
        load_or_make(lambda: ["x" * 10, "y" * 10], older)
        os.utime(cache_folder() / f"{older.sha256}.json", (time, time))
    load_or_make(lambda: ["x" * 10, "y" * 10], key)
    remaining = {path.stem for path in cache_folder().glob("*.json")}
    assert remaining == {key.sha256, key._replace(view_index=1).sha256}


def test_a_cache_that_cannot_be_written_is_only_a_warning(key, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "file"))
    with pytest.warns(CacheWarning, match="COTERIE_CACHE"):
        assert load_or_make(lambda: ["x", "y"], key) == ["x", "y"]
