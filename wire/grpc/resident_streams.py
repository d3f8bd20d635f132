"""A stream by which a caller has a member of a group, or a worker of a share group, live in the broker.

Polls wait in a task of their own, so that what else the client asks meanwhile is answered. While the stream is open its
client lives, and its member is told so; when it ends, the member leaves.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import trio
from attrs import define, field

from engine.errors import InvalidRequest
from wire.grpc.calls import GrpcCall
from wire.grpc.messages.consume_pb2 import Poll
from wire.grpc.status import GrpcError, Status
from wire.grpc.together import together
from wire.inner.homes import NotAtHome
from wire.inner.member import PollWanted

DOOR: Final = "grpc"
MAX_RECORDS: Final = 500
MOST_RECORDS: Final = 10_000
MAX_BYTES: Final = 1024 * 1024
MOST_BYTES: Final = 2 * 1024 * 1024
MOST_WAIT_MS: Final = 300_000
SESSION_S: Final = 30.0
LEAST_SESSION_MS, MOST_SESSION_MS = 1_000, 1_800_000
BEATS_PER_SESSION: Final = 3


class Lives(Protocol):
    """A member."""

    def heartbeat(self) -> None:
        """Its caller lives."""


@define(eq=False)
class ResidentStream:
    """One call with its member; `poll` answers a poll, `other` anything else."""

    call: GrpcCall[Any]
    member: Lives
    session_s: float
    poll: Callable[[PollWanted], Awaitable[None]]
    other: Callable[[Any], Awaitable[None]]
    _is_polling: bool = field(default=False, init=False)

    async def serve(self) -> None:
        """Until the client has nothing more to ask."""
        async with together() as nursery:
            nursery.start_soon(self._beat)
            nursery.start_soon(self._end_with_broker)
            async with together() as polls:
                while (request := await self.call.receive()) is not None:
                    if request.WhichOneof("request") == "poll":
                        self._begin_poll(request.poll, polls)
                    else:
                        await self.other(request)
                # Nobody waits for what a poll would bring now.
                polls.cancel_scope.cancel()
            nursery.cancel_scope.cancel()

    def _begin_poll(self, poll: Poll, polls: trio.Nursery) -> None:
        if self._is_polling:
            raise GrpcError(Status.FAILED_PRECONDITION, "the last poll has not been answered")
        self._is_polling = True
        polls.start_soon(self._poll, wanted(poll))

    async def _poll(self, limits: PollWanted) -> None:
        try:
            await self.poll(limits)
        finally:
            self._is_polling = False

    async def _beat(self) -> None:
        while True:
            await trio.sleep(self.session_s / BEATS_PER_SESSION)
            self.member.heartbeat()

    async def _end_with_broker(self) -> None:
        await self.call.stopping.wait()
        raise GrpcError(Status.UNAVAILABLE, "the broker stops: join again, elsewhere or later")


def wanted(poll: Poll) -> PollWanted:
    """What a poll asks for."""
    if min(poll.max_records, poll.max_bytes, poll.wait_ms) < 0:
        raise InvalidRequest("max_records, max_bytes and wait_ms are not below 0")
    return PollWanted(
        max_bytes=min(poll.max_bytes or MAX_BYTES, MOST_BYTES),
        max_records=min(poll.max_records or MAX_RECORDS, MOST_RECORDS),
        wait_s=min(poll.wait_ms, MOST_WAIT_MS) / 1000,
    )


def session_s(session_timeout_ms: int) -> float:
    """What a join asks for, 30 s if nothing."""
    if session_timeout_ms == 0:
        return SESSION_S
    if not LEAST_SESSION_MS <= session_timeout_ms <= MOST_SESSION_MS:
        raise InvalidRequest(f"session_timeout_ms is between {LEAST_SESSION_MS} and {MOST_SESSION_MS}, or 0")
    return session_timeout_ms / 1000


async def leave(leaving: Callable[[], Awaitable[None]]) -> None:
    """Have a member leave, also where its call was cancelled."""
    with trio.CancelScope(shield=True):
        try:
            await leaving()
        except NotAtHome:
            return  # it has left already
