"""Whoever measures what waits for another attempt sees to it that it does wait."""

import pytest
from confluent_kafka import Producer

from tidegate import testing
from tools.bench.brokers import Subject
from tools.bench.loads.share import AN_HOUR_MS, begin_at_the_start
from tools.bench.loads.share_wire import ShareWire
from tools.bench.trial import Trial

RECORDS = 30


def test_all_is_released_one_by_one_and_waits_unless_it_must_not() -> None:
    with testing.broker(timeout_s=60) as broker:
        trial = Trial(Subject("tidegate", broker.bootstrap, broker.pid, 0.0, lambda: 0))
        trial.topics({"load": 1})
        producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        for _ in range(RECORDS):
            producer.produce("load", b"x")
        assert producer.flush(30) == 0
        waits = {"share.retry.backoff.ms": AN_HOUR_MS, "share.retry.backoff.max.ms": AN_HOUR_MS}
        begin_at_the_start(trial, "patient", **waits)
        begin_at_the_start(trial, "hasty", **{"share.retry.backoff.ms": 0})
        with ShareWire(broker.bootstrap, "load", "patient") as member:
            member.release_all(0, RECORDS, 10)
            member.expect_nothing([0])
        with ShareWire(broker.bootstrap, "load", "hasty") as member:
            member.release_all(0, RECORDS, 10)
            with pytest.raises(ValueError, match="which should wait"):
                member.expect_nothing([0])
