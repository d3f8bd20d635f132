"""A shop for a while: `python -m tools.demo FOLDER` starts a broker, fills it, runs pipelines, leaves reports.

Orders come in waves, with skewed keys and some with a delay (a reminder), each followed by a payment; a kitchen reads
and commits, and closes before the end, so that lag and stuck records can be seen too; a till puts payments that it
cannot take into a dead-letter topic.
"""

import argparse
import json
import math
import random
import secrets
import shutil
import time
from pathlib import Path
from typing import Any

from tidegate import testing
from tools.pipelines import PIPELINES

CUSTOMERS = 200
MADE = ("archive", "usage", "timelines", "dead-letters")
GOODS = ("coffee", "tea", "cake", "toast", "soup")
WAVE_S = 12.0
REFUSALS = (
    ("com.shop.CardExpired", "the card expired in 2025-09"),
    ("com.shop.LimitReached", "limit reached"),
    ("java.net.SocketTimeoutException", "the bank did not answer within 3000 ms"),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="demo", description="Fill a broker and run pipelines on it.")
    parser.add_argument("folder", type=Path, help="where the archive and the reports go")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long the shop is open (default: 30)")
    parser.add_argument("--per-second", type=int, default=100, help="orders per second (default: 100)")
    options = parser.parse_args()
    for name in MADE:  # of a demo before, whose broker is gone
        shutil.rmtree(options.folder / name, ignore_errors=True)
    options.folder.mkdir(parents=True, exist_ok=True)
    with testing.broker({"num.partitions": "3", "log.trace.sample.per.second": "50"}) as broker:
        say(f"a broker runs at {broker.bootstrap}; the shop is open for {options.seconds:g} s")
        Shop(broker.bootstrap).open(options.seconds, options.per_second)
        run_pipelines(broker.bootstrap, options.folder)
    for page in sorted(options.folder.rglob("report.html")):
        say(f"look at {page}")


class Shop:
    """Whoever sends and reads."""

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka import Consumer, Producer

        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
        readers = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}
        self._kitchen = Consumer({**readers, "group.id": "kitchen", "client.id": "cook"})
        self._till = Consumer({**readers, "group.id": "till", "client.id": "cashier"})
        self._chance = random.Random(7)
        self.sent = self.cooked = self.refused = 0

    def open(self, seconds: float, per_second: int) -> None:
        """Orders in waves, read by a kitchen that closes a little early."""
        for topic in ("orders", "payments"):
            self._producer.produce(topic, b"{}", key=b"opening")
        self._producer.flush(10)
        self._kitchen.subscribe(["orders"])
        self._till.subscribe(["payments"])
        started = time.monotonic()
        while (passed := time.monotonic() - started) < seconds:
            while self.sent < expected(passed, per_second):
                send_order(self._producer, self._chance, self.sent)
                self.sent += 1
            self._producer.poll(0)
            if passed < seconds * 0.8:
                self.cooked += len(_records(self._kitchen))
            self._collect()
        self._producer.flush(10)
        self._collect()
        self._producer.flush(10)
        self._kitchen.close()
        self._till.close()
        say(f"{self.sent:,} orders were sent, {self.cooked:,} cooked, {self.refused:,} payments refused")

    def _collect(self) -> None:
        for record in _records(self._till):
            if self._chance.random() < 0.03:
                refuse(self._producer, self._chance, record)
                self.refused += 1


def _records(consumer: Any) -> list[Any]:
    return [record for record in consumer.consume(100, timeout=0.02) if record.error() is None]


def expected(passed_s: float, per_second: int) -> float:
    """Orders until then: as many as at an even pace, in waves."""
    turn = 2 * math.pi / WAVE_S
    return per_second * (passed_s + 0.6 * (math.cos(turn * passed_s) - 1) / turn)


def send_order(producer: Any, chance: random.Random, number: int) -> None:
    customer = f"customer-{min(int(chance.expovariate(8) * CUSTOMERS), CUSTOMERS - 1)}".encode()
    order = {"number": number, "item": chance.choice(GOODS), "price": round(chance.uniform(2, 15), 2)}
    headers = []
    if number % 40 == 0:
        headers.append(("tide-delay", str(chance.randrange(200, 3000)).encode()))
    if number % 10 == 0:
        headers.append(("traceparent", f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01".encode()))
    producer.produce("orders", json.dumps(order).encode(), key=customer, headers=headers or None)
    if number % 3 == 0:
        payment = {"order": number, "amount": order["price"], "card": f"**** {chance.randrange(1000, 9999)}"}
        producer.produce("payments", json.dumps(payment).encode(), key=customer, headers=None)


def refuse(producer: Any, chance: random.Random, record: Any) -> None:
    """A payment as a dead letter, with the headers that Kafka Connect writes."""
    error, message = chance.choices(REFUSALS, weights=(6, 3, 1))[0]
    told = {
        "topic": record.topic(),
        "partition": str(record.partition()),
        "offset": str(record.offset()),
        "connector.name": "till",
        "exception.class.name": error,
        "exception.message": message,
    }
    headers = [(f"__connect.errors.{name}", value.encode()) for name, value in told.items()]
    producer.produce("payments.dlq", record.value(), key=record.key(), headers=headers)


def run_pipelines(bootstrap: str, folder: Path) -> None:
    """All in one Spark, as somebody who calls them from a program of their own would."""
    from tools.pipelines.session import spark_session

    say("Spark starts")
    session = spark_session("tidegate demo")
    topics = ["orders", "payments"]
    jobs: list[tuple[str, dict[str, Any]]] = [
        ("archive", {"topics": topics, "archive": str(folder / "archive"), "json": ["*"]}),
        ("audit", {"archive": str(folder / "archive")}),
        (
            "usage",
            {"topics": topics, "output": str(folder / "usage"), "window": "1 second", "watermark": "0 seconds"},
        ),
        ("timelines", {"output": str(folder / "timelines"), "stuck_seconds": 2.0, "step": 2.0}),
        ("dead-letters", {"output": str(folder / "dead-letters")}),
    ]
    try:
        for name, given in jobs:
            pipeline = PIPELINES[name]
            status = pipeline.run(pipeline.values({"bootstrap": bootstrap, **given}))
            if status != 0:
                raise SystemExit(f"{name} ended with status {status}")
    finally:
        session.stop()


def say(line: str) -> None:
    print(f"demo: {line}", flush=True)


if __name__ == "__main__":
    main()
