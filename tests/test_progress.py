from contextlib import contextmanager

import pytest

from coterie.progress import bars, listening, track


class Ear:
    """Writes down what it hears."""

    def __init__(self):
        self.heard = []

    @contextmanager
    def __call__(self, label, total):
        self.heard.append(("open", label, total))
        try:
            yield lambda done: self.heard.append(("done", label, done))
        finally:
            self.heard.append(("close", label))


def work(label="Reading", parts=(2, 3)):
    with track(label, sum(parts)) as advance:
        for part in parts:
            advance(part)


READING = [("open", "Reading", 5), ("done", "Reading", 2), ("done", "Reading", 3), ("close", "Reading")]


@pytest.fixture
def ear():
    return Ear()


def test_a_listener_hears_label_total_and_increments(ear):
    with listening(ear):
        work()
    assert ear.heard == READING


def test_work_inside_work_is_heard_too(ear):
    with listening(ear), track("All", 1) as advance:
        work()
        advance(1)
    assert ear.heard == [("open", "All", 1), *READING, ("done", "All", 1), ("close", "All")]


def test_nobody_hears_anything_by_default(capfd):
    work()
    with track("Training", 1) as advance:
        advance(1, note="loss 0.5")
    assert capfd.readouterr() == ("", "")


def test_nothing_is_heard_after_the_block(ear):
    with listening(ear):
        pass
    work()
    assert ear.heard == []


def test_an_outer_listener_is_back_after_an_inner_one(ear):
    inner = Ear()
    with listening(ear):
        with listening(inner):
            work()
        assert (inner.heard, ear.heard) == (READING, [])
        work()
    assert (inner.heard, ear.heard) == (READING, READING)


def failing():
    with track("Failing", 9) as advance:
        advance(1)
        raise RuntimeError("broken")


def test_the_listener_is_gone_and_the_work_closed_after_an_exception(ear):
    with pytest.raises(RuntimeError, match="broken"), listening(ear):
        failing()
    work()
    assert ear.heard == [("open", "Failing", 9), ("done", "Failing", 1), ("close", "Failing")]


def test_the_outer_listener_is_back_after_an_exception(ear):
    with listening(ear):
        with pytest.raises(RuntimeError), listening(Ear()):
            failing()
        work()
    assert ear.heard == READING


@pytest.fixture
def plain_terminal(monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.usefixtures("plain_terminal")
def test_bars_are_silent_where_stderr_is_no_terminal(capsys):
    with bars():
        work()
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("plain_terminal")
def test_bars_show_label_and_total_on_stderr(capsys):
    with bars(force=True):
        work()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Reading" in shown.err
    assert "/5" in shown.err


@pytest.mark.usefixtures("plain_terminal")
def test_bars_show_the_note_beside_the_label(monkeypatch):
    told = []  # what is drawn depends on the clock
    monkeypatch.setattr("rich.progress.Progress.update", lambda _self, _task, **changes: told.append(changes))
    with bars(force=True), track("Training", 2) as advance:
        advance(1)
        advance(1, note="loss 0.5")
    assert told == [{"advance": 1, "description": "Training"}, {"advance": 1, "description": "Training loss 0.5"}]


@pytest.mark.usefixtures("plain_terminal")
def test_bars_leave_no_listener_behind_and_pass_exceptions_on(capsys):
    with pytest.raises(RuntimeError, match="broken"), bars(force=True):
        failing()
    capsys.readouterr()
    work()
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("plain_terminal")
def test_the_bar_of_failed_work_is_taken_away(capsys):
    with bars(force=True):
        with pytest.raises(RuntimeError):
            failing()
        assert "Failing" in capsys.readouterr().err
        work()
    assert "Failing" not in capsys.readouterr().err
