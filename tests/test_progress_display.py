"""How progress is shown: a bar on a terminal or in a notebook, lines in a log, nothing elsewhere."""

import sys
import types

import pytest

from coterie import progress_display
from coterie.progress import has_listener, part, track, whole
from coterie.progress_display import show_progress


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def clock(monkeypatch):
    """The time, which tests move on."""
    now = types.SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(progress_display.time, "monotonic", lambda: now.seconds)
    return now


def work(clock=None, seconds=0.0, n=4):
    with whole({"embedding": 1}), part("embedding"), track("Encoding", n) as advance:
        for _ in range(n):
            if clock:
                clock.seconds += seconds
            advance(1)


def test_nothing_is_shown_where_stderr_is_no_terminal(capsys):
    with show_progress():
        assert not has_listener()
        work()
    assert capsys.readouterr() == ("", "")


def test_plain_shows_a_line_every_ten_seconds_with_the_time_left(capsys, clock):
    with show_progress("plain"):
        work(clock, seconds=6, n=5)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [" 32%  embedding  about 25 s left", " 64%  embedding  about 13 s left"]


def test_short_work_shows_no_line(capsys, clock):
    with show_progress("plain"):
        work(clock, seconds=1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("value", "lines"), [("true", 1), ("1", 1), ("false", 0), ("", 0)])
def test_lines_are_the_default_in_the_log_of_ci(monkeypatch, capsys, clock, value, lines):
    monkeypatch.setenv("CI", value)
    with show_progress():
        work(clock, seconds=11, n=1)
    assert len(capsys.readouterr().err.splitlines()) == lines


def test_off_shows_nothing_in_ci(monkeypatch, capsys, clock):
    monkeypatch.setenv("CI", "true")
    with show_progress("off"):
        work(clock, seconds=11)
    assert capsys.readouterr().err == ""


def test_a_bar_shows_title_part_and_share_on_stderr(capsys):
    with show_progress("bar", title="2/7 [tweet]"):
        work()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2/7 [tweet] embedding" in shown.err


def test_the_listener_is_removed_after_an_exception():
    with pytest.raises(RuntimeError, match="broken"), show_progress("bar"):
        raise RuntimeError("broken")
    assert not has_listener()


@pytest.mark.parametrize(
    ("seconds", "words"), [(5, "5 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (7200, "2.0 h")]
)
def test_durations(seconds, words):
    assert progress_display._duration(seconds) == words


@pytest.fixture
def notebook(monkeypatch):
    """Python as in a notebook."""
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: object()
    monkeypatch.setitem(sys.modules, "IPython", ipython)


@pytest.mark.usefixtures("notebook")
def test_a_notebook_shows_the_bar_of_tqdm(monkeypatch):
    shown = []

    class Bar:
        def __init__(self, **_):
            self.n = 0.0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            shown.append("closed")

        def set_description_str(self, text, refresh):
            shown.append(text)

        def update(self, n):
            self.n += n
            shown.append(round(self.n))

    tqdm = types.ModuleType("tqdm.auto")
    tqdm.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm.auto", tqdm)
    with show_progress():
        work(n=1)
    assert shown == ["embedding", 0, "embedding", 80, "embedding", 100, "closed"]


@pytest.mark.usefixtures("notebook")
def test_without_tqdm_a_notebook_shows_the_bar_of_rich(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with show_progress():
        work()
    assert "embedding" in capsys.readouterr().err
