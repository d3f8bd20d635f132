"""Payloads as JSON to be shown to people, within bounds.

What a payload says can be far longer than itself: each of its bytes may stand for a symbol, or for a record whose field
has a name, of a million characters. So it is measured before it is written.
"""

from typing import Any

import msgspec

from coordinators.schemas.formats.format import InvalidPayload, ParsedSchema

MOST_PAYLOAD_BYTES = 1 << 20
MOST_SHOWN_BYTES = 2 << 20
"""Of one payload as JSON."""


def shown_payload(parsed: ParsedSchema, payload: bytes) -> bytes:
    """[thread] The payload as a JSON document on one line; raises `InvalidPayload`."""
    if len(payload) > MOST_PAYLOAD_BYTES:
        raise InvalidPayload(f"{len(payload)} bytes, and at most {MOST_PAYLOAD_BYTES} are shown by a schema")
    value = parsed.to_json(payload)
    if shown_size(value, MOST_SHOWN_BYTES) > MOST_SHOWN_BYTES:
        raise InvalidPayload(f"more than {MOST_SHOWN_BYTES} bytes as JSON")
    try:
        return msgspec.json.encode(value)
    except (ValueError, OverflowError, RecursionError) as error:
        raise InvalidPayload(f"cannot be shown as JSON: {error}") from None


def shown_size(value: Any, most: int) -> int:
    """About how many bytes the value takes as JSON; of one that takes more than `most`, some number beyond it."""
    size, waiting = 0, [value]
    while waiting and size <= most:
        each = waiting.pop()
        size += 1
        if isinstance(each, str):
            size += len(each)
        elif isinstance(each, dict):
            size += sum(map(len, each))
            waiting.extend(each.values())
        elif isinstance(each, list | tuple):
            waiting.extend(each)
    return size
