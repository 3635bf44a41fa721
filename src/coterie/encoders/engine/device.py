"""The device to compute on, and the fastest precision that it really supports."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Literal

import torch

from coterie.data.atomic import atomic_file
from coterie.data.user_cache import user_cache
from coterie.errors import InputError

Precision = Literal["auto", "float32", "bfloat16", "int8"]
_PROBE = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); x @ x; torch.nn.functional.linear(x, x)"
_PROBE_SECONDS = 120


def choose_device(name: str) -> torch.device:
    """Return the device of a setting, or raise :class:`InputError` when this machine does not have it."""
    if name == "auto":
        name = _own_gpu() if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise InputError(f"`device` is {name!r}, which this machine does not have. Use auto or cpu.") from None
    return device


def _own_gpu() -> str:
    """Return the GPU of this process: each process that torchrun starts on a machine has its own."""
    rank = os.environ.get("LOCAL_RANK", "")
    return f"cuda:{int(rank) % torch.cuda.device_count()}" if rank.isdecimal() else "cuda"


def choose_precision(name: Precision, device: torch.device) -> Precision:
    """Return the precision of a setting; ``auto`` is the fastest with a cosine of 0.999 to float32."""
    if name == "bfloat16" and device.type == "cpu" and not bfloat16_works():
        raise InputError(
            "`precision` is 'bfloat16', but bfloat16 instructions crash on this processor (AMX is announced and does "
            "not work, as in some virtual machines). Use auto, int8 or float32, or set the environment variable "
            "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16."
        )
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    if device.type != "cpu":
        return "float32"
    capabilities = torch.cpu.get_capabilities()
    if (capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")) and bfloat16_works():
        return "bfloat16"
    return "int8" if capabilities.get("avx512_vnni") or capabilities.get("avx_vnni") else "float32"


@lru_cache(maxsize=1)
def bfloat16_works() -> bool:
    """Whether a bfloat16 matrix product runs on this CPU.

    Some virtual machines announce AMX but do not run it: the process is killed by SIGILL. So it is tried in another
    process where AMX is announced, and the result is kept in the user's cache.
    """
    if not torch.cpu.get_capabilities().get("amx_bf16"):
        return True
    path = user_cache("processor") / f"{machine_key()}.json"
    try:
        return bool(json.loads(path.read_text(encoding="utf-8"))["bfloat16"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        works = subprocess.run(
            [sys.executable, "-c", _PROBE], capture_output=True, timeout=_PROBE_SECONDS, check=False
        ).returncode == 0  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as temporary:
            temporary.write_text(json.dumps({"bfloat16": works}), encoding="utf-8")
    except OSError:  # a read-only home: the probe runs again next time
        pass
    return works


def machine_key() -> str:
    """Return a hash of what decides the answer: processor, kernel, torch and its environment."""
    try:
        processor = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
        lines = [line for line in processor.splitlines() if line.startswith(("model name", "flags", "stepping"))]
    except OSError:
        lines = [platform.processor()]
    limits = os.environ.get("ONEDNN_MAX_CPU_ISA", "")
    return sha256("\n".join([*lines, platform.release(), torch.__version__, limits]).encode()).hexdigest()[:32]
