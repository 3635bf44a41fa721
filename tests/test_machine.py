"""The environment for threads: the user's settings stay, and a container's quota counts."""

import os
import subprocess
import sys

import pytest

from coterie import machine


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
