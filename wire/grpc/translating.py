"""Records between the door's messages and the broker's own words."""

from collections.abc import Iterable, Mapping, Sequence

from engine.errors import BrokerError, InvalidRequest
from wire.grpc.messages.records_pb2 import Header, PartitionRecords, Record, Refusal
from wire.grpc.messages.records_pb2 import NewRecord as NewRecordMessage
from wire.grpc.status import Status, of_broker_error
from wire.inner.records import MOST_HEADERS, NewRecord, ReadRecord, asking_headers
from wire.inner.records import Header as RecordHeader

ASKING = ("delay_ms", "deliver_at_ms", "schedule_id", "cancel", "priority", "ttl_ms")
TRACEPARENT, TRACESTATE = "traceparent", "tracestate"


def new_record(message: NewRecordMessage, traced: tuple[RecordHeader, ...] = ()) -> NewRecord:
    """A record to be written; `traced` are the headers of the trace of its call, for one that has none of its own."""
    if len(message.headers) > MOST_HEADERS:
        raise InvalidRequest(f"a record has at most {MOST_HEADERS} headers, not {len(message.headers)}")
    has = message.HasField
    headers: tuple[RecordHeader, ...] = tuple(
        (header.name, header.value if header.HasField("value") else None) for header in message.headers
    )
    asked = {name: getattr(message, name) for name in ASKING if has(name)}
    if asked:
        headers += asking_headers(**asked)
    if traced and all(name != TRACEPARENT for name, _ in headers):
        headers += traced
    return NewRecord(
        key=message.key if has("key") else None,
        value=message.value if has("value") else None,
        headers=headers,
        partition=message.partition if has("partition") else None,
        timestamp_ms=message.timestamp_ms if has("timestamp_ms") else None,
    )


def trace_headers(metadata: Mapping[str, str]) -> tuple[RecordHeader, ...]:
    """Those of a call that belongs to a trace (W3C)."""
    if TRACEPARENT not in metadata:
        return ()
    return tuple((name, metadata[name].encode("latin-1")) for name in (TRACEPARENT, TRACESTATE) if name in metadata)


def record_message(record: ReadRecord) -> Record:
    """A record that was read."""
    return Record(
        offset=record.offset,
        timestamp_ms=record.timestamp_ms,
        key=record.key,
        value=record.value,
        headers=[Header(name=name, value=value) for name, value in record.headers] if record.headers else None,
    )


def partition_records(
    topic: str, partition: int, records: Sequence[ReadRecord], next_offset: int, ends: tuple[int, int] = (-1, -1)
) -> PartitionRecords:
    """What was read of a partition; `ends` are its high watermark and where it starts, where they are known."""
    return PartitionRecords(
        topic=topic,
        partition=partition,
        records=_messages(records),
        next_offset=next_offset,
        high_watermark=ends[0],
        log_start_offset=ends[1],
    )


def _messages(records: Iterable[ReadRecord]) -> list[Record]:
    return [record_message(record) for record in records]


def refusal(error: BrokerError) -> Refusal:
    """What was refused without ending the call."""
    told = of_broker_error(error)
    return Refusal(error=told.error, message=told.message, retriable=told.status is Status.UNAVAILABLE)
