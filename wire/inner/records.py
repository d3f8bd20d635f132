"""A record as a door takes it and gives it, and the headers by which one asks for more than Kafka offers."""

from collections.abc import Sequence

import msgspec

Header = tuple[str, bytes | None]

ASKING = "tide-"
"""What the names of the headers begin with by which a record asks for something."""


class NewRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record to be written."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[Header] = ()
    partition: int | None = None
    """Where it is to go; None has the partitioner choose."""
    timestamp_ms: int | None = None
    """When it was made; None is now."""

    @property
    def asks(self) -> bool:
        """Whether it asks for something: then it may be held back, and has no offset yet when that is answered."""
        return any(name.startswith(ASKING) for name, _ in self.headers)

    @property
    def size(self) -> int:
        """About what it takes in a batch."""
        size = len(self.key or b"") + len(self.value or b"") + RECORD_OVERHEAD_BYTES
        for name, value in self.headers:
            size += len(name) * 3 + len(value or b"") + HEADER_OVERHEAD_BYTES
        return size


MOST_HEADERS = 1_000
"""Of a record that comes by a door: each costs some hundred times its least size."""
RECORD_OVERHEAD_BYTES = 30
HEADER_OVERHEAD_BYTES = 10
NO_OFFSET = -1


class SentRecord(msgspec.Struct, frozen=True):
    """A record that was taken. `offset` is -1 where it is held back, or nobody waited for it."""

    partition: int
    offset: int
    timestamp_ms: int


class ReadRecord(msgspec.Struct, frozen=True):
    """A record that was read."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


def asking_headers(
    *,
    delay_ms: int | None = None,
    deliver_at_ms: int | None = None,
    schedule_id: str | None = None,
    cancel: str | None = None,
    priority: str | int | None = None,
    ttl_ms: int | None = None,
    expires_at_ms: int | None = None,
) -> tuple[Header, ...]:
    """The headers that ask for these."""
    asked = {
        "tide-delay": delay_ms,
        "tide-deliver-at": deliver_at_ms,
        "tide-schedule-id": schedule_id,
        "tide-cancel": cancel,
        "tide-priority": priority,
        "tide-ttl": ttl_ms,
        "tide-expires-at": expires_at_ms,
    }
    return tuple((name, str(value).encode()) for name, value in asked.items() if value is not None)
