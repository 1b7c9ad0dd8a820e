"""Work on several threads: all of it, at once, and nothing of it afterwards."""

from __future__ import annotations

import signal
import time
from _thread import start_new_thread
from threading import Barrier, Event, get_ident
from typing import Any

import pytest

from discreet.secagg.side_by_side import side_by_side


def test_all_run_at_once_and_the_first_on_the_calling_thread() -> None:
    met, threads = Barrier(3, timeout=10.0), {}

    def work(number: int) -> None:
        met.wait()
        threads[number] = get_ident()

    side_by_side(work, 3)
    assert sorted(threads) == [0, 1, 2]
    assert threads[0] == get_ident()
    assert len(set(threads.values())) == 3


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_comes_out_when_all_have_ended(failing: int) -> None:
    failed, ended = Event(), []

    def work(number: int) -> None:
        if number == failing:
            failed.set()
            raise SystemExit(f"of thread {number}")
        assert failed.wait(10.0)
        ended.append(number)

    with pytest.raises(SystemExit, match=f"of thread {failing}"):
        side_by_side(work, 2)
    assert ended == [1 - failing]


@pytest.mark.parametrize("left", [0, 1])
def test_work_that_no_thread_is_left_for_is_done_all_the_same(
    left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[Any, ...]] = []
    done: list[int] = []

    def start(*work: Any) -> int:
        if len(started) == left:
            raise RuntimeError("can't start new thread")
        started.append(work)
        return start_new_thread(*work)

    monkeypatch.setattr("discreet.secagg.side_by_side.start_new_thread", start)
    side_by_side(done.append, 3)
    assert sorted(done) == [0, 1, 2]


def test_an_interruption_comes_out_when_all_have_ended() -> None:
    """Of a thread that waits, and twice: whoever presses Ctrl-C does so again."""
    waiting = get_ident()
    ended: list[int] = []

    def work(number: int) -> None:
        if number == 0:
            return
        for _ in range(2):
            time.sleep(0.05)
            signal.pthread_kill(waiting, signal.SIGINT)
        time.sleep(0.05)
        ended.append(number)

    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, 2)
    assert ended == [1]


def test_an_interruption_right_after_a_start_leaves_no_thread_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[int] = []

    def work(number: int) -> None:
        time.sleep(0.05)
        ended.append(number)

    def start(*work: Any) -> int:
        start_new_thread(*work)
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.secagg.side_by_side.start_new_thread", start)
    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, 3)
    assert ended == [1]
