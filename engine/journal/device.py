"""Where a journal is written: slots of a fixed size that lie on the disk in full before they are used.

A file that grows makes the file system write down its new size and blocks as well. Overwriting what is there already
changes the data alone. So a direct write to a slot costs half of what syncing a grown file costs, and one write serves
all logs of a round (ADR 0017).
"""

import ctypes
import mmap
import os
from collections.abc import Callable
from typing import Protocol

from engine.files.files import Files, open_private
from engine.files.kernel_sync import KernelSync

Written = Callable[[OSError | None], object]

_FILL_BYTES = 1 << 20


class Slot(Protocol):
    """A file of the journal, laid out."""

    def write(self, size: int, position: int, done: Written) -> None:
        """Make the first `size` bytes of the device's buffer durable at `position`, both in whole blocks. The buffer
        must stay as it is until `done` is called."""

    def close(self) -> None: ...


class Device(Protocol):
    """What the journal needs of the machine."""

    buffer: memoryview

    def lay_out(self, path: str, size: int) -> Slot:
        """[thread] The slot at `path`, made if need be, in full on the disk. Raises OSError."""


class DirectDevice:
    """Slots that are written past the page cache (`O_DIRECT`, `O_DSYNC`), without a thread of ours."""

    def __init__(self, kernel: KernelSync, files: Files, buffer_bytes: int) -> None:
        # Mapped memory begins on a page, as such writes ask for.
        memory = mmap.mmap(-1, buffer_bytes)
        self.buffer = memoryview(memory)
        self._kernel = kernel
        self._files = files
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def lay_out(self, path: str, size: int) -> Slot:
        """[thread] See `Device`."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        plain = open_private(path, flags)
        try:
            if os.fstat(plain).st_size != size:
                _fill(plain, size)
        except OSError:
            # What is left of the disk is better used than by a part of a slot.
            os.ftruncate(plain, 0)
            raise
        finally:
            os.close(plain)
        for directory in (os.path.dirname(path), os.path.dirname(os.path.dirname(path))):
            self._files.sync_directory(directory)
        descriptor = os.open(path, flags | os.O_DIRECT | os.O_DSYNC)
        return _DirectSlot(descriptor, self._kernel, self._address)


class _DirectSlot:
    def __init__(self, descriptor: int, kernel: KernelSync, address: int) -> None:
        self._descriptor = descriptor
        self._kernel = kernel
        self._address = address

    def write(self, size: int, position: int, done: Written) -> None:
        self._kernel.write(self._descriptor, self._address, size, position, done)

    def close(self) -> None:
        os.close(self._descriptor)


def _fill(descriptor: int, size: int) -> None:
    """Zeros all over. What a crash leaves is too short, and made anew."""
    os.ftruncate(descriptor, 0)
    zeros = memoryview(bytes(min(size, _FILL_BYTES)))
    position = 0
    while position < size:
        position += os.pwrite(descriptor, zeros[: size - position], position)
        if position % (8 * _FILL_BYTES) == 0:
            # Not all at once: others write to this disk too.
            os.fdatasync(descriptor)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, size, os.POSIX_FADV_DONTNEED)
