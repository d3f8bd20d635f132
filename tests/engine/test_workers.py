"""Jobs run away from the loop, outcomes come back to it, and one bad callback does not stop others."""

import threading
import time
import weakref

import pytest

from engine.workers import InlineWorkers, ThreadWorkers


def test_outcomes_come_back_with_result_or_error() -> None:
    woken = threading.Semaphore(0)
    workers = ThreadWorkers(2, woken.release)
    outcomes = []
    workers.submit(lambda: 42, lambda result, error: outcomes.append((result, error)))
    workers.submit(lambda: 1 // 0, lambda result, error: outcomes.append((result, type(error))))
    for _ in range(2):
        assert woken.acquire(timeout=5)
    workers.deliver()
    workers.close()
    assert sorted(outcomes, key=str) == [(42, None), (None, ZeroDivisionError)]


def test_a_callback_that_fails_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    woken = threading.Semaphore(0)
    workers = ThreadWorkers(1, woken.release)
    outcomes = []

    def fail(result: object, error: object) -> None:
        raise RuntimeError("a bug")

    workers.submit(lambda: 1, fail)
    workers.submit(lambda: 2, lambda result, error: outcomes.append(result))
    for _ in range(2):
        assert woken.acquire(timeout=5)
    workers.deliver()
    workers.close()
    assert outcomes == [2]
    assert "a bug" in caplog.text


def test_inline_workers_hold_jobs_until_told() -> None:
    workers = InlineWorkers(hold=True)
    outcomes = []
    workers.submit(lambda: "a", lambda result, error: outcomes.append(result))
    workers.submit(lambda: "b", lambda result, error: outcomes.append(result))
    assert outcomes == []
    assert workers.run_held(1) == 1
    assert outcomes == ["a"]
    assert workers.run_held() == 1
    assert outcomes == ["a", "b"]


def test_a_finished_job_is_not_kept_while_a_thread_waits_for_the_next() -> None:
    class Held:
        """Something whose end can be seen."""

    woken = threading.Semaphore(0)
    workers = ThreadWorkers(1, woken.release)
    held = Held()
    seen = weakref.ref(held)
    workers.submit(lambda held=held: repr(held), lambda result, error: None)
    del held
    assert woken.acquire(timeout=5)
    workers.deliver()
    deadline = time.monotonic() + 5
    while seen() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    workers.close()
    assert seen() is None
