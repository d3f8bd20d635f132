"""Whether a part of a file is in memory, so that the event loop never waits for a disk.

`preadv` with RWF_NOWAIT reads only what the page cache holds. Kernels read ahead and evict in larger runs than
a page, so one byte in every stride tells enough about a large range.
"""

import os

PROBE_STRIDE_BYTES = 128 * 1024
_NOWAIT = getattr(os, "RWF_NOWAIT", 0)


def read_resident(file_descriptor: int, position: int, size: int) -> bytes | None:
    """The bytes if all of them are in memory, else None."""
    data = bytearray(size)
    try:
        count = os.preadv(file_descriptor, [data], position, _NOWAIT)
    except BlockingIOError:
        return None
    except OSError:
        # A file system without RWF_NOWAIT (tmpfs of old kernels, FUSE): reading is all that is left.
        count = os.preadv(file_descriptor, [data], position)
    return bytes(data) if count == size else None


def is_resident(file_descriptor: int, position: int, size: int) -> bool:
    """Whether the range can be sent without waiting for the disk."""
    byte = [bytearray(1)]
    last = position + size - 1
    try:
        for probe in range(position, last, PROBE_STRIDE_BYTES):
            os.preadv(file_descriptor, byte, probe, _NOWAIT)
        os.preadv(file_descriptor, byte, last, _NOWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def warm(file_descriptor: int, position: int, size: int) -> None:
    """Bring the range into memory; blocks, so it runs in a thread."""
    end = position + size
    buffer = [bytearray(min(size, 1024 * 1024))]
    while position < end:
        count = os.preadv(file_descriptor, buffer, position)
        if count <= 0:
            return
        position += count


def let_go(file_descriptor: int, position: int, size: int) -> None:
    """The range was read once and is not needed: others may have its room in memory."""
    os.posix_fadvise(file_descriptor, position, size, os.POSIX_FADV_DONTNEED)
