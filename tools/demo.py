"""A shop for a while: `python -m tools.demo FOLDER` starts a broker, fills it, runs pipelines, leaves reports.

Orders come with skewed keys and some with a delay (a reminder); a kitchen reads and commits, and closes before the end,
so that lag and stuck records can be seen too.
"""

import argparse
import json
import random
import secrets
import shutil
import time
from pathlib import Path
from typing import Any

from tidegate import testing
from tools.pipelines import PIPELINES

CUSTOMERS = 200
MADE = ("archive", "usage", "timelines")
GOODS = ("coffee", "tea", "cake", "toast", "soup")


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
        say(f"a broker runs at {broker.bootstrap}")
        fill(broker.bootstrap, options.seconds, options.per_second)
        run_pipelines(broker.bootstrap, options.folder)
    for page in sorted(options.folder.rglob("report.html")):
        say(f"look at {page}")


def fill(bootstrap: str, seconds: float, per_second: int) -> None:
    """Orders at an even pace, read by a kitchen that closes a little early."""
    from confluent_kafka import Consumer, Producer

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    kitchen = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "kitchen", "client.id": "cook", "auto.offset.reset": "earliest"}
    )
    producer.produce("orders", b"{}", key=b"opening")
    producer.flush(10)
    kitchen.subscribe(["orders"])
    chance = random.Random(7)
    started, sent, cooked = time.monotonic(), 0, 0
    while (passed := time.monotonic() - started) < seconds:
        while sent < passed * per_second:
            send_order(producer, chance, sent)
            sent += 1
        producer.poll(0)
        if passed < seconds * 0.8:
            found = kitchen.consume(100, timeout=0.02)
            cooked += sum(message.error() is None for message in found)
        else:
            time.sleep(0.02)
    producer.flush(10)
    kitchen.close()
    say(f"{sent:,} orders were sent, {cooked:,} read")


def send_order(producer: Any, chance: random.Random, number: int) -> None:
    customer = min(int(chance.expovariate(8) * CUSTOMERS), CUSTOMERS - 1)
    order = {"number": number, "item": chance.choice(GOODS), "price": round(chance.uniform(2, 15), 2)}
    headers = []
    if number % 40 == 0:
        headers.append(("tide-delay", str(chance.randrange(200, 3000)).encode()))
    if number % 10 == 0:
        headers.append(("traceparent", f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01".encode()))
    producer.produce("orders", json.dumps(order).encode(), key=f"customer-{customer}".encode(), headers=headers or None)


def run_pipelines(bootstrap: str, folder: Path) -> None:
    """All in one Spark, as somebody who calls them from a program of their own would."""
    from tools.pipelines.session import spark_session

    session = spark_session("tidegate demo")
    jobs: list[tuple[str, dict[str, Any]]] = [
        ("archive", {"topics": ["orders"], "archive": str(folder / "archive"), "json": ["orders"]}),
        ("audit", {"archive": str(folder / "archive")}),
        (
            "usage",
            {"topics": ["orders"], "output": str(folder / "usage"), "window": "2 seconds", "watermark": "0 seconds"},
        ),
        ("timelines", {"output": str(folder / "timelines"), "stuck_seconds": 2.0}),
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
