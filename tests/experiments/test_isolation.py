import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from coterie.errors import InputError, RepackedWarning, TrainingError
from coterie.experiments.isolation import CrashError, run_isolated

PARENT = """
import os
import sys
import time

from coterie.experiments.isolation import run_isolated

def write_pid_and_sleep(path):
    with open(path + ".part", "w") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".part", path)
    time.sleep(60)

if __name__ == "__main__":
    run_isolated(write_pid_and_sleep, sys.argv[1])
"""


def fail(error):
    raise error


def warn_twice():
    for _ in range(2):
        warnings.warn("an archive was repacked", RepackedWarning, stacklevel=1)
    warnings.warn("of a library", DeprecationWarning, stacklevel=1)
    return 7


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timeout"
        time.sleep(0.05)


def test_results_and_errors_come_back_from_another_process():
    assert run_isolated(os.getpid) != os.getpid()
    with pytest.raises(TrainingError, match="no loss"):
        run_isolated(fail, TrainingError("no loss"))
    with pytest.raises(InputError, match="no texts"):
        run_isolated(fail, InputError("no texts"))
    with pytest.raises(CrashError, match="exit code 3"):
        run_isolated(os._exit, 3)


def test_warnings_come_back_as_warnings_and_not_as_lines_of_code(capfd):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run_isolated(warn_twice) == 7
    assert [(w.category, str(w.message)) for w in caught] == [(RepackedWarning, "an archive was repacked")]
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_the_process_ends_when_its_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    pid_file = tmp_path / "pid"
    script.write_text(PARENT)
    parent = subprocess.Popen([sys.executable, str(script), str(pid_file)])
    try:
        wait_until(pid_file.exists)
        child = int(pid_file.read_text())
        assert is_alive(child)
        parent.kill()
        parent.wait(10)
        wait_until(lambda: not is_alive(child), seconds=15)
    finally:
        parent.kill()
