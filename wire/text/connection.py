"""One connection of the text door without its socket: bytes in, commands out.

1. What is buffered is one line, or one payload, and what came with its end: no more is received before what is there
   has been taken.
2. A line ends with CRLF, or with LF alone. A payload is as long as its line says, whatever bytes it has, and is
   followed by a line's end.
3. The payload of a PUB that is refused is passed over as it comes, where its size is known. Where it is not, or where a
   payload does not end where it should, nobody knows where the next command begins: the connection ends.
"""

from wire.text.commands import BadCommand, Command, PublishCommand, announced_size, parse
from wire.text.config import TextLimits

LINE_END = b"\n"
CARRIAGE_RETURN = 0x0D
LINE_FEED = 0x0A


class TextConnection:
    """See the module. `receive` what came, and `take` commands until there are none."""

    def __init__(self, limits: TextLimits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._position = 0
        self._searched = 0
        """From here on the end of the line has not been looked for."""
        self._publish: PublishCommand | None = None
        """What waits for its payload."""
        self._refusal: BadCommand | None = None
        """What is told when the payload that it belongs to has passed."""
        self._passing = 0
        """How much of that is still to come."""
        self.has_ended = False
        """Whether nothing that follows can be understood."""

    @property
    def is_between(self) -> bool:
        """Whether nothing has come of a further command."""
        return self._position == len(self._buffer) and self._publish is None and self._refusal is None

    def admit(self, limits: TextLimits) -> None:
        """From now on other bounds hold."""
        self._limits = limits

    def receive(self, data: bytes | memoryview) -> None:
        """What came next."""
        if self._position:
            del self._buffer[: self._position]
            self._searched -= self._position
            self._position = 0
        self._buffer += data

    def take(self) -> Command | BadCommand | None:
        """The next command, or what is wrong with it; None until more has come."""
        if self.has_ended:
            return None
        try:
            return self._take()
        except BadCommand as bad:
            self.has_ended = bad.ends
            return bad

    def _take(self) -> Command | BadCommand | None:
        if self._refusal is not None:
            return self._pass_over()
        if self._publish is None:
            line = self._line()
            if line is None:
                return None
            try:
                command = parse(line, self._limits)
            except BadCommand as bad:
                return self._refused(bad, line)
            if not isinstance(command, PublishCommand):
                return command
            self._publish = command
        return self._with_payload(self._publish)

    def _line(self) -> bytes | None:
        """The next line without its end."""
        buffer, start = self._buffer, self._position
        end = buffer.find(LINE_END, max(self._searched, start))
        length = (len(buffer) if end < 0 else end) - start
        if length > self._limits.max_line_bytes:
            most = self._limits.max_line_bytes
            raise BadCommand("LINE_TOO_LONG", f"a line has at most text.max.line.bytes={most}", ends=True)
        if end < 0:
            self._searched = len(buffer)
            return None
        self._position = end + 1
        return bytes(buffer[start:end])

    def _refused(self, bad: BadCommand, line: bytes) -> BadCommand | None:
        size = None if bad.ends else announced_size(line, self._limits)
        if size is None:
            raise bad
        self._refusal, self._passing = bad, size
        return self._pass_over()

    def _pass_over(self) -> BadCommand | None:
        """Rule 3."""
        passed = min(self._passing, len(self._buffer) - self._position)
        self._position += passed
        self._passing -= passed
        if self._passing or not self._payload_ends(self._position):
            return None
        bad, self._refusal = self._refusal, None
        return bad

    def _with_payload(self, publish: PublishCommand) -> PublishCommand | None:
        start = self._position
        end = start + publish.size
        if not self._payload_ends(end):
            return None
        self._publish = None
        publish.payload = bytes(self._buffer[start:end])
        return publish

    def _payload_ends(self, end: int) -> bool:
        """Whether the line's end behind a payload is here; it is passed over then."""
        buffer = self._buffer
        behind = len(buffer) - end
        if behind < 1 or (behind == 1 and buffer[end] == CARRIAGE_RETURN):
            return False
        if buffer[end] == CARRIAGE_RETURN:
            end += 1
        if buffer[end] != LINE_FEED:
            raise BadCommand("BAD_PAYLOAD", "the payload does not end where its size says", ends=True)
        self._position = end + 1
        return True
