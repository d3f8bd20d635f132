"""Another client, who does small honest work: how long it waits for each answer while somebody else asks for much."""

import threading
import time
from collections.abc import Callable

from tools.fuzz.cost.connection import Connection
from wire.kafka.messages.base import Message

PAUSE_S = 0.004


class Bystander:
    """Asks the same over and over in a thread of its own, with a pause in between."""

    def __init__(self, connection: Connection, ask: Callable[[Connection], Message]) -> None:
        self._connection = connection
        self._ask = ask
        self._waits_s: list[float] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Bystander":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._ends.wait(PAUSE_S):
            began = time.perf_counter()
            self._ask(self._connection)
            self._waits_s.append(time.perf_counter() - began)

    def p99_ms(self) -> float:
        """What all but one of a hundred answers took at most, since the last call."""
        waits_s, self._waits_s = sorted(self._waits_s), []
        return waits_s[min(len(waits_s) - 1, len(waits_s) * 99 // 100)] * 1000 if waits_s else 0.0
