"""The rate of a replay, and its chunks; the writing itself is tested on a broker."""

from tools.pipelines.replay import RateLimit, chunks


class Time:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_so_many_per_second() -> None:
    time = Time()
    limit = RateLimit(10, time.clock, time.sleep)
    for _ in range(21):
        limit.wait()
    assert round(time.now, 6) == 102.0


def test_a_long_delay_makes_no_long_burst() -> None:
    time = Time()
    limit = RateLimit(10, time.clock, time.sleep)
    limit.wait()
    time.now += 60
    for _ in range(31):
        limit.wait()
    assert round(time.now, 6) == 162.0


def test_no_limit() -> None:
    time = Time()
    limit = RateLimit(0, time.clock, time.sleep)
    for _ in range(1000):
        limit.wait()
    assert time.now == 100.0


def test_chunks() -> None:
    assert list(chunks(iter(range(7)), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(chunks(iter(()), 3)) == []
