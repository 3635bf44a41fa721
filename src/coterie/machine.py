"""How many threads this process may use, how they wait, and what becomes of freed memory. Nothing here loads a library.

The libraries read the environment when they are loaded, so :func:`set_threads` comes before torch, NumPy and numba.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path

_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
_BRIEFLY = "1000"  # rounds of spinning before a thread sleeps; by itself GNU's library takes 300,000 (docs/scale.md)
_ROOT = Path("/")
_NUMBERS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")  # OpenBLAS and MKL read OMP_NUM_THREADS, too

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # numbers of mallopt's parameters, from malloc.h
_FREEING = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")
_KEPT = {_MMAP_THRESHOLD: 2**29, _TRIM_THRESHOLD: 2**31 - 1}  # bytes: larger blocks and more free memory are returned
_USUAL = {_MMAP_THRESHOLD: 2**25, _TRIM_THRESHOLD: 2**26}  # where glibc's own rule ends when large blocks are freed


def set_threads(environment: MutableMapping[str, str] | None = None) -> None:
    """Let threads sleep while they wait, and start no more of them than the quota of a container runs.

    Beside other busy programs a thread that spins takes the processor from the one that it waits for. On a quiet
    machine a thread that sleeps at once is late, so it spins briefly. What the user has set stays. Without a quota
    below the number of processors the libraries find the right number themselves.
    """
    environment = os.environ if environment is None else environment
    if "TORCHELASTIC_RUN_ID" in environment:  # started by torchrun, whose processes would all repeat torch's advice
        environment.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    if not any(name in environment for name in _WAITING):
        environment.update(OMP_WAIT_POLICY="PASSIVE", GOMP_SPINCOUNT=_BRIEFLY)
    if (n := n_threads()) < n_processors():
        for name in _NUMBERS:
            environment.setdefault(name, str(n))


def n_threads() -> int:
    """Return the processors that this process may use, or fewer if the quota of its container is smaller."""
    quotas = list(_quotas(_ROOT))
    return max(1, min([n_processors(), *map(math.ceil, quotas)]))


def n_processors() -> int:
    """Return the number of processors that this process may run on."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quotas(root: Path) -> Iterator[float]:
    """Yield the quota, in processors, of the control group of this process and of every group above it."""
    for version, group in _groups(root):
        mount = root / "sys/fs/cgroup" / ("" if version == 2 else "cpu")
        folder = mount / group.lstrip("/")
        for level in (folder, *folder.parents):
            if (quota := _quota(level, version)) is not None:
                yield quota
            if level == mount:
                break


def _groups(root: Path) -> Iterator[tuple[int, str]]:
    """Yield the version of the control groups that limit processors, and the path of this process in it."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, group = line.split(":", 2)
        if number == "0":
            yield 2, group
        elif "cpu" in controllers.split(","):
            yield 1, group


def _quota(folder: Path, version: int) -> float | None:
    """Return the processors that one control group may use; None without a limit."""
    names = ["cpu.max"] if version == 2 else ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
    try:
        quota, period = " ".join((folder / name).read_text(encoding="utf-8") for name in names).split()
        return int(quota) / int(period) if quota != "max" and int(quota) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):  # no such controller here
        return None


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Let glibc keep freed memory for the next tensors instead of returning it to the system, until the block ends.

    By itself glibc asks the system for every block above 32 MB, which comes page by page and full of zeros. In a
    training step that was a quarter of the time (docs/scale.md). What the user has set stays.
    """
    set_by_user = any(name in os.environ for name in _FREEING)
    libc = ctypes.CDLL(None) if sys.platform == "linux" and not set_by_user else None
    if libc is None or not hasattr(libc, "mallopt"):  # another C library
        yield
        return
    _set(libc, _KEPT)
    try:
        yield
    finally:
        _set(libc, _USUAL)
        libc.malloc_trim(0)


def _set(libc: ctypes.CDLL, values: dict[int, int]) -> None:
    for name, value in values.items():
        libc.mallopt(name, value)
