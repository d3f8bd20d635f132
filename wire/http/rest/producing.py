"""Records as v2 and v3 of Confluent's REST proxy take them, and what is told of each."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from coordinators.schemas.validation.rules import KEY, VALUE
from engine.errors import BrokerError
from wire.http.problems import of_broker_error
from wire.http.rest import formats
from wire.http.rest.by_schema import SchemaWanted, UsedSchema
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
    """Records to be written, and the schemas that their keys and values go by, where the format has some."""

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


Read = Callable[[Any, str], bytes | None]
"""What makes bytes of a key or a value, which it is told what to call."""


def records_v2(wanted: RecordsV2, partition: int | None, key: Read, value: Read) -> list[NewRecord]:
    """As the broker takes them; `partition` is that of the path."""
    return [_record_v2(number, record, partition, key, value) for number, record in enumerate(wanted.records)]


def _record_v2(number: int, record: RecordV2, partition: int | None, key: Read, value: Read) -> NewRecord:
    if partition is not None and record.partition not in (None, partition):
        raise RestRefusal(UNREADABLE, f"record {number} is for partition {record.partition}, the path for {partition}")
    return NewRecord(
        key=key(record.key, f"the key of record {number}"),
        value=value(record.value, f"the value of record {number}"),
        headers=[_header(each.key, each.value, number) for each in record.headers],
        partition=record.partition if partition is None else partition,
        timestamp_ms=record.timestamp,
    )


def _header(name: str, value: str | None, number: int) -> Header:
    return name, formats.read(formats.BINARY, value, f"the header {name} of record {number}")


def produced_v2(
    outcomes: Sequence[Outcome], key_schema_id: int | None = None, value_schema_id: int | None = None
) -> ProducedV2:
    """The answer."""
    return ProducedV2([_offset_v2(outcome) for outcome in outcomes], key_schema_id, value_schema_id)


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
    """A key or value and how it stands here: BINARY in base64, JSON of any kind, STRING as text; AVRO, JSONSCHEMA and
    PROTOBUF by a schema: its text, its id, or a version of a subject, the latest if none is named."""

    data: Any = None
    type: str | None = None
    schema_id: int | None = None
    schema: str | None = None
    schema_version: int | None = None
    subject: str | None = None
    subject_name_strategy: str | None = None

    @property
    def wanted(self) -> SchemaWanted | None:
        """The schema that it goes by, if it does."""
        kind = BY_SCHEMA.get(self.type or "")
        names_one = not (self.schema is None and self.schema_id is None and self.schema_version is None)
        if kind is None and not (names_one or self.subject):
            return None
        if kind is None and self.type is not None:
            raise RestRefusal(422, f"{self.type} goes by no schema: {', '.join(BY_SCHEMA)} do")
        if self.subject_name_strategy not in (None, "TOPIC_NAME"):
            raise RestRefusal(422, "subject_name_strategy is TOPIC_NAME here: name the subject")
        return SchemaWanted(kind, self.schema, self.schema_id, self.subject, self.schema_version)


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


BY_SCHEMA = {name.upper(): name for name in formats.BY_SCHEMA}
TYPES = {"BINARY": formats.BINARY, "JSON": formats.JSON, "STRING": formats.TEXT}


Uses = Mapping[tuple[str, SchemaWanted], UsedSchema | RestRefusal]
"""By part and what was asked for, the schemas that were found, or why none was."""


def record_v3(record: RecordV3, uses: Uses) -> NewRecord:
    """As the broker takes it."""
    return NewRecord(
        key=_data(record.key, KEY, uses),
        value=_data(record.value, VALUE, uses),
        headers=[(each.name, formats.read(formats.BINARY, each.value, each.name)) for each in record.headers],
        partition=record.partition_id,
        timestamp_ms=_time_ms(record.timestamp),
    )


def _type(given: DataV3) -> str:
    name = given.type or "JSON"
    if name not in TYPES:
        raise RestRefusal(422, f"a type is {', '.join((*TYPES, *BY_SCHEMA))}, not {name!r}")
    return name


def _data(given: DataV3 | None, part: str, uses: Uses) -> bytes | None:
    if given is None:
        return None
    wanted, what = given.wanted, f"the {part}"
    if wanted is None:
        return formats.read(TYPES[_type(given)], given.data, what)
    used = uses[part, wanted]
    if isinstance(used, RestRefusal):
        raise used
    return used.write(given.data, what)


def _time_ms(given: str | int | None) -> int | None:
    if given is None or isinstance(given, int):
        return given
    try:
        time = datetime.fromisoformat(given)
    except ValueError:
        raise RestRefusal(422, f"{given!r} is no time like 2026-02-05T19:14:42Z") from None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def produced_v3(
    record: RecordV3, new: NewRecord, sent: SentRecord, cluster_id: str, topic: str, uses: Uses
) -> ProducedV3:
    """What is told of a record that was written."""
    return ProducedV3(
        200,
        cluster_id,
        topic,
        sent.partition,
        sent.offset,
        time_text(sent.timestamp_ms),
        _size(record.key, new.key, KEY, uses),
        _size(record.value, new.value, VALUE, uses),
    )


def _size(given: DataV3 | None, data: bytes | None, part: str, uses: Uses) -> SizeV3 | None:
    if given is None or data is None:
        return None
    used = None if given.wanted is None else uses[part, given.wanted]
    return SizeV3(used.format.upper() if isinstance(used, UsedSchema) else _type(given), len(data))


def time_text(time_ms: int) -> str:
    """ISO 8601, in milliseconds."""
    time = datetime.fromtimestamp(time_ms / 1000, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def failed_v3(error: BrokerError | RestRefusal) -> tuple[int, str]:
    """Code and sentence of a record that was not written."""
    code = error.code if isinstance(error, RestRefusal) else of_broker_error(error).status.value
    return code, str(error)
