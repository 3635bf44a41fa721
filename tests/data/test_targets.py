"""What may be replaced, who may write at the same time, and what a killed process leaves behind."""

import errno
import json
import os
import resource
import subprocess
import sys

import pytest
from safetensors.numpy import save_file

from coterie.data.atomic import atomic_file, atomic_folder, check_writable
from coterie.data.exchange import exchange
from coterie.data.lock import exclusive
from coterie.data.ownership import add_to_marker, check_file, check_folder, write_marker
from coterie.errors import InputError


@pytest.fixture
def ours(tmp_path):
    """A folder that coterie wrote."""
    with atomic_folder(tmp_path / "ours") as folder:
        (folder / "model").mkdir()
        (folder / "model" / "weights").write_text("1")
        write_marker(folder)
    return tmp_path / "ours"


# -- what may be replaced


def test_a_folder_that_coterie_wrote_is_replaced_only_if_asked(ours):
    check_folder(ours, overwrite=True)
    with pytest.raises(InputError, match=r"is not empty\. Name a new one, or replace it: --force"):
        check_folder(ours, overwrite=False)


@pytest.mark.parametrize("name", ["notes.txt", "model/notes.txt", ".git/config", "empty folder/", "link -> ours"])
def test_a_folder_with_something_else_in_it_is_never_replaced(ours, name):
    path = ours / name.split(" -> ")[0]
    if "->" in name:
        path.symlink_to(ours.parent)
    elif name.endswith("/"):
        path.mkdir()
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_text("years of work")
    with pytest.raises(InputError, match="which coterie did not write, so the folder is not replaced"):
        check_folder(ours, overwrite=True)


@pytest.mark.parametrize(
    "marker", ["", "{", "[]", "{}", '{"files": ["input.csv"]}', '{"written_by": "x", "files": []}']
)
def test_a_folder_without_our_list_of_files_is_never_replaced(tmp_path, marker):
    (tmp_path / "input.csv").write_text("text")
    (tmp_path / "coterie.json").write_text(marker)
    with pytest.raises(InputError, match="was not written by coterie"):
        check_folder(tmp_path, overwrite=True)


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_foreign_folder_is_refused_before_all_its_files_are_listed(tmp_path, monkeypatch, overwrite):
    (tmp_path / "home").mkdir()
    monkeypatch.setattr(os, "walk", lambda *_, **__: pytest.fail("the whole disk is listed"))
    with pytest.raises(InputError, match=r"was not written by coterie|is not empty"):
        check_folder(tmp_path, overwrite=overwrite)


def test_a_file_added_during_the_work_is_not_lost(ours):
    def write():
        with atomic_folder(ours, overwrite=True) as folder:
            (folder / "new").write_text("2")
            (ours / "notes.txt").write_text("years of work")

    with pytest.raises(InputError, match=r"notes\.txt"):
        write()
    assert (ours / "notes.txt").read_text() == "years of work"


def test_a_file_that_coterie_adds_later_is_ours_too(ours, tmp_path):
    (ours / "report.html").write_text("a page")
    add_to_marker(ours / "report.html")
    check_folder(ours, overwrite=True)
    add_to_marker(tmp_path / "report.html")  # a folder without a list gets none
    assert not (tmp_path / "coterie.json").exists()


def test_the_desktop_may_add_its_files(ours):
    (ours / ".DS_Store").write_bytes(b"x")
    check_folder(ours, overwrite=True)


def test_a_file_is_replaced_only_if_asked_and_a_device_never(tmp_path):
    path = tmp_path / "out.csv"
    check_file(path, overwrite=False)
    path.write_text("old")
    check_file(path, overwrite=True)
    with pytest.raises(InputError, match=r"exists\. Name a new one, or replace it: --force"):
        check_file(path, overwrite=False)
    for device in (tmp_path, type(tmp_path)("/dev/null")):
        with pytest.raises(InputError, match=r"is a (folder|device or a pipe)"):
            check_file(device, overwrite=True)


