"""What a load is given: topics that can be used, sizes, and a meter of broker and clients."""

import os
import subprocess
import sys

import pytest

from tidegate import testing
from tools.bench.brokers import Subject
from tools.bench.trial import Meter, Trial, make_topics, wait_for_leaders

BURN = "import time\nwhile time.process_time() < 0.2: pass"


def _trial(scale: float = 1.0) -> Trial:
    return Trial(Subject("us", "nowhere:0", os.getpid(), 0.0, lambda: 0), scale)


def test_sizes_are_scaled_but_never_to_nothing() -> None:
    assert _trial().scaled(1000) == 1000
    assert _trial(0.01).scaled(1000) == 10
    assert _trial(0.01).scaled(10, 5) == 5


def test_clients_and_broker_are_counted_apart() -> None:
    with _trial().measured() as meter:
        subprocess.run([sys.executable, "-c", BURN], check=True)
    assert meter.client_cpu_s >= 0.2
    assert meter.cpu_s < meter.client_cpu_s


def test_costs_are_told_per_thousand_records() -> None:
    meter = Meter(0, seconds=4.0, cpu_s=2.0, client_cpu_s=1.0, busiest_thread_s=1.5, peak_mb=50.0, stolen_s=0.2)
    figures = meter.figures({"records": 4000.0, "seconds": 2.0, "requests": 7.0, "p99_ms": 3.0})
    assert figures == {
        "p99_ms": 3.0,
        "cpu_s": 2.0,
        "cpu_s_per_1000": 0.5,
        "memory_mb": 50.0,
        "client_cpu_s": 1.0,
        "broker_busy": 1.0,
        "broker_thread_busy": 0.75,
        "client_busy": 0.25,
        "stolen": 0.05,
    }


@pytest.mark.timeout(60)
def test_topics_can_be_used_once_they_are_waited_for() -> None:
    with testing.broker({"auto.create.topics.enable": "false"}, timeout_s=30) as broker:
        make_topics(broker.bootstrap, {"a": 2, "b": 1})
        wait_for_leaders(broker.bootstrap, {"a": 2, "b": 1})
