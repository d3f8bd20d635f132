"""Record compression as Kafka frames it: gzip, snappy (xerial blocks), LZ4 frames, zstd.

Whatever the bytes say, decompression stops at a bound that the caller gives; damaged or oversized input is
refused, never trusted. LZ4 and zstd have a short way for frames as producers write them (ADR 0015); what it does not
take goes through cramjam's frame decoders, which have the last word on what is wrong.
"""

import mmap
import struct
import zlib
from types import ModuleType
from typing import Any

import cramjam

from engine.errors import CorruptMessage, UnsupportedCompressionType
from engine.files.files import Buffer
from engine.records import lz4_frames, zstd_frames

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODECS = {"uncompressed": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
DEFAULT_LEVELS = {GZIP: -1, LZ4: 9, ZSTD: 3}
MAX_DECOMPRESSED_BYTES = 100 * 1024 * 1024
_PIECE_BYTES = 1024 * 1024

# snappy-java's stream: a marker, a version and the least version that can read it, then blocks.
_XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK = 32 * 1024
_XERIAL_MARKER_SIZE = 8
_LENGTH = struct.Struct(">i")


def decompress(codec: int, data: Buffer, bound: int = MAX_DECOMPRESSED_BYTES) -> bytes | memoryview:
    """The bytes behind `data`, at most `bound` of them."""
    if codec == NONE:
        return bytes(data)
    try:
        if codec == GZIP:
            return _gunzip(data, bound)
        if codec == SNAPPY:
            return _unsnappy(memoryview(data), bound)
        if codec == LZ4:
            content = lz4_frames.read_frame(memoryview(data), bound)
            return _grow(cramjam.lz4, data, bound) if content is None else content
        if codec == ZSTD:
            content = zstd_frames.read_frame(memoryview(data), bound)
            return _grow(cramjam.zstd, data, bound) if content is None else content
    except (cramjam.DecompressionError, zlib.error, struct.error, ValueError) as error:
        raise CorruptMessage(f"records do not decompress: {error}") from None
    raise UnsupportedCompressionType(f"unknown compression codec {codec}")


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """`data` as Kafka's clients expect it behind this codec."""
    if codec == NONE:
        return bytes(data)
    if codec == SNAPPY:
        return _snappy(memoryview(data))
    chosen = DEFAULT_LEVELS[codec] if level is None else level
    if codec == GZIP:
        return zlib.compress(data, chosen, wbits=31)
    if codec == LZ4:
        # Kafka's readers take independent blocks only (KIP-57).
        compressor = cramjam.lz4.Compressor(level=chosen, content_checksum=False, block_linked=False)
        # It holds the interpreter's lock: in between others have their turn.
        view = memoryview(data)
        for start in range(0, len(view), _XERIAL_BLOCK):
            compressor.compress(bytes(view[start : start + _XERIAL_BLOCK]))
        return bytes(compressor.finish())
    return bytes(cramjam.zstd.compress(data, level=chosen))


class TooLargeDecompressed(CorruptMessage):
    """Records that may be sound, but are larger than the caller wants to have them."""


def _too_large(bound: int) -> CorruptMessage:
    return TooLargeDecompressed(f"records are larger than {bound} bytes when decompressed")


def _gunzip(data: Buffer, bound: int) -> bytes:
    pieces: list[bytes] = []
    rest: Buffer = data
    room = bound
    while rest:
        member = zlib.decompressobj(wbits=31)
        while rest and not member.eof:
            # Piece by piece: what comes out is put together under the interpreter's lock.
            piece = member.decompress(rest, min(room + 1, _PIECE_BYTES))
            room -= len(piece)
            if room < 0:
                raise _too_large(bound)
            pieces.append(piece)
            rest = member.unconsumed_tail
            if not piece and not member.eof:
                break
        if not member.eof:
            raise CorruptMessage("records do not decompress: gzip stream ends early")
        rest = member.unused_data
    return b"".join(pieces)


def _grow(codec: ModuleType | Any, data: Buffer, bound: int) -> bytes | memoryview:
    """Decompresses into a buffer that grows: the size that the sender claims is not trusted."""
    size = min(bound, max(64 * 1024, 4 * len(data)))
    while True:
        try:
            if size <= _PIECE_BYTES:
                output = bytearray(size)
                return bytes(memoryview(output)[: codec.decompress_into(data, output)])
            # Pages that nobody has written to take no memory, and none is cleared or copied while others wait.
            pages = memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
            return pages[: codec.decompress_into(data, pages)]
        except cramjam.DecompressionError as error:
            if "write whole buffer" not in str(error):
                raise
            if size >= bound:
                raise _too_large(bound) from None
        size = min(bound, size * 4)


def _unsnappy(data: memoryview, bound: int) -> bytes:
    if bytes(data[:_XERIAL_MARKER_SIZE]) != _XERIAL_HEADER[:_XERIAL_MARKER_SIZE]:
        if cramjam.snappy.decompress_raw_len(data) > bound:
            raise _too_large(bound)
        return bytes(cramjam.snappy.decompress_raw(data))
    pieces: list[bytes] = []
    room = bound
    position = len(_XERIAL_HEADER)
    while position < len(data):
        (size,) = _LENGTH.unpack_from(data, position)
        position += 4
        if not 0 < size <= len(data) - position:
            raise CorruptMessage(f"snappy block of {size} bytes where {len(data) - position} remain")
        block = data[position : position + size]
        if cramjam.snappy.decompress_raw_len(block) > room:
            raise _too_large(bound)
        piece = bytes(cramjam.snappy.decompress_raw(block))
        room -= len(piece)
        pieces.append(piece)
        position += size
    return b"".join(pieces)


def _snappy(data: memoryview) -> bytes:
    pieces = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        pieces += (_LENGTH.pack(len(block)), block)
    return b"".join(pieces)
