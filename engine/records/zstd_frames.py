"""zstd frames, read by a decoder that is kept.

Making a decoder with its tables and its window takes as long as reading a batch of 16 KiB with it. One per thread is
kept, and reads what is regular: one frame, a window of usual size, content within the room for it. All else, damaged
or merely unusual, is left to a decoder made for it, which reads it or says what is wrong.
"""

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zstandard import ZstdDecompressor

WINDOW_BYTES_MAX = 8 * 1024 * 1024
"""What levels up to 19 use. A decoder keeps its window, so that no sender may choose any size."""

ROOM_BYTES = 1024 * 1024
"""Room that is made for what comes out, whatever went in; for more than that, so many times what went in."""
ROOM_FACTOR = 4

BLOCKS_MAX = 256
"""32 MiB in blocks of usual size. A frame of more is a long one, or one made of crumbs to keep us busy."""

_DESCRIPTOR_POSITION = 4
_CHECKSUM_FLAG = 0x04
_CHECKSUM_BYTES = 4
# A block's header: whether it is the last, its kind, its size. One byte that is repeated is stored once.
_BLOCK_HEADER_BYTES = 3
_LAST = 1
_KIND_MASK = 3
_REPEATED = 1

_kept = threading.local()


def read_frame(data: memoryview, bound: int) -> bytes | None:
    """What a frame holds, at most `bound` bytes; None if it is for another decoder to judge."""
    # Here, not above: 4 ms of a start that most brokers do without.
    import zstandard

    room = min(bound, max(ROOM_BYTES, ROOM_FACTOR * len(data)))
    try:
        # A frame that says how much it holds gets that much room. One that says "nothing" may be followed by another
        # that is not looked at, and so may one that is to be skipped, which says it too. -1 is a frame that says
        # nothing of it, as Java's and librdkafka's.
        claimed = zstandard.frame_content_size(data)
        if claimed == 0 or claimed > room or not _is_one(data, zstandard.frame_header_size(data)):
            return None
        return _decoder().decompress(data, max_output_size=room)
    except (zstandard.ZstdError, IndexError):
        return None


def _is_one(data: memoryview, position: int) -> bool:
    """Whether the frame whose blocks begin at `position` is all there is.

    The decoder says nothing of what follows a frame (zstandard's `allow_extra_data=False` only does so for one that
    says how much it holds), and a header may stand there."""
    for _ in range(BLOCKS_MAX):
        word = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        position += _BLOCK_HEADER_BYTES + (1 if word >> 1 & _KIND_MASK == _REPEATED else word >> 3)
        if word & _LAST:
            break
    else:
        return False
    return position + (_CHECKSUM_BYTES if data[_DESCRIPTOR_POSITION] & _CHECKSUM_FLAG else 0) == len(data)


def _decoder() -> "ZstdDecompressor":
    """This thread's: a decoder does one thing at a time, and lets other threads run meanwhile."""
    decoder: ZstdDecompressor | None = getattr(_kept, "decoder", None)
    if decoder is None:
        import zstandard

        decoder = _kept.decoder = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES_MAX)
    return decoder
