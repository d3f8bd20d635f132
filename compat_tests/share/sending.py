"""Records for share groups, each saying where it lies."""

from compat_tests.wire.batches import build
from compat_tests.wire.requests import produce, produced


def fill(
    bootstrap: str,
    topic: str,
    count: int,
    *,
    first: int = 0,
    partition: int = 0,
    codec: str = "none",
    together: int = 1000,
) -> list[bytes]:
    """Sends so many records in batches of at most `together`; gives their values."""
    values = [b"%d-%d" % (partition, number) for number in range(first, first + count)]
    for start in range(0, count, together):
        batch = build(values[start : start + together], codec=codec)
        assert produced(bootstrap, produce(topic, batch, partition=partition)).error_code == 0
    return values


def send(bootstrap: str, topic: str, values: list[str], partition: int = 0) -> None:
    """Sends these, in one batch."""
    batch = build([value.encode() for value in values])
    assert produced(bootstrap, produce(topic, batch, partition=partition)).error_code == 0
