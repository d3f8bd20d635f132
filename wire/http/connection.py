"""One HTTP/1.1 connection: h11 holds the protocol, this moves the bytes and keeps the times.

A request must arrive whole within `http.request.timeout.ms` of its first byte, and its answer be taken within the same;
between requests `http.max.idle.ms` may pass, before the first no more than for a request. A connection that does not
keep to that is closed.

A route may take its request's body piece by piece, and write its answer so, even both at a time: each piece may be
`http.stream.max.idle.ms` apart from the next. Nothing is read that nobody asks for, and nothing is written that the
caller does not take: so neither side piles up what the other is too slow for.

A body that is taken as a whole is read before anybody asks who sends it, up to `STRANGERS_BYTES`. More is read only
once that is known: else strangers could have as much memory as connections of `http.max.request.bytes` each.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from email.utils import formatdate
from http import HTTPStatus

import h11
import trio
from attrs import evolve

from coordinators.waiting import Breathing
from engine.errors import BrokerError
from wire.http.config import HttpLimits
from wire.http.messages import Request, Response
from wire.http.problems import Problem
from wire.http.streams import Seat, Streams

logger = logging.getLogger("tidegate.http")

RECEIVE_BYTES = 64 * 1024
SEND_BYTES = 64 * 1024
LINGER_S = 1.0
STRANGERS_BYTES = 64 * 1024
"""So much of a body is read of whoever sends it."""

Respond = Callable[[Request], Awaitable[Response]]
TakesPieces = Callable[[Request], bool]
"""Whether whoever answers a request, of which the head has arrived, takes the body piece by piece."""


TurnsAway = Callable[[Request], Awaitable[Response | None]]
"""What a caller is answered, of whose request the head has arrived, if it is none from whom a large body is taken."""


def _never(_: Request) -> bool:
    return False


async def _nobody(_: Request) -> Response | None:
    return None


class _TurnedAway(Exception):
    """The rest of a body is not read."""

    def __init__(self, response: Response) -> None:
        self.response = response


class HttpConnection:
    """A caller, from its first request to its last."""

    def __init__(
        self,
        stream: trio.abc.HalfCloseableStream,
        limits: HttpLimits,
        respond: Respond,
        takes_pieces: TakesPieces = _never,
        seat: Seat | None = None,
        turns_away: TurnsAway = _nobody,
    ) -> None:
        self._stream = stream
        self._limits = limits
        self._respond = respond
        self._takes_pieces = takes_pieces
        self._turns_away = turns_away
        self._seat = Streams().seat(lambda: False) if seat is None else seat
        self._protocol = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.max_header_bytes)
        self._unread = b""
        self._breathing = Breathing()
        self._patience_s = min(limits.request_timeout_s, limits.max_idle_s)
        self.turned_at = trio.current_time()
        """When it was last one side's turn and then the other's."""
        self.waiting_since: float | None = self.turned_at
        """Since when the caller owes us something, a request or taking its answer; None while we owe it an answer."""
        self.is_answering = False
        """Whether a request is carried out whose answer is given as a whole."""
        self._is_leaving = False

    def leave(self) -> None:
        """Answer what is asked now, and take no other request."""
        self._is_leaving = True

    async def run(self) -> None:
        """Serve request after request until either side ends it."""
        try:
            while await self._serve_one():
                pass
            await self._linger()
        except (trio.BrokenResourceError, trio.ClosedResourceError, h11.LocalProtocolError):
            pass  # the caller is gone, or has taken no notice of what was said
        finally:
            await trio.aclose_forcefully(self._stream)

    async def _serve_one(self) -> bool:
        """Answer one request; False if there will be no other."""
        try:
            request = await self._receive_request()
        except h11.RemoteProtocolError as error:
            await self._refuse(Problem(_hinted(error), f"not an HTTP request that is taken here: {error}").response())
            return False
        except Problem as problem:
            await self._refuse(problem.response())
            return False
        except _TurnedAway as turned_away:
            await self._refuse(turned_away.response)
            return False
        if request is None:
            return False
        self._turn(to_caller=False)
        self.is_answering = True
        response = await self._respond(request)
        if response.write is not None and request.method != "HEAD":
            self.is_answering = False
            await self._send_stream(response)
        else:
            self._turn(to_caller=True)
            await self._send(response, with_body=request.method != "HEAD")
            self.is_answering = False
        self._patience_s = self._limits.max_idle_s
        if self._protocol.our_state is not h11.DONE or self._protocol.their_state is not h11.DONE:
            # It must be closed, or what is left of the body was not wanted.
            return False
        self._turn(to_caller=True)
        self._protocol.start_next_cycle()
        return True

    def _turn(self, *, to_caller: bool) -> None:
        self.turned_at = trio.current_time()
        self.waiting_since = self.turned_at if to_caller else None

    # -- receiving

    async def _receive_request(self) -> Request | None:
        head = await self._receive_head()
        if head is None:
            return None
        headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
        announced = headers.get("content-length", "0")
        if "transfer-encoding" in headers and "content-length" in headers:
            # A proxy before us may believe the other of the two, and take what we hold for a body for a request.
            raise Problem(HTTPStatus.BAD_REQUEST, "a request has Content-Length or Transfer-Encoding, not both")
        request = Request(head.method.decode("ascii"), head.target.decode("ascii"), headers)
        if self._takes_pieces(request):
            return evolve(request, pieces=_Pieces(self))
        size = int(announced)
        if size > self._limits.max_request_bytes:
            raise self._too_large()
        if size > STRANGERS_BYTES:
            await self._check_known(request)
        body: bytes | None = None
        with trio.move_on_after(self._limits.request_timeout_s):
            body = await self._receive_body(request, is_known=size > STRANGERS_BYTES)
        if body is None:
            raise Problem(HTTPStatus.REQUEST_TIMEOUT, "the request did not arrive in http.request.timeout.ms")
        return evolve(request, body=body)

    async def _receive_head(self) -> h11.Request | None:
        """The request line and headers; None if the connection has ended instead, or nobody says anything."""
        with trio.move_on_after(self._patience_s) as scope:
            while (event := self._protocol.next_event()) is h11.NEED_DATA:
                await self._receive_more()
                # Once something of it is here, the rest of it is owed soon.
                deadline = trio.current_time() + self._limits.request_timeout_s
                scope.deadline = min(scope.deadline, deadline)
            return event if isinstance(event, h11.Request) else None
        if self._protocol.trailing_data[0]:
            raise Problem(HTTPStatus.REQUEST_TIMEOUT, "the request did not arrive in http.request.timeout.ms")
        return None

    async def _check_known(self, request: Request) -> None:
        response = await self._turns_away(request)
        if response is not None:
            raise _TurnedAway(response)

    async def _receive_body(self, request: Request, *, is_known: bool) -> bytes:
        body = bytearray()
        while (piece := await self._receive_piece()) is not None:
            body += piece
            if len(body) > self._limits.max_request_bytes:
                raise self._too_large()
            if len(body) > STRANGERS_BYTES and not is_known:
                await self._check_known(request)
                is_known = True
        return bytes(body)

    async def _receive_piece(self) -> bytes | None:
        """What comes next of the body; None at its end."""
        while True:
            # Chunks of a byte are taken apart at a hundred times the cost of others: not all that have come at once.
            await self._breathing.did()
            if self._protocol.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                await self._stream.send_all(self._protocol.send(go_on) or b"")
            event = self._protocol.next_event()
            if event is h11.NEED_DATA:
                await self._receive_more()
            elif isinstance(event, h11.Data):
                return bytes(event.data)
            else:
                return None

    async def next_piece(self) -> bytes | None:
        """The same for whoever takes the body so; a `Problem` if it does not come."""
        with trio.move_on_after(self._limits.stream_idle_s):
            try:
                return await self._receive_piece()
            except h11.RemoteProtocolError as error:
                raise Problem(_hinted(error), f"the body ends early, or is not what it says: {error}") from None
        raise Problem(HTTPStatus.REQUEST_TIMEOUT, "nothing came for http.stream.max.idle.ms")

    async def _receive_more(self) -> None:
        """Hand over no more than a head may take: what arrives whole is not measured by h11."""
        if not self._unread:
            self._unread = bytes(await self._stream.receive_some(RECEIVE_BYTES))
        room = max(self._limits.max_header_bytes + 1 - len(self._protocol.trailing_data[0]), 1)
        self._protocol.receive_data(self._unread[:room])
        self._unread = self._unread[room:]

    def _too_large(self) -> Problem:
        limit = self._limits.max_request_bytes
        return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than http.max.request.bytes={limit}")

    # -- sending

    async def _refuse(self, response: Response) -> None:
        """Answer what was no whole request; nothing more is read from this caller."""
        if self._protocol.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            await self._send(evolve(response, headers={**response.headers, "Connection": "close"}), with_body=True)

    async def _send(self, response: Response, *, with_body: bool) -> None:
        data = self._head(response)
        if with_body:
            data += self._protocol.send(h11.Data(data=response.body)) or b""
        data += self._protocol.send(h11.EndOfMessage()) or b""
        await self._send_all(data, self._limits.request_timeout_s)

    def _head(self, response: Response) -> bytes:
        headers = {
            "Date": formatdate(usegmt=True),
            **_content(response),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            **response.headers,
            **({"Connection": "close"} if self._is_leaving else {}),
        }
        reason = HTTPStatus(response.status).phrase.encode()
        head = h11.Response(status_code=response.status, headers=list(headers.items()), reason=reason)
        return self._protocol.send(head) or b""

    async def _send_all(self, data: bytes, patience_s: float) -> None:
        view = memoryview(data)
        for position in range(0, len(view), SEND_BYTES):
            with trio.move_on_after(patience_s) as scope:
                await self._stream.send_all(view[position : position + SEND_BYTES])
            if scope.cancelled_caught:
                raise trio.BrokenResourceError("the caller does not take its answer")

    async def _send_stream(self, response: Response) -> None:
        """The answer, as it is written, if there is a place for who is sent such; else why not."""
        try:
            with self._seat.taken():
                await self._send_pieces(response)
        except Problem as problem:
            refusal = problem.response()
            await self._send(evolve(refusal, headers={**response.headers, **refusal.headers}), with_body=True)

    async def _send_pieces(self, response: Response) -> None:
        """The answer, as it is written."""
        assert response.write is not None, "else it is sent whole"
        await self._send_all(self._head(response), self._limits.request_timeout_s)
        try:
            await response.write(self)
        except (Problem, BrokerError) as error:
            raise trio.BrokenResourceError(f"an answer ends early: {error}") from None
        except trio.BrokenResourceError:
            raise
        except Exception:
            logger.exception("an answer could not be written to its end")
            raise trio.BrokenResourceError("an answer ends early") from None
        await self._send_all(self._protocol.send(h11.EndOfMessage()) or b"", self._limits.request_timeout_s)

    async def send(self, data: bytes) -> None:
        """A piece of an answer that is written piece by piece."""
        if data:
            framed = self._protocol.send(h11.Data(data=data)) or b""
            del data  # else it were held twice for as long as the caller does not take it
            with self._seat.sending(len(framed)):
                await self._send_all(framed, self._limits.stream_idle_s)

    def at_a_time(self) -> int:
        """How many bytes of records are best sent at a time."""
        return self._seat.streams.at_a_time()

    async def _linger(self) -> None:
        """Let the caller read what was said last: closing at once with unread input would reset the connection."""
        with trio.move_on_after(LINGER_S):
            await self._stream.send_eof()
            taken = 0
            while taken <= self._limits.max_request_bytes:
                piece = await self._stream.receive_some(RECEIVE_BYTES)
                if not piece:
                    return
                taken += len(piece)


class _Pieces:
    """A body, as it arrives and is asked for."""

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._connection.next_piece()
        if piece is None:
            raise StopAsyncIteration
        return piece


def _content(response: Response) -> dict[str, str]:
    if response.status == HTTPStatus.NO_CONTENT:
        return {}
    if response.write is not None:
        return {"Content-Type": response.media_type}
    return {"Content-Type": response.media_type, "Content-Length": str(len(response.body))}


def _hinted(error: h11.RemoteProtocolError) -> HTTPStatus:
    return HTTPStatus(error.error_status_hint)
