"""How long a job waits from its producer's clock to a share consumer's hand, at a steady rate, for `tools.bench`.

    python -m tools.bench.share_latency --bootstrap 127.0.0.1:9092 --rate 1000 --seconds 15

The topic (`jobs`) and what its group obeys are there. Producer and consumer are confluent-kafka's, in one process of
two threads, whichever the broker is; every batch that is handed out is accepted before the next.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Sequence

from confluent_kafka import AcknowledgeType, Producer, ShareConsumer

TOPIC = GROUP = "jobs"
POLL_S = 0.2
READY_S = 60.0


class Worker(threading.Thread):
    """Takes jobs until it has so many, or is told to end."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.bootstrap = bootstrap
        self.delays_ms: list[float] = []
        self.given = 0
        self.over = threading.Event()

    def run(self) -> None:
        """Join, and work."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": GROUP, "log_level": 0}
        consumer = ShareConsumer({**settings, "share.acknowledgement.mode": "explicit"})
        consumer.subscribe([TOPIC])
        while not self.over.is_set():
            messages = [each for each in consumer.poll(POLL_S) if each.error() is None]
            now_ms = time.time() * 1000
            for message in messages:
                made_ms = float(message.value() or b"0")
                if made_ms:
                    self.delays_ms.append(now_ms - made_ms)
                self.given += 1
                consumer.acknowledge(message, AcknowledgeType.ACCEPT)
            if messages:
                consumer.commit_sync(10)
        consumer.close()


def send(producer: Producer, count: int, rate: float, *, counted: bool) -> None:
    """So many jobs at the rate, each with the time at which it was made, or with none."""
    began = time.monotonic()
    for number in range(count):
        ahead = began + number / rate - time.monotonic()
        if ahead > 0:
            producer.poll(ahead)
        producer.produce(TOPIC, b"%.3f" % (time.time() * 1000) if counted else b"0", key=b"%d" % number)
    producer.flush(30)


def wait_for(worker: Worker, count: int, seconds: float) -> bool:
    """Until so many were handed out."""
    deadline = time.monotonic() + seconds
    while worker.given < count and time.monotonic() < deadline:
        time.sleep(0.02)
    return worker.given >= count


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it, and say the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.share_latency", description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--rate", type=float, default=1000.0)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--warm-up", type=float, default=3.0, help="seconds at the rate that do not count")
    options = parser.parse_args(arguments)
    worker = Worker(options.bootstrap)
    worker.start()
    producer = Producer({"bootstrap.servers": options.bootstrap, "linger.ms": 0, "log_level": 0})
    send(producer, 1, 1.0, counted=False)
    before = 1 + int(options.rate * options.warm_up)
    count = int(options.rate * options.seconds)
    if not wait_for(worker, 1, READY_S):
        sys.exit("nothing was handed out")
    send(producer, before - 1, options.rate, counted=False)
    wait_for(worker, before, READY_S)
    send(producer, count, options.rate, counted=True)
    is_whole = wait_for(worker, before + count, READY_S)
    worker.over.set()
    worker.join(15)
    if not is_whole:
        sys.exit(f"only {len(worker.delays_ms)} of {count} jobs were handed out")
    delays = sorted(worker.delays_ms)
    figures = {
        # All of them: the broker's CPU time is counted over the whole of it.
        "records": before + count,
        "p50_ms": delays[len(delays) // 2],
        "p99_ms": delays[int(len(delays) * 0.99)],
        "p999_ms": delays[int(len(delays) * 0.999)],
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
