"""Progress of long work: reported to a listener, as one share of a whole with named parts."""

from contextlib import contextmanager

import pytest

import coterie
from coterie.progress import Meter, expect, listening, part, track, whole


class Recorder:
    """A listener that records its events."""

    def __init__(self):
        self.events = []

    @contextmanager
    def __call__(self, label, total):
        self.events.append(("open", label, total))
        try:
            yield lambda done: self.events.append(("done", label, done))
        finally:
            self.events.append(("close", label))


def work(label="Reading", parts=(2, 3)):
    with track(label, sum(parts)) as advance:
        for part in parts:
            advance(part)


READING = [("open", "Reading", 5), ("done", "Reading", 2), ("done", "Reading", 3), ("close", "Reading")]


@pytest.fixture
def recorder():
    return Recorder()


def test_a_listener_gets_label_total_and_increments(recorder):
    with listening(recorder):
        work()
    assert recorder.events == READING


def test_nested_work_is_reported(recorder):
    with listening(recorder), track("All", 1) as advance:
        work()
        advance(1)
    assert recorder.events == [("open", "All", 1), *READING, ("done", "All", 1), ("close", "All")]


def test_without_a_listener_nothing_is_shown(capfd):
    work()
    with track("Training", 1) as advance:
        advance(1, note="loss 0.5")
    assert capfd.readouterr() == ("", "")


def test_nothing_is_reported_after_the_block(recorder):
    with listening(recorder):
        pass
    work()
    assert recorder.events == []


def test_the_outer_listener_is_restored_after_an_inner_one(recorder):
    inner = Recorder()
    with listening(recorder):
        with listening(inner):
            work()
        assert (inner.events, recorder.events) == (READING, [])
        work()
    assert (inner.events, recorder.events) == (READING, READING)


def failing():
    with track("Failing", 9) as advance:
        advance(1)
        raise RuntimeError("broken")


def test_after_an_exception_the_work_is_closed_and_the_listener_removed(recorder):
    with pytest.raises(RuntimeError, match="broken"), listening(recorder):
        failing()
    work()
    assert recorder.events == [("open", "Failing", 9), ("done", "Failing", 1), ("close", "Failing")]


def test_the_outer_listener_is_restored_after_an_exception(recorder):
    with listening(recorder):
        with pytest.raises(RuntimeError), listening(Recorder()):
            failing()
        work()
    assert recorder.events == READING


@pytest.fixture
def shown():
    """What a meter showed: shares in percent, and texts."""
    return []


@pytest.fixture
def now(monkeypatch):
    """Return a clock, in a list, that stands still."""
    clock = [100.0]
    monkeypatch.setattr("coterie.progress.time.perf_counter", lambda: clock[0])
    return clock


@pytest.fixture
def meter(shown):
    return Meter(lambda share, text: shown.append((round(100 * share), text)))


def test_parts_fill_one_whole(meter, shown):
    with listening(meter), whole({"embedding": 1, "training": 3}):
        with part("embedding"):
            work("Encoding", parts=(1, 1))
        with part("training"), track("Training", 2) as advance:
            advance(1, note="epoch 1 of 2")
    assert shown == [
        (0, "embedding"), (10, "embedding"), (20, "embedding"), (25, "embedding"),
        (25, "training"), (55, "training, epoch 1 of 2"), (100, "training"),
    ]  # fmt: skip


def test_with_a_deadline_the_share_is_at_least_that_of_the_time(now, meter, shown):
    with listening(meter), whole({"embedding": 1, "training": 9}, deadline=110.0):
        with part("embedding"):
            now[0] = 104.0
        with part("training"), track("Training", 100) as advance:
            advance(1)
            now[0] = 109.0
            advance(1)
            now[0] = 120.0
            advance(1)
    assert [share for share, _ in shown] == [0, 40, 40, 40, 90, 99, 100]


def test_what_the_work_expects_replaces_the_shares_of_its_parts(now, meter, shown):
    expect(1.0)  # without a listener nothing happens
    with listening(meter), whole({"training": 9, "score": 1}, deadline=200.0):
        with part("training"), track("Training", 2) as advance:
            now[0] = 110.0
            expect(30.0)
            advance(1)
            now[0] = 120.0
            expect(300.0)  # later than the deadline
            advance(1)
            expect(20.0)
        with part("score"):
            now[0] = 130.0
            work()
            now[0] = 150.0
    assert [share for share, _ in shown] == [0, 25, 20, 50, 50, 75, 75, 100]


def test_work_without_parts_is_a_whole_of_its_own(meter, shown):
    with listening(meter):
        work("Reading", parts=(1, 3))
    assert shown == [(25, "reading"), (100, "reading")]


def test_work_within_tracked_work_and_a_whole_within_a_whole_show_nothing(meter, shown):
    with listening(meter), whole({"all": 1}), part("all"), track("Outer", 1):
        with whole({"inner": 1}), part("inner"):
            work()
        assert shown == [(0, "all")]


def test_a_second_track_of_a_part_goes_on_where_the_first_ended(meter, shown):
    with listening(meter), whole({"all": 1}), part("all"):
        work("First", parts=(1,))
        work("Second", parts=(1,))
    assert [share for share, _ in shown] == [0, 80, 96, 100]


def test_after_a_failure_the_meter_can_be_used_again(meter, shown):
    with listening(meter):
        with pytest.raises(RuntimeError), whole({"all": 1}), part("all"):
            failing()
        shown.clear()
        work(parts=(1,))
    assert shown == [(100, "reading")]


def test_a_fit_names_its_parts(meter, shown, topics):
    model = coterie.SCCL(n_clusters=3, encoder="tfidf", epochs=2, epoch_steps=2, init="kmeans")
    with listening(meter):
        model.fit(topics[0])
    texts = list(dict.fromkeys(text.partition(",")[0] for _, text in shown))
    assert texts == ["embedding", "views", "neighbors", "start", "training", "score"]
    assert any(text.startswith("training, epoch 2 of 2, ") for _, text in shown)
    before = [share for share, text in shown if not text.startswith(("training,", "score"))]
    assert before == sorted(before)
    assert shown[-1][0] == 100
