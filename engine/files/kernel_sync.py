"""Syncs, and writes that are synced, done by the kernel without a thread of ours (Linux's `io_submit`).

They are handed in with one call, and an eventfd tells when they are done. A thread that calls `fdatasync` costs,
besides the sync, two hand-overs of the interpreter's lock (ADR 0013). The kernel holds the file until it is done, so a
descriptor may be closed meanwhile. Where the calls are missing (other systems and processors, a sandbox that forbids
them) `open_kernel_sync` gives None, and threads do the work.
"""

import ctypes
import errno
import logging
import os
import platform
from collections.abc import Callable, Sequence

logger = logging.getLogger("tidegate.sync")

Done = Callable[[int, OSError | None], object]
"""Called with the place of a file in what was handed in, and with what went wrong."""

MOST_UNDER_WAY = 64
"""Files that can be handed in together."""
_CAPACITY = 4 * MOST_UNDER_WAY
_FDSYNC = 3
_PWRITE = 1
_TELL_BY_EVENTFD = 1
_CALLS = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2), "riscv64": (0, 1, 4, 2)}
"""The numbers of io_setup, io_destroy, io_getevents and io_submit."""


class _ControlBlock(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("key", ctypes.c_uint32),
        ("rw_flags", ctypes.c_int32),
        ("opcode", ctypes.c_uint16),
        ("priority", ctypes.c_int16),
        ("descriptor", ctypes.c_uint32),
        ("buffer", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("reserved", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("eventfd", ctypes.c_uint32),
    )


class _Event(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("control_block", ctypes.c_uint64),
        ("result", ctypes.c_int64),
        ("result2", ctypes.c_int64),
    )


class _TimeSpec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


_AT_ONCE = ctypes.byref(_TimeSpec(0, 0))


class KernelSync:
    """Belongs to the loop. `eventfd` becomes readable when `deliver` has something to tell."""

    def __init__(self, eventfd: int) -> None:
        self._setup, self._destroy, self._events, self._submit = _CALLS[platform.machine()]
        self._call = ctypes.CDLL(None, use_errno=True).syscall
        self._call.restype = ctypes.c_long
        context = ctypes.c_ulong(0)
        if self._call(self._setup, _CAPACITY, ctypes.byref(context)) != 0:
            raise _last_error()
        self._context = context
        self._blocks = (_ControlBlock * MOST_UNDER_WAY)()
        self._pointers = (ctypes.POINTER(_ControlBlock) * MOST_UNDER_WAY)()
        for place, block in enumerate(self._blocks):
            block.opcode, block.flags, block.eventfd = _FDSYNC, _TELL_BY_EVENTFD, eventfd
            self._pointers[place] = ctypes.pointer(block)
        self._write_block = _ControlBlock(opcode=_PWRITE, flags=_TELL_BY_EVENTFD, eventfd=eventfd)
        self._write_pointer = (ctypes.POINTER(_ControlBlock) * 1)(ctypes.pointer(self._write_block))
        self._received = (_Event * _CAPACITY)()
        self._under_way: dict[int, tuple[Done, int]] = {}
        self._last = 0

    def submit(self, descriptors: Sequence[int], done: Done) -> None:
        """Sync these files; `done` is called once for each."""
        count = min(len(descriptors), MOST_UNDER_WAY)
        blocks = self._blocks
        for place, descriptor in enumerate(descriptors[:count]):
            self._last += 1
            block = blocks[place]
            block.data, block.descriptor = self._last, descriptor
            self._under_way[self._last] = done, place
        # The kernel copies the blocks: they are free again when the call returns.
        begun = max(self._call(self._submit, self._context, ctypes.c_long(count), self._pointers), 0)
        for place in range(begun, count):
            del self._under_way[blocks[place].data]
        for place in range(begun, len(descriptors)):
            done(place, _synced_at_once(descriptors[place]))

    def write(
        self, descriptor: int, address: int, size: int, position: int, done: Callable[[OSError | None], object]
    ) -> None:
        """Write memory to a file that was opened for synced writes past the page cache; the memory must stay as it is
        until `done` is called, which may be at once."""
        self._last += 1
        block = self._write_block
        block.data, block.descriptor = self._last, descriptor
        block.buffer, block.size, block.offset = address, size, position
        if self._call(self._submit, self._context, ctypes.c_long(1), self._write_pointer) != 1:
            done(_last_error())
            return

        def written(count: int, error: OSError | None) -> None:
            if error is None and count != size:
                error = OSError(errno.EIO, f"{count} of {size} bytes were written")
            done(error)

        self._under_way[self._last] = written, -1

    def deliver(self) -> None:
        """Tell of everything that has ended."""
        if not self._under_way:
            return
        received = self._received
        none, most = ctypes.c_long(0), ctypes.c_long(_CAPACITY)
        count = self._call(self._events, self._context, none, most, received, _AT_ONCE)
        ended = [(self._under_way.pop(event.data), event.result) for event in received[: max(count, 0)]]
        for (done, place), result in ended:
            # Of a sync its file's place is told, of a write how much was written.
            try:
                done(result if place < 0 else place, None if result >= 0 else OSError(-result, os.strerror(-result)))
            except Exception:
                # A bug of one who waited; the others are told all the same.
                logger.exception("what follows a write or a sync failed")

    def close(self) -> None:
        """Waits for what is under way, tells of nothing any more."""
        self._call(self._destroy, self._context)


def open_kernel_sync(eventfd: int) -> KernelSync | None:
    """None where this machine cannot do it."""
    if platform.system() != "Linux" or platform.machine() not in _CALLS:
        return None
    try:
        return KernelSync(eventfd)
    except OSError:
        return None


def _synced_at_once(descriptor: int) -> OSError | None:
    """For the rare case that the kernel takes fewer than it is given."""
    try:
        os.fdatasync(descriptor)
    except OSError as error:
        return error
    return None


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
