"""One Kafka connection without I/O: bytes in, frames out; responses leave in the order of their requests.

The rules:
1. A frame is a four-byte length and that many bytes. A length that is negative or above the limit ends the
   connection before anything is allocated for it. Only Produce carries records: for all else the limit is lower,
   because what is small on the wire may be many times as large when decoded.
2. Complete frames are views of the receive buffer, which all connections of a loop share. A frame must be
   done with before the buffer is filled again; whoever keeps bytes for longer copies them. Who pauses between two
   frames says `keep_rest` first.
3. Only the incomplete frame at the end is copied, into a buffer of its own that grows with what has arrived,
   never with what was announced.
4. A request that is answered takes a place in the outbox when it arrives. Answers become ready in any order
   and are sent in the order of the places. The outbox counts what it holds: requests until they are answered, answers
   until they are sent.
"""

import struct
from collections import deque
from collections.abc import Iterator
from typing import Any

from engine.deferred import Deferred
from wire.kafka.codec import Part, WireError

LENGTH_BYTES = 4
KEY_END = 6
PRODUCE_KEY = 0
FIRST_ALLOCATION_BYTES = 64 * 1024
MAX_INT32 = 2**31 - 1
NOTHING = memoryview(b"")
TLS_START = 0x1603
"""What the length of a frame begins with, if it is none but the first bytes of a TLS client."""
LEAST_PROGRESS_BYTES = 16 * 1024
_length = struct.Struct(">i")


class FrameBuffer:
    """Cuts what arrives into frames."""

    __slots__ = (
        "_arrived",
        "_filled",
        "_mark",
        "_max_control_frame_bytes",
        "_max_frame_bytes",
        "_partial",
        "_wanted",
    )

    def __init__(self, max_frame_bytes: int, max_control_frame_bytes: int = MAX_INT32) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._max_control_frame_bytes = max_control_frame_bytes
        self._partial: bytearray | None = None
        self._filled = 0
        self._wanted = 0
        self._arrived = NOTHING
        self._mark: tuple[float, int] | None = None

    @property
    def buffered_bytes(self) -> int:
        """Memory held for a frame that has not arrived whole."""
        return len(self._partial) if self._partial is not None else 0

    @property
    def missing_bytes(self) -> int:
        """What is still to come of a frame that has begun."""
        return self._wanted - self._filled if self._partial is not None else 0

    def is_larger_than(self, size: int) -> bool:
        """Whether a frame has begun that will take more than `size` bytes."""
        return self._partial is not None and self._wanted > size

    @property
    def next_buffered_bytes(self) -> int:
        """Memory held for a begun frame after the next call of `space`."""
        have = self.buffered_bytes
        return have + min(have, self.missing_bytes) if self._filled == have else have

    def space(self, shared: memoryview) -> memoryview:
        """Where the next bytes go: the rest of a begun frame, else the shared buffer."""
        partial = self._partial
        if partial is None:
            return shared
        if self._filled == len(partial):
            # Not extended in place: a view of it may still be held by the caller.
            partial = self._partial = partial + bytes(min(len(partial), self._wanted - self._filled))
        return memoryview(partial)[self._filled : self._wanted]

    def received(self, space: memoryview, count: int) -> Iterator[memoryview]:
        """The frames completed by `count` bytes that were written to `space`; they must all be taken."""
        return self._cut(space[:count]) if self._partial is None else self._grown(self._partial, count)

    def _grown(self, partial: bytearray, count: int) -> Iterator[memoryview]:
        self._filled += count
        if self._wanted == LENGTH_BYTES and self._filled == LENGTH_BYTES:
            self._wanted += self._length(partial, 0)
        elif self._filled >= KEY_END:
            self._check_kind(partial, 0, self._wanted - LENGTH_BYTES)
        if self._filled == self._wanted:
            frame = memoryview(partial)[LENGTH_BYTES : self._wanted]
            self._partial = None
            yield frame

    def keep_rest(self) -> None:
        """Have the frames that are not yet taken in memory of their own: the buffer is about to be filled again."""
        if type(self._arrived.obj) is not bytes:
            self._arrived = memoryview(bytes(self._arrived))

    def is_stuck(self, now: float, patience_s: float) -> bool:
        """Whether a frame that has begun has not grown worth mentioning for `patience_s`. Asked now and then, and only
        while its bytes are waited for: `reset_progress` says that they were not."""
        if self._partial is None:
            return False
        if self._mark is None or self._filled - self._mark[1] >= LEAST_PROGRESS_BYTES:
            self._mark = (now, self._filled)
        return now - self._mark[0] > patience_s

    def reset_progress(self) -> None:
        """Nothing was read meanwhile: that is not the client's fault."""
        self._mark = None

    def _cut(self, data: memoryview) -> Iterator[memoryview]:
        self._arrived = data
        position, end = 0, len(data)
        while end - position >= LENGTH_BYTES:
            length = self._length(data, position)
            following = position + LENGTH_BYTES + length
            if length > self._max_control_frame_bytes and end - position >= KEY_END:
                self._check_kind(data, position, length)
            if following > end:
                break
            yield data[position + LENGTH_BYTES : following]
            data = self._arrived
            position = following
        self._arrived = NOTHING
        if position < end:
            self._begin_partial(data[position:])

    def _begin_partial(self, rest: memoryview) -> None:
        have = len(rest)
        self._wanted = LENGTH_BYTES
        if have >= LENGTH_BYTES:
            self._wanted += self._length(rest, 0)
        self._partial = bytearray(max(have, min(self._wanted, FIRST_ALLOCATION_BYTES)))
        self._partial[:have] = rest
        self._filled = have
        self._mark = None

    def _length(self, data: memoryview | bytearray, position: int) -> int:
        length: int = _length.unpack_from(data, position)[0]
        if not 0 <= length <= self._max_frame_bytes:
            if length < 0:
                raise WireError(f"a frame announces a negative length ({length})")
            if length >> 16 == TLS_START:
                raise WireError("the client speaks TLS, and this listener does not")
            raise WireError(
                f"a frame of {length} bytes is larger than socket.request.max.bytes={self._max_frame_bytes}"
            )
        return length

    def _check_kind(self, data: memoryview | bytearray, position: int, length: int) -> None:
        """Refuse a large frame that is not a Produce request."""
        if length <= self._max_control_frame_bytes:
            return
        key = int.from_bytes(data[position + LENGTH_BYTES : position + KEY_END], "big", signed=True)
        if key != PRODUCE_KEY:
            raise WireError(
                f"a request of {length} bytes for API key {key} is larger than "
                f"socket.control.request.max.bytes={self._max_control_frame_bytes}"
            )


