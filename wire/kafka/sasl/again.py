"""Requests of a connection that has logged in: the login may end, and may be done again (KIP-368)."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from wire.kafka.codec import WireError
from wire.kafka.sasl.gate import SASL_AUTHENTICATE, SASL_HANDSHAKE
from wire.kafka.sasl.login import Login, LoginState

EXPIRED_S = 10.0
"""So long after the end of its login a connection that asks nothing is closed. One that asks is, at once."""
LAST_ANSWER_S = 1.0
SENT_CHECK_S = 0.01

Handle = Callable[[memoryview, Any], Awaitable[None] | None]


class LoginEnded(WireError):
    """Something was asked after the end of a login."""

    counted_as = "expired"


def guarded(login: Login, handle: Handle, end: Callable[[], Awaitable[None]]) -> Any:
    """Handles a frame as `handle` does, unless the login has ended. `end` ends the connection when it was to be done
    again and has failed; nothing that came behind that is handled."""

    def handle_known(frame: memoryview, request: Any = None) -> Awaitable[None] | None:
        if login.state is LoginState.FAILED:
            raise LoginEnded("its login was to be done again and has failed")
        key = int.from_bytes(frame[:2], "big")
        if key != SASL_HANDSHAKE and key != SASL_AUTHENTICATE:
            if login.has_expired():
                raise LoginEnded("its login has ended, and it goes on without another")
            return handle(frame, request)
        waiting = handle(frame, request)
        return waiting if waiting is None else _again(waiting)

    async def _again(waiting: Awaitable[None]) -> None:
        await waiting
        if login.state is LoginState.FAILED:
            await end()

    return handle_known


async def sent_at_last(is_sent: Callable[[], bool]) -> None:
    """Wait a moment for the last answer of a connection to be gone."""
    with trio.move_on_after(LAST_ANSWER_S):
        while not is_sent():  # noqa: ASYNC110 - answers are sent from wherever they become ready
            await trio.sleep(SENT_CHECK_S)
