"""The environment for threads: the user's settings stay, and a container's quota counts. Freed memory is kept."""

import os
import platform
import subprocess
import sys
from contextlib import contextmanager

import pytest

from coterie import SCCL, machine
from coterie.training import trainer


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder in place of the root of the file system, on a machine with 8 processors."""
    monkeypatch.setattr(machine, "_ROOT", tmp_path)
    monkeypatch.setattr(machine, "n_processors", lambda: 8)
    return tmp_path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_quota_of_a_container_decides_the_number_of_threads(root):
    write(root / "proc/self/cgroup", "0::/\n")
    write(root / "sys/fs/cgroup/cpu.max", "250000 100000\n")
    environment = {}
    machine.set_threads(environment)
    assert environment["OMP_NUM_THREADS"] == environment["NUMBA_NUM_THREADS"] == "3"


def test_a_quota_above_the_group_of_the_process_counts(root):
    write(root / "proc/self/cgroup", "0::/a/b\n")
    write(root / "sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
    write(root / "sys/fs/cgroup/a/cpu.max", "200000 100000\n")
    assert machine.n_threads() == 2


def test_control_groups_of_version_1_are_read(root):
    write(root / "proc/self/cgroup", "4:memory:/x\n1:cpu,cpuacct:/x\n0::/\n")
    write(root / "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n")
    write(root / "sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n")
    assert machine.n_threads() == 1


@pytest.mark.parametrize("quota", ["max 100000\n", "-1 100000", "9900000 100000", "", "a b", "1 0"])
def test_without_a_smaller_quota_the_libraries_count_themselves(root, quota):
    write(root / "proc/self/cgroup", "0::/\n")
    write(root / "sys/fs/cgroup/cpu.max", quota)
    environment = {}
    machine.set_threads(environment)
    assert machine.n_threads() == 8
    assert "OMP_NUM_THREADS" not in environment


def test_the_users_settings_stay(root):
    write(root / "proc/self/cgroup", "0::/\n")
    write(root / "sys/fs/cgroup/cpu.max", "100000 100000\n")
    given = {"GOMP_SPINCOUNT": "7", "OMP_NUM_THREADS": "5", "NUMBA_NUM_THREADS": "6"}
    environment = dict(given)
    machine.set_threads(environment)
    assert environment == given


def test_threads_sleep_before_torch_is_loaded():
    code = (
        "import sys, os, coterie\n"
        "assert not {'torch', 'numpy', 'numba'} & set(sys.modules)\n"
        "print(os.environ['OMP_WAIT_POLICY'], os.environ['GOMP_SPINCOUNT'])\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP", "GOMP"))}
    shown = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert shown.stdout.split() == ["PASSIVE", "1000"]


@pytest.mark.parametrize("given", [{}, {"TORCH_CPP_LOG_LEVEL": "INFO"}])
def test_processes_of_torchrun_do_not_repeat_the_advice_of_torch(root, given):
    environment = {"TORCHELASTIC_RUN_ID": "none", **given}
    machine.set_threads(environment)
    assert environment["TORCH_CPP_LOG_LEVEL"] == given.get("TORCH_CPP_LOG_LEVEL", "ERROR")


HELD_MEMORY = """
import resource
from pathlib import Path
import torch
from coterie import machine

def held():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1_000_000  # MB

before = held()
with machine.freed_memory_kept():
    torch.ones(50_000_000)  # 200 MB, freed at once
    print(held() - before)
print(held() - before)
"""


def held_after_200_mb_are_freed(**settings):
    """Return the MB that a fresh process holds then: within a block that keeps freed memory, and after it."""
    freeing = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")
    environment = {name: value for name, value in os.environ.items() if name not in freeing} | settings
    shown = subprocess.run(
        [sys.executable, "-c", HELD_MEMORY], env=environment, check=True, capture_output=True, text=True
    )
    return [int(number) for number in shown.stdout.split()]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these settings")
def test_freed_memory_is_kept_while_training_and_not_longer():
    within, after = held_after_200_mb_are_freed()
    assert within > 150
    assert after < 50


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these settings")
def test_what_the_user_has_set_for_freed_memory_stays():
    within, _ = held_after_200_mb_are_freed(GLIBC_TUNABLES="glibc.malloc.check=0")
    assert within < 50


def test_a_training_keeps_freed_memory(monkeypatch):
    entered = []

    @contextmanager
    def watched():
        entered.append(True)
        yield

    monkeypatch.setattr(trainer, "freed_memory_kept", watched)
    SCCL(n_clusters=2, encoder="tfidf", epochs=1).fit(
        ["one cat", "two cats", "a dog", "the dogs", "my cat", "your dog"]
    )
    assert entered == [True]
