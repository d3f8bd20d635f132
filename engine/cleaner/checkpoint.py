"""How far a log was compacted: a small file beside it, so that a restart does not begin anew.

It is only ever a hint. A missing or damaged one, or one that does not fit the log, means: from the start.
"""

import os
import struct

from crc32c import crc32c

from engine.files.files import Files, read_whole, write_atomically

FILE_NAME = "cleaned-to"
_CHECKPOINT = struct.Struct(">qI")


def write_checkpoint(files: Files, directory: str, first_dirty: int) -> None:
    """[thread] Everything below `first_dirty` was compacted."""
    content = struct.pack(">q", first_dirty)
    write_atomically(files, os.path.join(directory, FILE_NAME), content + struct.pack(">I", crc32c(content)))


def read_checkpoint(files: Files, directory: str) -> int | None:
    """[thread] The first offset that was not compacted; None if that is not known."""
    data = read_whole(files, os.path.join(directory, FILE_NAME))
    if data is None or len(data) != _CHECKPOINT.size or crc32c(data[:8]) != _CHECKPOINT.unpack(data)[1]:
        return None
    return int(_CHECKPOINT.unpack(data)[0])
