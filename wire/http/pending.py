"""Records that wait, as JSON: what `coordinators/release/pending_records.py` holds, in the form that callers get.

Bytes of records are given as text where they are text, in base64 where they are not. `tidegate/remote_admin.py` reads
what is written here; what has no bytes in it (figures, due times) is written as it is.
"""

from base64 import b64encode

import msgspec

from coordinators.release.pending_records import DelayedRecord, FateName, PendingRecord
from wire.http.messages import Count, Page
from wire.inner.namespaces import EVERYBODYS, Names


class RecordHeader(msgspec.Struct):
    """A header of a record; a value that is no text is in `value_base64`."""

    name: str
    value: str | None
    value_base64: str | None


class Pending(msgspec.Struct):
    """A record that waits. Times are milliseconds since 1970; lane 0 is critical, 4 background."""

    partition: int
    id: str
    number: int
    state: str
    due_ms: int
    created_ms: int
    expires_ms: int | None
    ttl_ms: int | None
    lane: int
    size_bytes: Count
    key: str | None
    key_base64: str | None
    headers: list[RecordHeader]


class FateDetail(msgspec.Struct):
    """A record by its id: what became of it; while it is pending also itself and its value."""

    topic: str
    partition: int
    id: str
    fate: FateName
    offset: int | None
    at_ms: int | None
    record: Pending | None
    value: str | None
    value_base64: str | None


class PendingRecordPage(Page):
    """Records that wait. `next_skip` is where the next page begins, null if there is none."""

    items: list[Pending]
    next_skip: int | None


def pending(record: PendingRecord) -> Pending:
    """A record that waits."""
    return Pending(
        partition=record.partition,
        id=record.id,
        number=record.number,
        state=record.state,
        due_ms=record.due_ms,
        created_ms=record.created_ms,
        expires_ms=record.expires_ms,
        ttl_ms=record.ttl_ms,
        lane=record.lane,
        size_bytes=record.size_bytes,
        key=as_text(record.key),
        key_base64=as_base64(record.key),
        headers=[
            RecordHeader(header.name, as_text(header.value), as_base64(header.value)) for header in record.headers
        ],
    )


def fate_detail(found: DelayedRecord, names: Names = EVERYBODYS) -> FateDetail:
    """A record by its id, for a caller who knows its topic by these names."""
    return FateDetail(
        topic=names.told(found.topic),
        partition=found.partition,
        id=found.id,
        fate=found.fate,
        offset=found.offset,
        at_ms=found.at_ms,
        record=None if found.record is None else pending(found.record),
        value=as_text(found.value),
        value_base64=as_base64(found.value),
    )


def as_text(data: bytes | None) -> str | None:
    """The text, or None if there is none or it is not UTF-8."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def as_base64(data: bytes | None) -> str | None:
    """What `as_text` cannot give, in base64; None where it can."""
    return None if data is None or as_text(data) is not None else b64encode(data).decode()
