"""How a failover is measured: from the last acknowledgement before it to the first one after."""

import pytest

from tools.chaos import campaign
from tools.chaos.campaign import Gap, Report, longest_gap
from tools.chaos.workloads import Plain


def test_the_gap_of_the_partition_that_waited_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign.time, "monotonic", lambda: 20.0)
    writer = Plain("nowhere:1", 1, partitions=2)
    writer.acked_s[0] = [9.5, 9.9, 12.0, 19.9]
    writer.acked_s[1] = [9.9, 10.1, 19.9]
    assert longest_gap(writer, {0}, 10.0) == Gap(pytest.approx(7.9), 12.0, 0)
    writer.acked_s[0] = [1.0, 9.9, 12.4, *(12.5 + number / 10 for number in range(75))]
    assert longest_gap(writer, {0}, 10.0) == Gap(pytest.approx(2.5), 9.9, 0)


def test_a_partition_that_is_still_waiting_counts_until_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign.time, "monotonic", lambda: 20.0)
    writer = Plain("nowhere:1", 1, partitions=1)
    writer.acked_s[0] = [9.0]
    gap = longest_gap(writer, {0}, 10.0)
    assert gap.words(10.0) == "acknowledged again after 11.00 s (partition 0, -1.00 s from the fault)"


def test_the_distribution_of_failovers() -> None:
    assert Report().distribution() == "failovers: none; failovers soon after another fault: none"
    report = Report(failovers_s=[1.0, 3.0, 2.0], soon_s=[5.0])
    assert report.distribution() == (
        "failovers: 3, p50 2.00 s, p99 3.00 s, max 3.00 s;"
        " failovers soon after another fault: 1, p50 5.00 s, p99 5.00 s, max 5.00 s"
    )