def test_what_cannot_be_written_is_known_before_the_work(tmp_path):
    check_writable(tmp_path / "out")
    assert os.listdir(tmp_path) == []
    with pytest.raises(InputError, match=r"Cannot write /proc/out: "):
        check_writable(type(tmp_path)("/proc/out"))


# -- two processes


def test_a_target_is_written_by_one_process_at_a_time(tmp_path):
    target = tmp_path / "out"
    with exclusive(target):
        with pytest.raises(InputError, match=rf"Process {os.getpid()} on .* is writing to {target}\. Wait until"):
            with exclusive(target):
                pass
        assert os.listdir(tmp_path) == [".out.lock"]
    assert os.listdir(tmp_path) == []


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path):
    (tmp_path / ".out.lock").write_text("coterie 1 some-machine\n")
    with exclusive(tmp_path / "out"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_file_that_only_has_the_name_of_a_lock_is_kept(tmp_path):
    (tmp_path / ".out.lock").write_text("years of work")
    with pytest.raises(InputError, match="is not a lock file of coterie"):
        with exclusive(tmp_path / "out"):
            pass
    assert (tmp_path / ".out.lock").read_text() == "years of work"


def test_a_disk_without_room_for_a_lock_is_an_error_that_names_the_target(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(InputError, match=rf"Cannot write {tmp_path / 'out'}: No space left on device"):
        with exclusive(tmp_path / "out"):
            pass
    assert os.listdir(tmp_path) == []


def test_two_names_are_exchanged_at_once(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this system cannot exchange names")
    assert os.listdir(tmp_path / "one") == ["other"]
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "one", tmp_path / "absent")


# -- what a killed process leaves behind

KILLED = """
import os, sys
from pathlib import Path
from coterie.data.atomic import atomic_file, atomic_folder
with {"file": atomic_file, "folder": atomic_folder}[sys.argv[1]](Path(sys.argv[2])) as temporary:
    os._exit(9)
"""


@pytest.mark.parametrize(("kind", "atomic"), [("file", atomic_file), ("folder", atomic_folder)])
def test_the_next_write_removes_what_a_killed_one_left(tmp_path, kind, atomic):
    target = tmp_path / "out"
    subprocess.run([sys.executable, "-c", KILLED, kind, target], check=False)
    assert len(os.listdir(tmp_path)) == 1
    assert not target.exists()
    with atomic(target):  # a folder of a running process stays
        check_writable(target)
        assert len(os.listdir(tmp_path)) == 1
    assert os.listdir(tmp_path) == ["out"]


def test_a_backup_that_lost_its_name_gets_it_back(ours):
    ours.rename(ours.with_name(".ours.coterie-old-abcd1234"))  # killed between two renames
    check_writable(ours)
    assert (ours / "model" / "weights").read_text() == "1"


@pytest.mark.parametrize(
    "name", [".out.backup", ".out.coterie-new-x", ".out.coterie-new-abcd1234.txt", ".other.coterie-new-abcd1234"]
)
def test_other_hidden_folders_are_no_leftovers(tmp_path, name):
    (tmp_path / name).mkdir()
    check_writable(tmp_path / "out")
    assert os.listdir(tmp_path) == [name]


# -- a full disk


def test_a_full_disk_is_an_error_of_the_system_that_names_the_target(tmp_path):
    import numpy as np

    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def write():
        with atomic_folder(tmp_path / "out") as folder:
            save_file({"x": np.zeros(5000)}, folder / "weights.safetensors")

    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))  # writing more fails, as on a full disk
    try:
        with pytest.raises(OSError, match="File too large") as raised:
            write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert raised.value.filename == str(tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_the_list_of_files_is_readable(ours):
    listed = json.loads((ours / "coterie.json").read_text())
    assert listed == {"written_by": "coterie", "files": ["model/weights"]}
