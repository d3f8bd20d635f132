"""The orders of the demo: skewed keys, valid JSON, now and then a delay or a trace."""

import json
import random
from collections import Counter
from typing import Any

from engine.trace.context import parse_traceparent
from tools.demo import CUSTOMERS, send_order


class Sent:
    """A producer that keeps what it is given."""

    def __init__(self) -> None:
        self.orders: list[dict[str, Any]] = []

    def produce(self, topic: str, value: bytes, key: bytes, headers: list[tuple[str, bytes]] | None) -> None:
        self.orders.append({"topic": topic, "key": key, "headers": dict(headers or []), **json.loads(value)})


def test_orders() -> None:
    sent, chance = Sent(), random.Random(1)
    for number in range(2000):
        send_order(sent, chance, number)
    assert [order["number"] for order in sent.orders] == list(range(2000))
    keys = Counter(order["key"] for order in sent.orders)
    (_, most), *_ = keys.most_common(1)
    assert most > 3 * 2000 / CUSTOMERS
    delays = [int(order["headers"]["tide-delay"]) for order in sent.orders if "tide-delay" in order["headers"]]
    assert len(delays) == 50
    traces = [order["headers"]["traceparent"] for order in sent.orders if "traceparent" in order["headers"]]
    assert len(traces) == 200
    assert all(parse_traceparent(each) is not None for each in traces)
