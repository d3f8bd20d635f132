"""Records as members of groups are given them, and as producers of transactions bring them.

Keys and values that are text are given as text, others in base64. A value may be brought as text, as any other JSON,
which is written as JSON, or in base64.
"""

from base64 import b64decode
from typing import Annotated, Any

import msgspec

from engine.errors import InvalidRequest
from wire.http.messages import Count
from wire.http.pending import RecordHeader, as_base64, as_text
from wire.inner.records import Header, NewRecord, ReadRecord

Partition = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
TopicName = Annotated[str, msgspec.Meta(min_length=1, max_length=249)]


class GivenRecord(msgspec.Struct, kw_only=True):
    """A record that was read. What is no text is in the fields that end in `_base64`."""

    topic: str
    partition: int
    offset: Count
    timestamp_ms: int
    key: str | None
    key_base64: str | None
    value: str | None
    value_base64: str | None
    headers: list[RecordHeader]


class BroughtHeader(msgspec.Struct, forbid_unknown_fields=True):
    """A header of a record; `value_base64` for what is no text."""

    name: Annotated[str, msgspec.Meta(max_length=10_000)]
    value: str | None = None
    value_base64: str | None = None


class BroughtRecord(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A record to be written. `value` is text, or other JSON, which is written as JSON; null is no value."""

    key: str | None = None
    key_base64: str | None = None
    value: Any = None
    value_base64: str | None = None
    headers: list[BroughtHeader] = []
    partition: Partition | None = None
    timestamp_ms: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None


def given_fields(topic: str, partition: int, record: ReadRecord) -> dict[str, Any]:
    """What a `GivenRecord` is made of."""
    return {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": as_text(record.key),
        "key_base64": as_base64(record.key),
        "value": as_text(record.value),
        "value_base64": as_base64(record.value),
        "headers": [RecordHeader(name, as_text(value), as_base64(value)) for name, value in record.headers],
    }


def brought(record: BroughtRecord) -> NewRecord:
    """As it is to be written."""
    value = record.value
    text = value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()
    return NewRecord(
        key=_bytes("key", record.key, record.key_base64),
        value=_bytes("value", text, record.value_base64),
        headers=[_header(each) for each in record.headers],
        partition=record.partition,
        timestamp_ms=record.timestamp_ms,
    )


def _header(header: BroughtHeader) -> Header:
    return header.name, _bytes(f"the header {header.name!r}", header.value, header.value_base64)


def _bytes(what: str, text: str | None, base64: str | None) -> bytes | None:
    if text is not None and base64 is not None:
        raise InvalidRequest(f"{what} is given twice: as it is, and in base64")
    if base64 is None:
        return None if text is None else text.encode()
    try:
        return b64decode(base64, validate=True)
    except ValueError as error:
        raise InvalidRequest(f"{what} is not base64: {error}") from None
