"""The arithmetic of quotas, against plainer readings of it and against what they promise over time."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.access.quotas.rates import LONGEST_WAIT_S, QuotaWindow, SampledRate, TokenBucket

WINDOW = QuotaWindow()
Samples = list[tuple[float, float]]
STEPS = st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5000)), max_size=60)


@given(STEPS, st.integers(1, 12), st.sampled_from((0.5, 1.0, 3.0)))
def test_a_rate_is_what_a_plain_reading_of_all_records_gives(
    steps: list[tuple[float, float]], samples: int, sample_s: float
) -> None:
    window = QuotaWindow(samples, sample_s)
    rate, now, naive = SampledRate(window), 100.0, Samples()
    for pause_s, amount in steps:
        now += pause_s
        rate.record(amount, now)
        naive = _naive(naive, amount, now, window)
        assert rate.rate(now) == pytest.approx(_naive_rate(naive, now, window), abs=1e-6)


def _naive(samples: Samples, amount: float, now: float, window: QuotaWindow) -> Samples:
    kept = [each for each in samples if each[0] > now - window.samples * window.sample_s]
    if kept and now - kept[-1][0] < window.sample_s:
        return [*kept[:-1], (kept[-1][0], kept[-1][1] + amount)]
    return [*kept, (now, amount)]


def _naive_rate(samples: Samples, now: float, window: QuotaWindow) -> float:
    kept = [each for each in samples if each[0] > now - window.samples * window.sample_s]
    elapsed = now - kept[0][0]
    full = math.floor(elapsed / window.sample_s)
    span = elapsed + max(window.samples - 1 - full, 0) * window.sample_s
    return sum(amount for _, amount in kept) / max(span, window.sample_s)


def _used_by_one_who_waits(amounts: list[float], bound: float) -> tuple[float, float]:
    """How much it used, and in which time."""
    rate, now = SampledRate(WINDOW), 50.0
    for amount in amounts:
        rate.record(amount, now)
        now += rate.wait_s(bound, now)
    return sum(amounts), now - 50.0


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=300), st.floats(10, 5000))
def test_who_waits_as_told_stays_within_the_bound(parts: list[float], bound: float) -> None:
    used, time_s = _used_by_one_who_waits([part * bound for part in parts], bound)
    assert used <= bound * (time_s + WINDOW.longest_s + 1) * 1.02


@given(st.lists(st.floats(1, 100), min_size=1, max_size=100), st.floats(10, 5000))
def test_requests_of_many_seconds_worth_exceed_it_by_less_than_as_much_again(parts: list[float], bound: float) -> None:
    """Kafka's rate forgets what is older than its window, also where a single request was more than that."""
    used, time_s = _used_by_one_who_waits([part * bound for part in parts], bound)
    assert used <= 2 * bound * (time_s + WINDOW.longest_s) + max(parts) * bound


def test_the_first_window_is_taken_for_whole() -> None:
    rate = SampledRate(WINDOW)
    rate.record(10_000, 7.0)
    assert rate.wait_s(1000, 7.0) == 0.0
    rate.record(1_000, 7.0)
    assert rate.wait_s(1000, 7.0) == pytest.approx(1.0)


def test_old_samples_no_longer_count() -> None:
    rate = SampledRate(WINDOW)
    rate.record(10_000, 0.0)
    rate.record(10, 5.0)
    assert rate.rate(10.9) == pytest.approx(10_010 / 10.9)
    assert rate.rate(11.0) == pytest.approx(10 / 10.0)
    assert rate.rate(30.0) == 0.0


def test_what_is_taken_back_was_never_used() -> None:
    rate = SampledRate(WINDOW)
    rate.record(100, 0.0)
    rate.record(9_000, 0.5)
    rate.record(-9_000, 0.5)
    assert rate.rate(0.5) == pytest.approx(100 / 10.5)


def test_a_window_of_one_sample_has_a_length() -> None:
    rate = SampledRate(QuotaWindow(1, 1.0))
    rate.record(100, 0.0)
    assert rate.rate(0.0) == 100


@given(STEPS, st.floats(0.1, 100))
def test_a_bucket_never_gives_more_than_its_burst_and_its_rate(steps: list[tuple[float, float]], bound: float) -> None:
    bucket, now, given_out, largest = TokenBucket(WINDOW), 10.0, 0.0, 0.0
    for pause_s, amount in steps:
        now += pause_s
        if bucket.wait_s(bound, now) == 0.0:
            bucket.record(amount, bound, now)
            given_out, largest = given_out + amount, max(largest, amount)
    assert given_out <= bound * (WINDOW.longest_s + now - 10.0) + largest + 1e-6


def test_a_bucket_is_overdrawn_once_and_tells_how_long_to_wait() -> None:
    bucket = TokenBucket(WINDOW)
    assert bucket.wait_s(2.0, 0.0) == 0.0
    bucket.record(30, 2.0, 0.0)
    assert bucket.wait_s(2.0, 0.0) == pytest.approx(4.0), "22 were in it"
    assert bucket.wait_s(2.0, 4.0) == 0.0


@given(st.floats(0, 1e15), st.floats(0, 1e9))
def test_nobody_waits_longer_than_can_be_told(amount: float, bound: float) -> None:
    rate, bucket = SampledRate(WINDOW), TokenBucket(WINDOW)
    rate.record(amount, 100.0)
    bucket.record(amount, bound, 100.0)
    for wait_s in (rate.wait_s(bound, 100.0), bucket.wait_s(bound, 100.0)):
        assert 0.0 <= wait_s <= LONGEST_WAIT_S


@pytest.mark.parametrize("bound", [0.0, 5e-324, 1e-9])
def test_a_bound_of_next_to_nothing_is_waited_for_as_long_as_can_be_told(bound: float) -> None:
    rate, bucket = SampledRate(WINDOW), TokenBucket(WINDOW)
    rate.record(1e6, 100.0)
    bucket.record(1e6, bound, 100.0)
    assert rate.wait_s(bound, 100.0) == bucket.wait_s(bound, 100.0) == LONGEST_WAIT_S
