import os
import stat
from functools import partial

import pytest

from coterie.data import atomic as module
from coterie.data.atomic import atomic_file, atomic_folder
from coterie.data.ownership import write_marker
from coterie.errors import InputError


def fill(path, words):
    """Write ``words`` to a temporary file, or to a file in a temporary folder."""
    if path.is_dir():
        (path / "inner").mkdir()
        (path / "inner" / "words").write_text(words)
        write_marker(path)
    else:
        path.write_text(words)


def content(path):
    return (path / "inner" / "words" if path.is_dir() else path).read_text()


replace_folder = partial(atomic_folder, overwrite=True)


@pytest.fixture(params=[atomic_file, replace_folder], ids=["file", "folder"])
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


def test_the_target_appears_complete_at_the_end(atomic, target):
    with atomic(target) as temporary:
        fill(temporary, "new")
        assert not target.exists()
        assert target.parent in temporary.parents  # on the same disk, so that it can be renamed
    assert content(target) == "new"
    assert os.listdir(target.parent) == ["target"]


def test_the_old_target_stays_until_the_end_and_is_then_replaced(atomic, target):
    write(atomic, target, "old")
    with atomic(target) as temporary:
        fill(temporary, "new")
        assert content(target) == "old"
    assert content(target) == "new"
    assert os.listdir(target.parent) == ["target"]


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), SystemExit(3), OSError(28, "No space")])
def test_an_exception_is_raised_and_leaves_no_file(atomic, target, error):
    with pytest.raises(type(error)) as raised:
        write(atomic, target, "half", error)
    assert raised.value is error
    assert os.listdir(target.parent) == []


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
def test_the_old_target_survives_an_exception(atomic, target, error):
    write(atomic, target, "old")
    with pytest.raises(type(error)):
        write(atomic, target, "half", error)
    assert content(target) == "old"
    assert os.listdir(target.parent) == ["target"]


def test_a_new_folder_has_no_files_of_the_old_one(target):
    write(atomic_folder, target, "old")
    (target / "inner" / "words").rename(target / "words")
    (target / "coterie.json").write_text('{"written_by": "coterie", "files": ["words"]}')
    (target / "inner").rmdir()
    write(replace_folder, target, "new")
    assert sorted(path.name for path in target.iterdir()) == ["coterie.json", "inner"]


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
def test_permissions_follow_the_umask(atomic, target, mask):
    before = os.umask(mask)
    try:
        write(atomic, target, "new")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    full = 0o777 if target.is_dir() else 0o666
    assert stat.S_IMODE(target.stat().st_mode) == full & ~mask


def test_a_relative_target_is_in_the_working_folder(atomic, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(atomic, type(tmp_path)("target"), "new")
    assert content(tmp_path / "target") == "new"


def test_a_file_does_not_replace_a_folder(target):
    write(atomic_folder, target, "old")
    with pytest.raises(OSError):  # noqa: PT011
        write(atomic_file, target, "new")
    assert content(target) == "old"
    assert os.listdir(target.parent) == ["target"]


def test_a_symbolic_link_to_a_folder_stays_a_link(target):
    write(atomic_folder, target.with_name("real"), "old")
    target.symlink_to("real")
    write(replace_folder, target, "new")
    assert target.is_symlink()
    assert content(target) == "new"
    assert sorted(os.listdir(target.parent)) == ["real", "target"]


def test_a_folder_does_not_replace_a_file(target):
    target.write_text("old")
    before = sorted(os.listdir(target.parent))
    with pytest.raises(InputError, match="is a file, not a folder"):
        write(replace_folder, target, "new")
    assert content(target) == "old"
    assert sorted(os.listdir(target.parent)) == before


@pytest.fixture
def without_exchange(monkeypatch):
    """A system that cannot exchange two names."""
    monkeypatch.setattr(module, "exchange", lambda *_: False)


@pytest.mark.usefixtures("without_exchange")
def test_without_an_exchange_of_names_the_folder_is_replaced_by_two_renames(target):
    write(atomic_folder, target, "old")
    write(replace_folder, target, "new")
    assert content(target) == "new"
    assert os.listdir(target.parent) == ["target"]


@pytest.mark.usefixtures("without_exchange")
def test_the_old_folder_is_restored_if_the_last_rename_fails(target, monkeypatch):
    write(atomic_folder, target, "old")
    path_type = type(target)
    real = path_type.replace

    def replace(self, other):
        if other == target and "coterie-old" not in self.name:
            raise OSError(28, "No space left on device")
        return real(self, other)

    monkeypatch.setattr(path_type, "replace", replace)
    with pytest.raises(OSError, match="No space"):
        write(replace_folder, target, "new")
    assert content(target) == "old"
    assert os.listdir(target.parent) == ["target"]
