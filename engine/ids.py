"""Topic ids and cluster ids: Kafka's 16-byte uuids and their text of 22 characters."""

import base64
from collections.abc import Callable

TopicId = bytes

RandomBytes = Callable[[int], bytes]

ZERO_ID = bytes(16)

# Kafka keeps these for itself: "no id" and the id of its metadata log.
_RESERVED = (bytes(16), bytes(15) + b"\x01")


def new_id(random_bytes: RandomBytes) -> TopicId:
    """A random (version 4) uuid that is not reserved and whose text does not begin with a dash.

    A leading dash would read as an option on a command line (KAFKA-13358).
    """
    while True:
        raw = bytearray(random_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if bytes(raw) not in _RESERVED and not id_text(bytes(raw)).startswith("-"):
            return bytes(raw)


def id_text(raw: bytes) -> str:
    """The id as Kafka writes it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
