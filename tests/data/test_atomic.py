import os
import stat

import pytest

from coterie.data.atomic import atomic_file, atomic_folder
from coterie.errors import InputError


def fill(path, words):
    """Write ``words`` to a temporary file, or to files inside of a temporary folder."""
    if path.is_dir():
        (path / "inner").mkdir()
        (path / "inner" / "words").write_text(words)
    else:
        path.write_text(words)


def content(path):
    return (path / "inner" / "words" if path.is_dir() else path).read_text()


@pytest.fixture(params=[atomic_file, atomic_folder], ids=["file", "folder"])
def atomic(request):
    return request.param


@pytest.fixture
def target(tmp_path):
    return tmp_path / "target"


def write(atomic, target, words, error=None):
    with atomic(target) as temporary:
        fill(temporary, words)
        if error:
            raise error


def test_the_target_appears_whole_at_the_end(atomic, target):
    with atomic(target) as temporary:
        fill(temporary, "new")
        assert not target.exists()
        assert temporary.parent == target.parent
    assert content(target) == "new"
    assert os.listdir(target.parent) == ["target"]


def test_what_was_there_stays_until_the_end_and_is_then_replaced(atomic, target):
    write(atomic, target, "old")
    with atomic(target) as temporary:
        fill(temporary, "new")
        assert content(target) == "old"
    assert content(target) == "new"
    assert os.listdir(target.parent) == ["target"]


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), SystemExit(3), OSError(28, "No space")])
def test_an_exception_passes_and_leaves_nothing_behind(atomic, target, error):
    with pytest.raises(type(error)) as raised:
        write(atomic, target, "half", error)
    assert raised.value is error
    assert os.listdir(target.parent) == []


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
def test_what_was_there_survives_an_exception(atomic, target, error):
    write(atomic, target, "old")
    with pytest.raises(type(error)):
        write(atomic, target, "half", error)
    assert content(target) == "old"
    assert os.listdir(target.parent) == ["target"]


def test_a_folder_loses_the_files_of_the_old_one(target):
    write(atomic_folder, target, "old")
    (target / "stray").write_text("x")
    write(atomic_folder, target, "new")
    assert [path.name for path in target.iterdir()] == ["inner"]


def test_an_empty_folder_is_replaced(target):
    target.mkdir()
    write(atomic_folder, target, "new")
    assert content(target) == "new"


def test_a_missing_parent_folder_is_named(atomic, tmp_path):
    with pytest.raises(InputError, match=f"the folder {tmp_path / 'none'} does not exist"):
        write(atomic, tmp_path / "none" / "target", "new")
    assert os.listdir(tmp_path) == []


def test_a_parent_that_is_a_file_is_refused(atomic, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="does not exist"):
        write(atomic, tmp_path / "file" / "target", "new")


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_others_may_read_what_the_mask_allows(atomic, target, mask):
    before = os.umask(mask)
    try:
        write(atomic, target, "new")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    full = 0o777 if target.is_dir() else 0o666
    assert stat.S_IMODE(target.stat().st_mode) == full & ~mask


def test_a_relative_target_lands_in_the_working_folder(atomic, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(atomic, type(tmp_path)("target"), "new")
    assert content(tmp_path / "target") == "new"


def test_a_file_does_not_replace_a_folder(target):
    write(atomic_folder, target, "old")
    with pytest.raises(OSError):  # noqa: PT011
        write(atomic_file, target, "new")
    assert content(target) == "old"
    assert os.listdir(target.parent) == ["target"]


def test_a_link_to_a_folder_stays_a_link(target):
    write(atomic_folder, target.with_name("real"), "old")
    target.symlink_to("real")
    write(atomic_folder, target, "new")
    assert target.is_symlink()
    assert content(target) == "new"
    assert sorted(os.listdir(target.parent)) == ["real", "target"]


def test_a_folder_that_cannot_replace_a_file_leaves_nothing_behind(target):
    target.write_text("old")
    before = sorted(os.listdir(target.parent))
    with pytest.raises(OSError):  # noqa: PT011
        write(atomic_folder, target, "new")
    assert content(target) == "old"
    assert sorted(os.listdir(target.parent)) == before


def test_the_old_folder_is_put_back_when_the_last_rename_fails(target, monkeypatch):
    write(atomic_folder, target, "old")
    path_type = type(target)
    real = path_type.replace

    def replace(self, other):
        if other == target and not self.name.startswith(".target.old."):
            raise OSError(28, "No space left on device")
        return real(self, other)

    monkeypatch.setattr(path_type, "replace", replace)
    with pytest.raises(OSError, match="No space"):
        write(atomic_folder, target, "new")
    assert content(target) == "old"
    assert os.listdir(target.parent) == ["target"]
