"""The orders of the demo: skewed keys, valid JSON, now and then a delay or a trace."""

import json
import random
from collections import Counter
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from engine.trace.context import parse_traceparent
from tools.demo import CUSTOMERS, WAVE_S, expected, refuse, send_order


class Sent:
    """A producer that keeps what it is given."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def produce(self, topic: str, value: bytes, key: bytes, headers: list[tuple[str, bytes]] | None) -> None:
        self.records.append({"topic": topic, "key": key, "headers": dict(headers or []), **json.loads(value)})


def test_orders() -> None:
    sent, chance = Sent(), random.Random(1)
    for number in range(2000):
        send_order(sent, chance, number)
    orders = [record for record in sent.records if record["topic"] == "orders"]
    assert [order["number"] for order in orders] == list(range(2000))
    payments = [record for record in sent.records if record["topic"] == "payments"]
    assert [payment["order"] for payment in payments] == list(range(0, 2000, 3))
    keys = Counter(order["key"] for order in orders)
    (_, most), *_ = keys.most_common(1)
    assert most > 3 * 2000 / CUSTOMERS
    delays = [int(order["headers"]["tide-delay"]) for order in orders if "tide-delay" in order["headers"]]
    assert len(delays) == 50
    traces = [order["headers"]["traceparent"] for order in orders if "traceparent" in order["headers"]]
    assert len(traces) == 200
    assert all(parse_traceparent(each) is not None for each in traces)


def test_orders_come_in_waves_and_never_go_back() -> None:
    counts = [expected(tenth / 10, 100) for tenth in range(int(WAVE_S * 10) + 1)]
    steps = [later - earlier for earlier, later in pairwise(counts)]
    assert min(steps) > 0
    assert max(steps) > 2 * min(steps)
    assert abs(counts[-1] - 100 * WAVE_S) < 1e-6


def test_a_refused_payment_says_where_it_came_from() -> None:
    payment = SimpleNamespace(
        topic=lambda: "payments",
        partition=lambda: 2,
        offset=lambda: 71,
        value=lambda: b'{"order": 3}',
        key=lambda: b"customer-9",
    )
    sent = Sent()
    refuse(sent, random.Random(1), payment)
    (letter,) = sent.records
    assert (letter["topic"], letter["key"], letter["order"]) == ("payments.dlq", b"customer-9", 3)
    assert letter["headers"]["__connect.errors.topic"] == b"payments"
    assert letter["headers"]["__connect.errors.offset"] == b"71"
