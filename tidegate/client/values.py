"""What goes in and comes out: records, where they lie, why one was refused."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from attrs import frozen

if TYPE_CHECKING:
    from tidegate.client.messages.records_pb2 import NewRecord, PartitionRecords, Record, Refusal

HeaderPairs = tuple[tuple[str, bytes | None], ...]
Headers = Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]]
Position = Literal["earliest", "latest"] | int
"""Where to begin: an end, or an offset."""


@frozen
class Written:
    """A record that was taken. `offset` is -1 where it is held back (a delay, a priority), or nobody waited for it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


@frozen
class Consumed:
    """A record that was read."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: HeaderPairs


@frozen
class Lease:
    """A record that a share group has lent, to be settled by its receipt within `lock_s`."""

    record: Consumed
    receipt: str
    delivery_count: int
    lock_s: float


class RecordRefused(Exception):
    """A record was not written. `error` is the broker's name for the reason."""

    def __init__(self, message: str, error: str) -> None:
        super().__init__(message)
        self.error = error


def refused(refusal: "Refusal") -> RecordRefused:
    """What the broker said of a record, as an exception."""
    return RecordRefused(f"{refusal.error}: {refusal.message}", refusal.error)


def new_record(
    value: bytes | None,
    key: bytes | None = None,
    headers: Headers = (),
    **others: Any,
) -> "NewRecord":
    """A record to be written; `others` are fields of the message, None where they are not set."""
    from tidegate.client.messages.records_pb2 import Header, NewRecord

    pairs = headers.items() if isinstance(headers, Mapping) else headers
    given = {name: content for name, content in others.items() if content is not None}
    if "priority" in given:
        given["priority"] = str(given["priority"])
    return NewRecord(
        key=key, value=value, headers=[Header(name=name, value=content) for name, content in pairs], **given
    )


def consumed(topic: str, partition: int, record: "Record") -> Consumed:
    """A record out of its message."""
    has = record.HasField
    headers = tuple((each.name, each.value if each.HasField("value") else None) for each in record.headers)
    key, value = record.key if has("key") else None, record.value if has("value") else None
    return Consumed(topic, partition, record.offset, record.timestamp_ms, key, value, headers)


def all_consumed(portion: "PartitionRecords") -> list[Consumed]:
    """The records of a partition."""
    return [consumed(portion.topic, portion.partition, record) for record in portion.records]
