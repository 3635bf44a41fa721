import signal
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "coterie"


def test_ctrl_c_is_reported_and_leaves_no_files(tmp_path, helpdesk):
    (tmp_path / "texts.txt").write_text("\n".join(helpdesk.texts * 3), encoding="utf-8")
    command = [PROGRAM, "cluster", tmp_path / "texts.txt", "-k", "16", "-o", tmp_path / "output"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert "texts from column" in run.stderr.readline()  # printed before the work
        run.send_signal(signal.SIGINT)
        _, message = run.communicate(timeout=120)
    assert run.returncode == 130
    assert message.strip().splitlines()[-1] == "Stopped. Nothing was written."
    assert "Traceback" not in message
    assert [path.name for path in tmp_path.iterdir()] == ["texts.txt"]
