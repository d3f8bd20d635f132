"""A bystander tells how long it had to wait."""

import threading
import time

from tools.fuzz.cost.bystander import Bystander


def test_the_wait_of_nearly_all_answers_is_told_once() -> None:
    asked = threading.Semaphore(0)

    def ask(connection: None) -> None:
        time.sleep(0.002)
        asked.release()

    with Bystander(None, ask) as another:  # type: ignore[arg-type]
        for _ in range(5):
            assert asked.acquire(timeout=10)
    assert another.p99_ms() >= 2.0
    assert another.p99_ms() == 0.0
