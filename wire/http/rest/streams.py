"""JSON documents one behind the other, as v3's produce takes them: cut apart wherever the bytes are cut.

An object ends with the brace that closes it. What stands between objects may be white space; commas and the brackets of
an array around them are passed over, too.
"""

import re
from collections.abc import Iterator

OPENING = (b"{", b"[")
BETWEEN = b" \t\r\n,[]"
QUOTE, ESCAPE, OPEN = b'"', b"\\", 0x7B


class TooLong(Exception):
    """A document that is larger than any may be."""


class NotObjects(Exception):
    """What stands between objects is no white space."""


class ObjectStream:
    """Bytes in, whole objects out."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._buffer = bytearray()
        self._position = 0
        self._depth = 0
        self._in_text = False

    @property
    def is_between(self) -> bool:
        """Whether no object has begun and not ended."""
        return not self._buffer

    def receive(self, data: bytes) -> Iterator[bytes]:
        """The objects that are whole by now."""
        self._buffer += data
        while (found := self._next()) is not None:
            yield found
        if len(self._buffer) > self._most:
            raise TooLong

    def _next(self) -> bytes | None:
        if not self._depth and not self._begins():
            return None
        end = self._end()
        if end is None:
            return None
        found = bytes(self._buffer[:end])
        del self._buffer[:end]
        self._position = 0
        return found

    def _begins(self) -> bool:
        """Whether an object begins where the buffer does, once what stands before it is passed over."""
        rest = self._buffer.lstrip(BETWEEN)
        if len(rest) < len(self._buffer):
            self._buffer = rest
        if rest and rest[0] != OPEN:
            raise NotObjects
        return bool(rest)

    def _end(self) -> int | None:
        """Where the object ends that the buffer begins with."""
        position = self._position
        while (found := (_IN_TEXT if self._in_text else _OUTSIDE).search(self._buffer, position)) is not None:
            byte, position = found[0], found.end()
            if self._in_text:
                if byte == ESCAPE:
                    if position == len(self._buffer):
                        position -= 1  # what it stands before has not come yet
                        break
                    position += 1
                else:
                    self._in_text = False
            elif byte == QUOTE:
                self._in_text = True
            elif byte in OPENING:
                self._depth += 1
            else:
                self._depth -= 1
                if not self._depth:
                    return position
        self._position = position if found is not None else len(self._buffer)
        return None


_IN_TEXT = re.compile(rb'["\\]')
_OUTSIDE = re.compile(rb'["{}\[\]]')
