"""Records as the clients written in Python have them, which name everything alike."""

from typing import Any

from compat_tests.clients.base import Consumed, Record


def as_sent(record: Record) -> dict[str, Any]:
    """What their producers are given, beside the topic."""
    return {
        "value": record.value,
        "key": record.key,
        "headers": list(record.headers),
        "partition": record.partition,
        "timestamp_ms": record.timestamp_ms,
    }


def consumed(record: Any) -> Consumed:
    """What their consumers give."""
    return Consumed(
        offset=record.offset,
        key=record.key,
        value=record.value,
        headers=tuple(record.headers),
        timestamp_ms=record.timestamp,
        partition=record.partition,
    )
