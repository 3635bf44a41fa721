import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CALLER = """
import os, sys, time
from coterie.benchmarks import apart

def work(note):
    with open(note + ".part", "w") as file:
        file.write(str(os.getpid()))
    os.rename(note + ".part", note)
    time.sleep(60)

if __name__ == "__main__":
    apart.call(work, sys.argv[1])
"""


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(what, seconds=60.0):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_job_ends_with_the_one_who_asked_for_it(tmp_path, how):
    script, note = tmp_path / "caller.py", tmp_path / "pid"
    script.write_text(CALLER)
    caller = subprocess.Popen([sys.executable, str(script), str(note)])
    try:
        wait_until(note.exists)
        job = int(note.read_text())
        assert is_alive(job)
        os.kill(caller.pid, how)
        caller.wait(10)
        wait_until(lambda: not is_alive(job), seconds=15)
    finally:
        caller.kill()
