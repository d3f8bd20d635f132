"""The benchmark of delay and priority finds what it should find, on a small scale."""

from collections.abc import Iterator

import pytest

from tidegate import testing
from tidegate.testing import RunningBroker
from tools.bench.delay import lateness, main, pending, pile, shares


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with testing.broker({"http.port": "0"}) as running:
        yield running


def test_nothing_is_early(broker: RunningBroker) -> None:
    figures = lateness(broker, 200, 1.0)
    assert figures["early"] == 0
    assert figures["late_p50_ms"] <= figures["late_p99_ms"] <= figures["late_max_ms"]


def test_a_pile_drains(broker: RunningBroker) -> None:
    figures = pile(broker, 1_000)
    assert figures["drained_per_s"] > 0
    assert figures["first_after_ms"] >= 0


def test_lanes_get_their_shares(broker: RunningBroker) -> None:
    figures = shares(broker, 5_000)
    for lane, weight in {"critical": 50, "high": 25, "normal": 15, "low": 7, "background": 3}.items():
        assert abs(figures[f"{lane}_percent"] - weight) <= 5


def test_a_restart_finds_what_is_pending(broker: RunningBroker) -> None:
    figures = pending(broker, 500)
    assert figures["restart_s"] > 0
    assert figures["resident_after_mb"] > 0


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(SystemExit):
        main(["--no-such-option"])
