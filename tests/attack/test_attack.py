"""A short attack, as part of the tests; `make attack` is the long one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked and limited as on Linux")
def test_no_attempt_of_a_short_attack_fails():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    command = [sys.executable, ROOT / "attack" / "run.py", "--seconds", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "| **all** |" in done.stdout