class OutboxPlace:
    """A response's place in the order; `parts` is None until it is ready. The rest is about its request: what it asked
    for, its correlation id, when it was decoded, and what is held because of it."""

    __slots__ = ("api", "began", "correlation_id", "cost_bytes", "parts", "waits_for")

    def __init__(self, api: Any, correlation_id: int, began: float, cost_bytes: int) -> None:
        self.api = api
        self.correlation_id = correlation_id
        self.began = began
        self.waits_for: Deferred[Any] | None = None
        self.parts: list[Part] | None = None
        self.cost_bytes = cost_bytes


class Outbox:
    """Responses in request order, waiting to be ready, then to be sent."""

    __slots__ = ("_places", "held_bytes")

    def __init__(self) -> None:
        self._places: deque[OutboxPlace] = deque()
        self.held_bytes = 0

    def __len__(self) -> int:
        return len(self._places)

    def reserve(self, api: Any = None, correlation_id: int = 0, began: float = 0.0, cost_bytes: int = 0) -> OutboxPlace:
        """The next place in the order, for a request that was decoded at `began` and holds so much until it is
        answered."""
        place = OutboxPlace(api, correlation_id, began, cost_bytes)
        self._places.append(place)
        self.held_bytes += cost_bytes
        return place

    def fulfil(self, place: OutboxPlace, parts: list[Part], size: int) -> None:
        """The response at `place` is ready; `size` is what it will put on the wire."""
        assert place.parts is None, "rule 4: a place is fulfilled once"
        place.parts = parts
        self.held_bytes += size - place.cost_bytes
        place.cost_bytes = size

    def has_ready(self) -> bool:
        """Whether the next response in order can be sent."""
        return bool(self._places) and self._places[0].parts is not None

    def pop_ready(self) -> list[Part]:
        """The parts of all responses that may be sent now."""
        places = self._places
        parts: list[Part] = []
        while places and places[0].parts is not None:
            place = places.popleft()
            self.held_bytes -= place.cost_bytes
            parts += place.parts  # type: ignore[arg-type]
        return parts

    @property
    def unsent_bytes(self) -> int:
        """What is ready and not sent."""
        return sum(place.cost_bytes for place in self._places if place.parts is not None)

    def abandon(self) -> None:
        """The client has gone: whoever prepares an answer may stop."""
        for place in self._places:
            if place.parts is None and place.waits_for is not None:
                place.waits_for.abandon()
        self._places.clear()
        self.held_bytes = 0
