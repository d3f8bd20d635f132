"""What the load generators print is understood, and what goes wrong with them is told."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.bench import clients
from tools.bench.clients import (
    LoadFailed,
    Native,
    consumer_performance,
    end_to_end_latency,
    producer_performance,
    share_consumer_performance,
)

PRODUCED = """\
90000 records sent, 17999.6 records/sec (17.58 MB/sec), 1000.0 ms avg latency, 1500.0 ms max latency.
100000 records sent, 20000.0 records/sec (19.53 MB/sec), 900.1 ms avg latency, 1600.00 ms max latency, \
800 ms 50th, 1100 ms 95th, 1200 ms 99th, 1300 ms 99.9th.
"""
CONSUMED = "2026-01-01 00:00:00:000, 2026-01-01 00:00:02:000, 97.6, 48.8, 100000, 50000.0, 500, 1500, 65.1, 66666.6\n"
SHARED = "2026-01-01 00:00:00:000, 2026-01-01 00:00:02:000, 97.6, 48.8, 50000.0, 100000, 2000\n"


def _prints(monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    monkeypatch.setattr(clients, "_java", lambda *command: output)


def test_the_last_line_of_the_producer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    _prints(monkeypatch, PRODUCED)
    found = producer_performance("b:1", "t", 100_000, 1024, {})
    assert found == {
        "records": 100_000,
        "records_per_s": 20_000,
        "seconds": 5,
        "p50_ms": 800,
        "p99_ms": 1200,
        "p999_ms": 1300,
    }


def test_records_that_were_not_sent_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    _prints(monkeypatch, PRODUCED)
    with pytest.raises(LoadFailed, match="did not send 200000 records"):
        producer_performance("b:1", "t", 200_000, 1024, {})


def test_a_consumer_is_timed_without_joining_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    _prints(monkeypatch, CONSUMED)
    found = consumer_performance("b:1", "t", 100_000)
    assert found == {"records": 100_000, "records_per_s": 66666.6, "seconds": 1.5}
    with pytest.raises(LoadFailed, match="did not read 100001 records"):
        consumer_performance("b:1", "t", 100_001)


def test_a_share_consumer_has_its_columns_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    _prints(monkeypatch, SHARED)
    found = share_consumer_performance("b:1", "t", "g", 100_000)
    assert found == {"records": 100_000, "records_per_s": 50_000, "seconds": 2}
    with pytest.raises(LoadFailed, match="did not read 100001 records"):
        share_consumer_performance("b:1", "t", "g", 100_001)


def test_round_trips_have_percentiles(monkeypatch: pytest.MonkeyPatch) -> None:
    _prints(monkeypatch, "Avg latency: 1.2 ms\nPercentiles: 50th = 1, 99th = 4, 99.9th = 9\n")
    assert end_to_end_latency("b:1", "t", 10, 100)["p999_ms"] == 9
    _prints(monkeypatch, "nothing\n")
    with pytest.raises(LoadFailed, match="no percentiles"):
        end_to_end_latency("b:1", "t", 10, 100)


def test_a_program_that_fails_is_quoted() -> None:
    with pytest.raises(LoadFailed, match=r"status 3: it is broken"):
        clients._run([sys.executable, "-c", "import sys; print('it is broken', file=sys.stderr); sys.exit(3)"])


def test_without_go_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Native, "available", staticmethod(lambda: False))
    with pytest.raises(LoadFailed, match=r"Go 1\.26"):
        Native(tmp_path / "loadgen").build()


@pytest.mark.skipif(not Native.available(), reason="the native load generator needs Go")
def test_the_native_generators_own_tests_pass() -> None:
    done = subprocess.run(["go", "test", "./..."], cwd=clients.SOURCE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
