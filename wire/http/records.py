"""Records as JSON: what callers send and get.

A value is text, or any other JSON, which is stored as such; `valueBase64` is for bytes. What is read is given as text
where it is text, in base64 where it is not.
"""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from http import HTTPStatus
from typing import Annotated, Any, Literal

import msgspec

from engine.errors import BrokerError
from wire.http.pending import as_base64, as_text
from wire.http.problems import Problem, of_broker_error
from wire.inner.records import Header, NewRecord, ReadRecord, SentRecord, asking_headers
from wire.inner.sending import Outcome

INT64 = 2**63 - 1
Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=INT64)]
PartitionNumber = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Priority = Literal["critical", "high", "normal", "low", "background"] | Annotated[int, msgspec.Meta(ge=0, le=4)] | None
Format = Literal["text", "json", "base64"]


class HeaderForm(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A header of a record; `valueBase64` is for a value that is no text."""

    name: str
    value: str | None = None
    value_base64: str | None = None

    @property
    def header(self) -> Header:
        """As it is stored."""
        data = _bytes(self.value_base64, "a header's valueBase64")
        return self.name, _encoded(self.value) if data is None else data


class NewMessage(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A record to write. `key` and `value` may be null; `delay` and `ttl` are milliseconds, `timestamp` and `deliverAt`
    milliseconds since 1970."""

    key: str | None = None
    key_base64: str | None = None
    value: Any = None
    value_base64: str | None = None
    headers: dict[str, str | None] | list[HeaderForm] = []
    partition: PartitionNumber | None = None
    timestamp: Milliseconds | None = None
    delay: Milliseconds | None = None
    deliver_at: Milliseconds | None = None
    priority: Priority = None
    ttl: Milliseconds | None = None
    schedule_id: str | None = None

    def record(self) -> NewRecord:
        """As it is written; a `Problem` if that cannot be."""
        key, value = _bytes(self.key_base64, "keyBase64"), _bytes(self.value_base64, "valueBase64")
        if (key is not None and self.key is not None) or (value is not None and self.value is not None):
            raise _unprocessable("a record has one key and one value, as text or JSON or in base64, not both")
        asked = asking_headers(
            delay_ms=self.delay,
            deliver_at_ms=self.deliver_at,
            schedule_id=self.schedule_id,
            priority=self.priority,
            ttl_ms=self.ttl,
        )
        return NewRecord(
            key=_encoded(self.key) if key is None else key,
            value=stored(self.value) if value is None else value,
            headers=(*self._headers(), *asked),
            partition=self.partition,
            timestamp_ms=self.timestamp,
        )

    def _headers(self) -> list[Header]:
        if isinstance(self.headers, dict):
            return [(name, _encoded(value)) for name, value in self.headers.items()]
        return [form.header for form in self.headers]


class WrittenMessage(msgspec.Struct, rename="camel", omit_defaults=True):
    """What became of a record: where it is, or why it is not there. `offset` is missing where it is held back, or
    nobody waited for it."""

    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    error: str = ""
    detail: str = ""

    @classmethod
    def of(cls, outcome: Outcome) -> "WrittenMessage":
        """What became of one."""
        if isinstance(outcome, SentRecord):
            offset = outcome.offset if outcome.offset >= 0 else None
            return cls(outcome.partition, offset, outcome.timestamp_ms)
        return cls(error=type(outcome).__name__, detail=str(outcome))


class Decoded(msgspec.Struct, rename="camel"):
    """A key or value by the schema that it names: a JSON document as text, or as JSON in the format `json`; or why it
    is not shown. `subject` and `version` are a place where the schema is registered that the caller may read."""

    value: Any = None
    schema_id: int | None = None
    schema_type: str | None = None
    subject: str | None = None
    version: int | None = None
    error: str = ""


DecodedPart = Decoded | None | msgspec.UnsetType
NOT_DECODED: tuple[DecodedPart, DecodedPart] = (msgspec.UNSET, msgspec.UNSET)


class Message(msgspec.Struct, rename="camel"):
    """A record that was read. `timestamp` is milliseconds since 1970. What is decoded is only there if it was asked
    for, and null where nothing names a schema."""

    partition: int
    offset: int
    timestamp: int
    key: str | None
    key_base64: str | None
    value: Any
    value_base64: str | None
    headers: list[HeaderForm]
    key_decoded: DecodedPart = msgspec.UNSET
    value_decoded: DecodedPart = msgspec.UNSET


def message(
    partition: int, record: ReadRecord, form: Format, decoded: tuple[DecodedPart, DecodedPart] = NOT_DECODED
) -> Message:
    """A record as callers get it."""
    in_base64 = form == "base64"
    return Message(
        partition,
        record.offset,
        record.timestamp_ms,
        None if in_base64 else as_text(record.key),
        _as_base64(record.key) if in_base64 else as_base64(record.key),
        None if in_base64 else _as_document(record.value) if form == "json" else as_text(record.value),
        _as_base64(record.value) if in_base64 else as_base64(record.value),
        [HeaderForm(name, as_text(value), as_base64(value)) for name, value in record.headers],
        *decoded,
    )


def stored(value: Any) -> bytes | None:
    """A value as it is stored: text as it is, other JSON as a document."""
    return value.encode() if isinstance(value, str) else None if value is None else msgspec.json.encode(value)


def one(outcome: Outcome) -> SentRecord:
    """Of a call about one record: where it is; raises why it is nowhere."""
    if isinstance(outcome, BrokerError):
        raise of_broker_error(outcome)
    return outcome


def _encoded(text: str | None) -> bytes | None:
    try:
        return None if text is None else text.encode()
    except UnicodeEncodeError:
        raise _unprocessable("a text has characters that UTF-8 has not") from None


def _bytes(text: str | None, name: str) -> bytes | None:
    try:
        return None if text is None else b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise _unprocessable(f"{name} is not base64") from None


def _as_base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _as_document(data: bytes | None) -> Any:
    """The JSON in a value; text where it is none."""
    try:
        return None if data is None else msgspec.Raw(msgspec.json.encode(msgspec.json.decode(data)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return as_text(data)


def _unprocessable(detail: str) -> Problem:
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
