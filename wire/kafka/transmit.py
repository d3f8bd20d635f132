"""Sends what is ready on a transport: bytes gathered, regions of files without being read.

`pump` sends as much as the transport takes and returns; it never waits. A region whose pages are not in memory
is read by a worker thread first, so that a slow disk stops this connection only.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum

from engine.files.files import FileRegion
from engine.files.page_cache import is_resident, read_resident, warm
from engine.workers import Workers
from wire.kafka.codec import Part
from wire.transport import MORE, Transport

SMALL_REGION_BYTES = 32 * 1024
MAX_SENDFILE_BYTES = 1024 * 1024
MAX_GATHERED_PARTS = 64


class Pumped(Enum):
    """How far `pump` came."""

    EMPTY = 1
    TRANSPORT_FULL = 2
    READING = 3


def _nobody_waits() -> None:
    pass


class Transmitter:
    """What is left to send on one connection."""

    __slots__ = (
        "_on_warm",
        "_parts",
        "_sent_of_head",
        "_transport",
        "_warmed",
        "_warming",
        "_workers",
        "sent_bytes",
    )

    def __init__(self, transport: Transport, workers: Workers, on_warm: Callable[[], object]) -> None:
        self._transport = transport
        self._workers = workers
        self._on_warm = on_warm
        self._parts: deque[Part] = deque()
        self._sent_of_head = 0
        self._warming = False
        self._warmed = False
        self.sent_bytes = 0

    def push(self, parts: list[Part]) -> None:
        """Queue parts behind what is there."""
        self._parts.extend(parts)

    def abandon(self) -> None:
        """The connection has ended: nobody is told of pages that are read."""
        self._on_warm = _nobody_waits

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def pump(self) -> Pumped:
        """Send until everything is out, the transport is full, or the disk must be read; raises OSError."""
        parts = self._parts
        while parts:
            if self._warming:
                return Pumped.READING
            gathered, region_follows = self._gather()
            complete = self._send_bytes(gathered, region_follows) if gathered else self._send_region(parts[0])
            if not complete:
                return Pumped.READING if self._warming else Pumped.TRANSPORT_FULL
        return Pumped.EMPTY

    def _gather(self) -> tuple[list[bytes | memoryview], bool]:
        """The bytes at the head, small regions among them, and whether a region follows."""
        parts = self._parts
        gathered: list[bytes | memoryview] = []
        for place in range(min(len(parts), MAX_GATHERED_PARTS)):
            part = parts[place]
            if not isinstance(part, (bytes, bytearray, memoryview)):
                data = _small(part)
                if data is None:
                    return gathered, True
                part = parts[place] = data
            gathered.append(part)
        return gathered, False

    def _send_bytes(self, gathered: list[bytes | memoryview], region_follows: bool) -> bool:
        if self._sent_of_head:
            gathered[0] = memoryview(gathered[0])[self._sent_of_head :]
        total = sum(map(len, gathered))
        flags = MORE if region_follows else 0
        try:
            if len(gathered) == 1:
                sent = self._transport.send(gathered[0], flags)
            else:
                sent = self._transport.send_parts(gathered, flags)
        except BlockingIOError:
            return False
        self.sent_bytes += sent
        self._drop(sent + self._sent_of_head)
        return sent == total

    def _drop(self, count: int) -> None:
        """Forget parts that are sent; `count` is measured from the start of the head part."""
        parts = self._parts
        while parts:
            head = parts[0]
            size = len(head) if isinstance(head, (bytes, bytearray, memoryview)) else head.size
            if count < size:
                break
            count -= size
            parts.popleft()
        self._sent_of_head = count

    def _send_region(self, region: Part) -> bool:
        assert isinstance(region, FileRegion)
        descriptor = region.fileno()
        position = region.position + self._sent_of_head
        remaining = region.size - self._sent_of_head
        assert descriptor is not None
        size = min(remaining, MAX_SENDFILE_BYTES)
        if not self._warmed and not is_resident(descriptor, position, size):
            self._start_warming(region, descriptor, position, size)
            return False
        self._warmed = False
        return self._sendfile(descriptor, position, size)

    def _sendfile(self, descriptor: int, position: int, size: int) -> bool:
        try:
            sent = self._transport.send_file(descriptor, position, size)
        except BlockingIOError:
            return False
        if sent == 0:
            raise OSError("a segment file is shorter than what was to be sent from it")
        self.sent_bytes += sent
        self._drop(self._sent_of_head + sent)
        return True

    def _start_warming(self, region: FileRegion, descriptor: int, position: int, size: int) -> None:
        self._warming = True

        def done(_: object, error: BaseException | None) -> None:
            self._warming = False
            self._warmed = True
            del error  # sendfile meets the same error and ends the connection
            self._on_warm()

        def read_ahead() -> FileRegion:
            warm(descriptor, position, size)
            return region  # kept until here, so that its file stays open

        self._workers.submit(read_ahead, done)


def _small(region: Part) -> bytes | None:
    """The bytes of a region that is better copied than sent by a call of its own; None if large or not in memory."""
    assert isinstance(region, FileRegion)
    descriptor = region.fileno()
    if descriptor is None:
        return region.read()
    return read_resident(descriptor, region.position, region.size) if region.size <= SMALL_REGION_BYTES else None
