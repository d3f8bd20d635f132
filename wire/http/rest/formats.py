"""Embedded formats: how keys and values stand in JSON, and which one a content type names.

`binary` has them in base64, `json` as JSON of any kind, `text` (Strimzi's) as text. Those that go by schemas
(`avro`, `protobuf`, `jsonschema`) are in `by_schema`.
"""

import binascii
import re
from base64 import b64decode, b64encode
from typing import Any

import msgspec

from wire.http.rest.refusals import UNREADABLE, RestRefusal

BINARY, JSON, TEXT = "binary", "json", "text"
FORMATS = (BINARY, JSON, TEXT)
BY_SCHEMA = ("avro", "protobuf", "jsonschema")
PLAIN = "application/json"
ALL = (*FORMATS, *BY_SCHEMA)
UNSAID = (PLAIN, "application/vnd.kafka.v2+json", "application/vnd.kafka+json")
"""Content types that leave the format open."""
TAKEN = (*UNSAID, *(f"application/vnd.kafka.{name}.v2+json" for name in ALL))
"""Content types of requests with records."""
_TYPE = re.compile(r"application/vnd\.kafka\.(\w+)\.v2\+json")


def media_type(name: str) -> str:
    """The content type of records in a format."""
    return f"application/vnd.kafka.{name}.v2+json"


def of_content_type(header: str | None) -> str:
    """The format that a request is in; binary where its type leaves that open, as the proxy has it."""
    kind = (header or PLAIN).partition(";")[0].strip().lower()
    if kind in UNSAID:
        return BINARY
    found = _TYPE.fullmatch(kind)
    if found is None:
        raise RestRefusal(415, f"records come as {' or '.join(map(media_type, ALL))}, not as {kind}")
    return known(found[1], 415)


def known(name: str, code: int) -> str:
    """The name of a format, if it is one."""
    if name not in ALL:
        raise RestRefusal(code, f"a format is {', '.join(ALL)}, not {name!r}")
    return name


def read(name: str, given: Any, what: str) -> bytes | None:
    """A key or value as the record has it."""
    if given is None:
        return None
    if name == JSON:
        return msgspec.json.encode(given)
    if not isinstance(given, str):
        raise RestRefusal(UNREADABLE, f"{what} must be text, for the format is {name}")
    if name == TEXT:
        return given.encode()
    try:
        return b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        raise RestRefusal(UNREADABLE, f"{what} is not base64") from None


def shown(name: str, value: bytes | None, what: str) -> Any:
    """A key or value as it stands in an answer."""
    if value is None:
        return None
    if name == BINARY:
        return b64encode(value).decode()
    try:
        return value.decode() if name == TEXT else msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RestRefusal(UNREADABLE, f"{what} is not {name}: {error}; read it as binary") from None
