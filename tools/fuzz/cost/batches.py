"""Record batches that cost more than their size: they expand, hold many records, or ask for an answer per record."""

import time
from functools import cache

from engine.records.compression import CODECS, compress
from engine.records.layout import MAGIC, NO_PRODUCER_ID, BatchHeader, pack_record, seal_batch, varint

KINDS = (
    "plain",
    "tiny",
    "tiny-ttl",
    "bad-headers",
    "garbage",
    "zeros-gzip",
    "zeros-snappy",
    "zeros-lz4",
    "zeros-zstd",
    "tiny-zstd",
    "tiny-ttl-zstd",
    "tiny-ttl-gzip",
    "repeated-zstd",
    "repeated-ttl-gzip",
    "bad-headers-zstd",
)
MOST_EXPANDED_BYTES = 60 << 20
MOST_RECORDS = 2_000_000


@cache
def batch(kind: str, size: int) -> bytes:
    """A batch of at most about `size` bytes on the wire."""
    content, _, codec = kind.rpartition("-")
    if codec not in CODECS:
        return _sealed(*_section(kind, size), "uncompressed")
    expanded_bytes = MOST_EXPANDED_BYTES
    while True:
        made = _sealed(*_section(content, expanded_bytes), codec)
        if len(made) <= size or expanded_bytes < 1000:
            return made
        expanded_bytes = min(expanded_bytes // 2, int(expanded_bytes * size / len(made)))


def _sealed(section: bytes, count: int, codec: str) -> bytes:
    now = int(time.time() * 1000)
    header = BatchHeader(0, 0, -1, MAGIC, 0, CODECS[codec], count - 1, now, now, NO_PRODUCER_ID, -1, -1, count)
    return seal_batch(header, compress(CODECS[codec], section))


def _section(content: str, size: int) -> tuple[bytes, int]:
    """The records of about `size` bytes, uncompressed, and how many they are."""
    room = max(1, size - 80)
    if content == "garbage":
        return bytes(range(256)) * (room // 256) + b"\xff", room
    if content in ("zeros", "plain"):
        return pack_record(0, 0, None, bytes(room)), 1
    if content.startswith("repeated"):
        first = _TTL if content.endswith("ttl") else b""
        count = min(MOST_RECORDS, room // len(_EMPTY) + 1)
        return first + _EMPTY * count, count + bool(first)
    if content == "bad-headers":
        return _many(_BAD_HEADERS, room, b"")
    return _many(b"\x00", room, _TTL if content == "tiny-ttl" else b"")


_TTL = pack_record(0, 0, None, None, [(b"tide-ttl", b"60000")])
_EMPTY = pack_record(0, 0, None, None)
_BAD_HEADERS = b"\x02\x14tide-delay\x02x"


def _many(headers: bytes, size: int, first: bytes) -> tuple[bytes, int]:
    """Records without key and value; `first`, if any, is one whose header makes the broker open the batch."""
    records = [first] if first else []
    for delta in range(len(records), min(MOST_RECORDS, size // (8 + len(headers)) + 1)):
        body = b"\x00\x00" + varint(delta) + b"\x01\x01" + headers
        records.append(varint(len(body)) + body)
    return b"".join(records), len(records)
