"""LZ4 frames as Kafka's clients write them, read block by block into a buffer that is kept.

A frame decoder makes buffers for every frame anew, as large as a block of it may be: franz-go says 4 MiB, and for a
batch of 16 KiB making them takes several times as long as decompressing. Here the frame is taken apart and its blocks
go to the block decoder, which needs nothing but room for what comes out.

Only what is regular is read: one frame, blocks that stand alone, every checksum right, nothing behind it. All else,
damaged or merely unusual, is left to the frame decoder, which reads it or says what is wrong.
"""

import mmap
import struct
import threading

import cramjam
from xxhash import xxh32_intdigest

_MAGIC = 0x184D2204
_start = struct.Struct("<IBB")
"""The magic number, the flags, the code of the block size."""
_number = struct.Struct("<I")
_content_size = struct.Struct("<Q")

_VERSION = 0x40
_INDEPENDENT = 0x20
_BLOCK_CHECKSUM = 0x10
_CONTENT_SIZE = 0x08
_CONTENT_CHECKSUM = 0x04
_FIXED_BITS = 0xC3
"""The version, a bit that is reserved, and whether there is a dictionary."""

_BLOCK_BYTES = {0x40: 64 * 1024, 0x50: 256 * 1024, 0x60: 1024 * 1024, 0x70: 4 * 1024 * 1024}
_PLAIN = 0x80000000
"""A block that did not shrink is stored as it was."""

BLOCKS_MAX = 256
"""16 MiB in the smallest blocks. A frame of more is a long one, or one made of crumbs to keep us busy."""


_kept = threading.local()


def read_frame(data: memoryview, bound: int) -> bytes | None:
    """What a frame holds, at most `bound` bytes; None if it is for the frame decoder to judge."""
    try:
        magic, flags, size_code = _start.unpack_from(data)
        block_bytes = _BLOCK_BYTES.get(size_code)
        if magic != _MAGIC or flags & _FIXED_BITS != _VERSION or block_bytes is None:
            return None
        position = 14 if flags & _CONTENT_SIZE else 6
        if xxh32_intdigest(data[4:position]) >> 8 & 0xFF != data[position]:
            return None
        pieces, end = _blocks(data, position + 1, flags, block_bytes, bound)
        content = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return content if _is_whole(data, end, flags, content) else None
    except (_Irregular, struct.error, IndexError, cramjam.DecompressionError):
        return None


class _Irregular(Exception):
    """Nothing that is read here."""


def _blocks(data: memoryview, position: int, flags: int, block_bytes: int, bound: int) -> tuple[list[bytes], int]:
    """What the blocks from `position` on hold, and where they end."""
    pieces: list[bytes] = []
    room = bound
    # A block that refers to those before it has none before it if it is the first.
    blocks_left = BLOCKS_MAX if flags & _INDEPENDENT else 1
    (word,) = _number.unpack_from(data, position)
    while word:
        position += _number.size
        size = word & ~_PLAIN
        block = data[position : position + size]
        position += size
        if not blocks_left or not 0 < size <= block_bytes or len(block) < size:
            raise _Irregular
        if flags & _BLOCK_CHECKSUM:
            if xxh32_intdigest(block) != _number.unpack_from(data, position)[0]:
                raise _Irregular
            position += _number.size
        piece = bytes(block) if word & _PLAIN else _decompressed(block, min(block_bytes, room))
        room -= len(piece)
        if room < 0:
            raise _Irregular
        pieces.append(piece)
        blocks_left -= 1
        (word,) = _number.unpack_from(data, position)
    return pieces, position + _number.size


def _decompressed(block: memoryview, most: int) -> bytes:
    # The slice is the bound: `output_len` only says that no size stands before the block.
    room = _scratch()[:most]
    written = cramjam.lz4.decompress_block_into(block, room, output_len=most)
    return bytes(room[:written])


def _scratch() -> memoryview:
    """Room for the largest block, one per thread; only what is ever written to takes memory."""
    view: memoryview | None = getattr(_kept, "view", None)
    if view is None:
        pages = mmap.mmap(-1, max(_BLOCK_BYTES.values()), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        view = _kept.view = memoryview(pages)
    return view


def _is_whole(data: memoryview, end: int, flags: int, content: bytes) -> bool:
    """Whether the frame ends there, and holds what it says it holds."""
    if flags & _CONTENT_CHECKSUM:
        if xxh32_intdigest(content) != _number.unpack_from(data, end)[0]:
            return False
        end += _number.size
    if flags & _CONTENT_SIZE and _content_size.unpack_from(data, _start.size)[0] != len(content):
        return False
    return end == len(data)
