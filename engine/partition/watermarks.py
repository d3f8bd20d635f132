"""The high watermarks of partitions that other nodes hold too, in one file of the data directory.

After a restart such a partition's log may reach further than what all of its in-sync replicas have: its high watermark
is taken from here, and moves on when they have told. Where this node alone is in sync, the recovered end is the high
watermark, and nothing stands here. The file is written now and then: a value that is too old, or none, is always safe.
"""

import os
import struct
from collections.abc import Mapping

from crc32c import crc32c

from engine.files.files import Files, read_whole, write_atomically
from engine.ids import TopicId

FILE_NAME = "high-watermarks"
VERSION = 1
_HEAD = struct.Struct(">ii")
_ENTRY = struct.Struct(">16siqq")
_CHECKSUM = struct.Struct(">I")

Watermarks = Mapping[tuple[TopicId, int], tuple[int, int]]
"""By topic id and partition: of its log, and of its stage (0 where there is none)."""


def write_watermarks(files: Files, data_dir: str, watermarks: Watermarks) -> None:
    """[thread] Durably replaces the file."""
    entries = (_ENTRY.pack(*place, *offsets) for place, offsets in watermarks.items())
    body = _HEAD.pack(VERSION, len(watermarks)) + b"".join(entries)
    write_atomically(files, os.path.join(data_dir, FILE_NAME), body + _CHECKSUM.pack(crc32c(body)))


def read_watermarks(files: Files, data_dir: str) -> Watermarks:
    """[thread] Empty if there is no file, or it is damaged or of another version."""
    data = read_whole(files, os.path.join(data_dir, FILE_NAME))
    if data is None or len(data) < _HEAD.size + _CHECKSUM.size:
        return {}
    body = data[: -_CHECKSUM.size]
    version, count = _HEAD.unpack_from(body)
    is_whole = _CHECKSUM.unpack(data[-_CHECKSUM.size :])[0] == crc32c(body)
    if not is_whole or version != VERSION or len(body) != _HEAD.size + count * _ENTRY.size:
        return {}
    entries = (_ENTRY.unpack_from(body, _HEAD.size + number * _ENTRY.size) for number in range(count))
    return {(topic_id, index): (log, stage) for topic_id, index, log, stage in entries}
