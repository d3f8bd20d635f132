"""Lines out of a body that arrives in pieces: no line may be longer than a bound."""

from collections.abc import AsyncIterator
from http import HTTPStatus

from wire.http.problems import Problem


class Lines:
    """See the module. Gives at a time all lines that have arrived, without those that are empty."""

    def __init__(self, pieces: AsyncIterator[bytes], max_bytes: int) -> None:
        self._pieces = pieces
        self._max_bytes = max_bytes
        self._rest = bytearray()
        self._is_over = False

    async def some(self) -> list[bytes]:
        """At least one line; none at the end."""
        while not self._is_over:
            try:
                piece = await anext(self._pieces)
            except StopAsyncIteration:
                self._is_over = True
                piece = b"\n"
            self._rest += piece
            whole = self._whole() if b"\n" in piece else []
            if len(self._rest) > self._max_bytes or any(len(line) > self._max_bytes for line in whole):
                detail = f"a line is longer than http.max.request.bytes={self._max_bytes}"
                raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
            lines = [line for line in whole if line.strip()]
            if lines:
                return lines
        return []

    def _whole(self) -> list[bytes]:
        *whole, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        return whole
