"""Counts the frames that a client sends before anybody works on them, so that floods cost next to nothing.

A frame that carries nothing costs its sender nine bytes and us a hundred times that. Each kind has an allowance that
fills with time; who uses more than it has is to calm down. Window updates are owed to us for what we send, so that
many do not count.
"""

from collections.abc import Callable

from attrs import define, field

HEADER_BYTES = 9
PREFACE_BYTES = 24
"""What a client says first: no frame."""
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 8, 9
MOST_CONTINUATIONS = 32
"""Frames that the headers of one call may be spread over."""
HEADERS_ROOM_BYTES = 512
"""What the headers of a call may take beyond what their list may: padding, and a priority."""
UPDATES_PER_FRAME = 4
"""Window updates that a frame of ours may be answered by: two are customary."""
BURST_S = 2.0
"""An allowance holds so many seconds' worth."""
END_STREAM = 0x1


class TooManyFrames(Exception):
    """The client is to calm down; the text says why."""


@define(eq=False)
class Allowance:
    """So many per second for long, and twice as many at once."""

    per_s: float
    now: Callable[[], float]
    left: float = field(init=False)
    _since: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.left, self._since = self.per_s * BURST_S, self.now()

    def take(self) -> bool:
        """Use one; False if there is none left."""
        if self.left < 1:
            now = self.now()
            self.left = min(self.left + (now - self._since) * self.per_s, self.per_s * BURST_S)
            self._since = now
        self.left -= 1
        return self.left >= 0


class FrameMeter:
    """Of one connection: walks over what arrives, from frame to frame, whatever pieces it arrives in."""

    def __init__(
        self, resets_per_s: float, controls_per_s: float, max_header_bytes: int, now: Callable[[], float]
    ) -> None:
        self._resets = Allowance(resets_per_s, now)
        self._controls = Allowance(controls_per_s, now)
        self._skip = PREFACE_BYTES
        self._head = bytearray()
        self._continuations = 0
        self._headers_room = self._most_header_bytes = max_header_bytes + HEADERS_ROOM_BYTES
        self._updates_owed = 0

    def sent_frame(self) -> None:
        """A frame with data was sent: updates of windows will come for it."""
        self._updates_owed += UPDATES_PER_FRAME

    def count(self, data: memoryview) -> None:
        """Look at what has arrived; `TooManyFrames` if there is too much of something."""
        position, size = 0, len(data)
        while position < size:
            if self._skip:
                step = min(self._skip, size - position)
                self._skip -= step
                position += step
                continue
            step = min(HEADER_BYTES - len(self._head), size - position)
            self._head += data[position : position + step]
            position += step
            if len(self._head) == HEADER_BYTES:
                head = self._head
                self._skip = head[0] << 16 | head[1] << 8 | head[2]
                self._count_one(head[3], head[4])
                head.clear()

    def _count_one(self, kind: int, flags: int) -> None:
        if kind == CONTINUATION:
            self._continuations += 1
            if self._continuations > MOST_CONTINUATIONS:
                raise TooManyFrames("headers in too many pieces (CONTINUATION)")
            self._take_header_bytes()
            return
        self._continuations, self._headers_room = 0, self._most_header_bytes
        if kind == DATA:
            if self._skip == 0 and not flags & END_STREAM and not self._controls.take():
                raise TooManyFrames("too many empty frames")
        elif kind == RESET:
            if not self._resets.take():
                raise TooManyFrames("too many calls are given up: grpc.max.resets.per.second")
        elif kind == WINDOW_UPDATE and self._updates_owed > 0:
            self._updates_owed -= 1
        elif kind == HEADERS:
            self._take_header_bytes()
        elif not self._controls.take():
            raise TooManyFrames("too many frames that carry nothing: grpc.max.control.frames.per.second")

    def _take_header_bytes(self) -> None:
        """They are all kept until the last piece is here, so their sum counts before. Packed they are never larger than
        the list that they make."""
        self._headers_room -= self._skip
        if self._headers_room < 0:
            raise TooManyFrames("the metadata is too large: grpc.max.header.bytes")
