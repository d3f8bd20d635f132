"""Records as v2 and v3 of Confluent's REST proxy take them, and what is told of each."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from engine.errors import BrokerError
from wire.http.problems import of_broker_error
from wire.http.rest import formats
from wire.http.rest.refusals import UNREADABLE, RestRefusal, record_code
from wire.inner.records import Header, NewRecord, SentRecord
from wire.inner.sending import Outcome

MOST_RECORDS = 10_000
Partition = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Millis = Annotated[int, msgspec.Meta(ge=0, le=2**62)]

# -- v2


class HeaderV2(msgspec.Struct):
    """A header of a record (Strimzi's); the value is in base64."""

    key: str
    value: str | None = None


class RecordV2(msgspec.Struct):
    """A record. `headers` and `timestamp` are Strimzi's."""

    key: Any = None
    value: Any = None
    partition: Partition | None = None
    timestamp: Millis | None = None
    headers: list[HeaderV2] = []


class RecordsV2(msgspec.Struct):
    """Records to be written, and the schemas that other formats than ours go by."""

    records: Annotated[list[RecordV2], msgspec.Meta(min_length=1, max_length=MOST_RECORDS)]
    key_schema: str | None = None
    key_schema_id: int | None = None
    value_schema: str | None = None
    value_schema_id: int | None = None


class OffsetV2(msgspec.Struct):
    """What became of a record; `error_code` is 1 if trying again is of no use, 2 if it may be."""

    partition: int | None = None
    offset: int | None = None
    error_code: int | None = None
    error: str | None = None


class ProducedV2(msgspec.Struct):
    """What became of the records, in their order."""

    offsets: list[OffsetV2]
    key_schema_id: int | None = None
    value_schema_id: int | None = None


def records_v2(wanted: RecordsV2, name: str, partition: int | None) -> list[NewRecord]:
    """As the broker takes them; `partition` is that of the path."""
    return [_record_v2(number, record, name, partition) for number, record in enumerate(wanted.records)]


def _record_v2(number: int, record: RecordV2, name: str, partition: int | None) -> NewRecord:
    if partition is not None and record.partition not in (None, partition):
        raise RestRefusal(UNREADABLE, f"record {number} is for partition {record.partition}, the path for {partition}")
    return NewRecord(
        key=formats.read(name, record.key, f"the key of record {number}"),
        value=formats.read(name, record.value, f"the value of record {number}"),
        headers=[_header(each.key, each.value, number) for each in record.headers],
        partition=record.partition if partition is None else partition,
        timestamp_ms=record.timestamp,
    )


def _header(name: str, value: str | None, number: int) -> Header:
    return name, formats.read(formats.BINARY, value, f"the header {name} of record {number}")


def produced_v2(outcomes: Sequence[Outcome]) -> ProducedV2:
    """The answer."""
    return ProducedV2([_offset_v2(outcome) for outcome in outcomes])


def _offset_v2(outcome: Outcome) -> OffsetV2:
    if isinstance(outcome, SentRecord):
        return OffsetV2(outcome.partition, outcome.offset)
    return OffsetV2(error_code=record_code(outcome), error=str(outcome))


# -- v3


class HeaderV3(msgspec.Struct):
    """A header of a record; the value is in base64."""

    name: str
    value: str | None = None


class DataV3(msgspec.Struct):
    """A key or value and how it stands here: BINARY in base64, JSON of any kind, STRING as text."""

    data: Any = None
    type: str | None = None
    schema_id: int | None = None
    schema: str | None = None
    subject: str | None = None


class RecordV3(msgspec.Struct):
    """A record to be written. The time is ISO 8601, or epoch milliseconds."""

    partition_id: Partition | None = None
    headers: list[HeaderV3] = []
    key: DataV3 | None = None
    value: DataV3 | None = None
    timestamp: str | Millis | None = None


class EntryV3(RecordV3, kw_only=True):
    """A record of several, with a name for the answer."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=80)]


class EntriesV3(msgspec.Struct):
    """Records to be written together."""

    entries: Annotated[list[EntryV3], msgspec.Meta(min_length=1, max_length=MOST_RECORDS)]


class SizeV3(msgspec.Struct):
    """How a key or value was given, and how large it is in the record."""

    type: str
    size: int


class ProducedV3(msgspec.Struct):
    """A record that was written; its offset is -1 where it is held back."""

    error_code: int
    cluster_id: str
    topic_name: str
    partition_id: int
    offset: int
    timestamp: str
    key: SizeV3 | None = None
    value: SizeV3 | None = None


class SuccessV3(ProducedV3, kw_only=True):
    """One of several."""

    id: str


class FailureV3(msgspec.Struct):
    """A record that was not written."""

    id: str
    error_code: int
    message: str


class BatchV3(msgspec.Struct):
    """What became of the records."""

    successes: list[SuccessV3]
    failures: list[FailureV3]


TYPES = {"BINARY": formats.BINARY, "JSON": formats.JSON, "STRING": formats.TEXT}


def record_v3(record: RecordV3) -> NewRecord:
    """As the broker takes it."""
    return NewRecord(
        key=_data(record.key, "the key"),
        value=_data(record.value, "the value"),
        headers=[(each.name, formats.read(formats.BINARY, each.value, each.name)) for each in record.headers],
        partition=record.partition_id,
        timestamp_ms=_time_ms(record.timestamp),
    )


def _type(given: DataV3) -> str:
    if given.schema is not None or given.schema_id is not None:
        raise RestRefusal(422, "records by schemas are not spoken here: send BINARY, framed by your serialiser")
    name = given.type or "JSON"
    if name not in TYPES:
        raise RestRefusal(422, f"a type is {', '.join(TYPES)}, not {name!r}")
    return name


def _data(given: DataV3 | None, what: str) -> bytes | None:
    return None if given is None else formats.read(TYPES[_type(given)], given.data, what)


def _time_ms(given: str | int | None) -> int | None:
    if given is None or isinstance(given, int):
        return given
    try:
        time = datetime.fromisoformat(given)
    except ValueError:
        raise RestRefusal(422, f"{given!r} is no time like 2026-02-05T19:14:42Z") from None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def produced_v3(record: RecordV3, new: NewRecord, sent: SentRecord, cluster_id: str, topic: str) -> ProducedV3:
    """What is told of a record that was written."""
    return ProducedV3(
        200,
        cluster_id,
        topic,
        sent.partition,
        sent.offset,
        time_text(sent.timestamp_ms),
        _size(record.key, new.key),
        _size(record.value, new.value),
    )


def _size(given: DataV3 | None, data: bytes | None) -> SizeV3 | None:
    return None if given is None or data is None else SizeV3(_type(given), len(data))


def time_text(time_ms: int) -> str:
    """ISO 8601, in milliseconds."""
    time = datetime.fromtimestamp(time_ms / 1000, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def failed_v3(error: BrokerError | RestRefusal) -> tuple[int, str]:
    """Code and sentence of a record that was not written."""
    code = error.code if isinstance(error, RestRefusal) else of_broker_error(error).status.value
    return code, str(error)
