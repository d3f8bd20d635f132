"""Single records at a steady rate from this process, for measurements that need to look into it."""

import time
from collections.abc import Mapping

from confluent_kafka import Producer


class PacedProducer:
    """Single records at a steady rate, round robin over partitions; remembers how long each answer took."""

    def __init__(
        self, bootstrap: str, topic: str, partitions: int, settings: Mapping[str, object] | None = None
    ) -> None:
        usual: dict[str, object] = {"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0}
        self._producer = Producer(usual | dict(settings or {}))
        self._topic = topic
        self._partitions = partitions
        self.latencies_ms: list[float] = []

    def run(self, records_per_s: int, duration_s: float, *, size: int = 200) -> None:
        """For so long, at this rate."""
        value = b"x" * size
        began = time.monotonic()
        for number in range(int(records_per_s * duration_s)):
            due = began + number / records_per_s
            while (rest := due - time.monotonic()) > 0:
                self._producer.poll(min(rest, 0.01))
            sent = time.monotonic()
            self._producer.produce(
                self._topic,
                value,
                partition=number % self._partitions,
                on_delivery=lambda error, _, sent=sent: self._done(error, sent),
            )
        if self._producer.flush(60):
            raise SystemExit("records were not acknowledged in time")

    def _done(self, error: object, sent: float) -> None:
        if error is not None:
            raise SystemExit(f"a record was refused: {error}")
        self.latencies_ms.append((time.monotonic() - sent) * 1000)
