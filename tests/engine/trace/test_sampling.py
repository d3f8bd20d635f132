"""Rates and shares."""

from hypothesis import given
from hypothesis import strategies as st

from engine.trace.sampling import Rate, TopicSampler, spread


def test_a_rate_gives_a_seconds_worth_at_once_and_then_evenly() -> None:
    rate = Rate(10)
    assert sum(rate.take(100.0) for _ in range(50)) == 10
    assert rate.room(100.0) == 0
    assert rate.room(100.11) == 1
    assert rate.take(100.11)
    assert not rate.take(100.12)


def test_no_rate_is_never() -> None:
    assert not Rate(0).take(1.0)
    assert Rate(0).room(1.0) == 0


@given(st.floats(0.5, 100), st.lists(st.floats(0, 0.5), max_size=200))
def test_a_rate_holds_over_any_time(per_second: float, waits: list[float]) -> None:
    rate = Rate(per_second)
    now, taken = 1000.0, 0
    for wait in waits:
        now += wait
        taken += rate.take(now)
    assert taken <= per_second * (now - 1000.0) + max(per_second, 1) + 1


@given(st.integers(1, 200), st.floats(0, 2))
def test_the_room_is_what_can_be_taken(per_second: int, later: float) -> None:
    rate = Rate(per_second)
    while rate.take(100.0):
        pass
    room = rate.room(100.0 + later)
    taken = sum(rate.take(100.0 + later) for _ in range(per_second + 2))
    assert abs(taken - room) <= 1, "but for rounding"


@given(st.floats(0.001, 1), st.lists(st.integers(1, 1000), max_size=100))
def test_a_share_is_kept_whatever_the_batches(ratio: float, counts: list[int]) -> None:
    sampler = TopicSampler(Rate(0), ratio=ratio)
    taken = [sampler.by_ratio(count) for count in counts]
    assert all(some <= count for some, count in zip(taken, counts, strict=True))
    assert abs(sum(taken) - ratio * sum(counts)) <= 1 + 1e-6 * sum(counts)


def test_no_share_takes_nothing() -> None:
    assert TopicSampler(Rate(0)).by_ratio(1_000_000) == 0


@given(st.integers(1, 500), st.integers(0, 500))
def test_what_is_taken_is_spread_over_the_batch(taken: int, more: int) -> None:
    count = taken + more
    numbers = spread(taken, count)
    assert numbers == sorted(set(numbers))
    assert len(numbers) == taken
    assert 0 <= numbers[0] <= numbers[-1] < count
