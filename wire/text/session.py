"""A client of the text door: its socket, its times, and its commands carried out one after the other.

One task does all of it. What has arrived is carried out and answered before more is received, so a client that sends
faster than it is served, or takes no answers, is waited for by its own socket. PUBs that came together and stand behind
one another are one append, and their answers one send.

When the broker stops, what is being written is answered, and nothing else is begun: the client is told so in the last
line, and knows that whatever it said without an answer before that was not done.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import trio
from attrs import define, evolve, field

from coordinators.access.callers import Caller, Principal
from wire.text import answers
from wire.text.commands import (
    AuthCommand,
    BadCommand,
    Command,
    FetchCommand,
    PingCommand,
    PublishCommand,
    QuitCommand,
    TopicsCommand,
)
from wire.text.config import TextLimits
from wire.text.connection import TextConnection
from wire.text.logins import TextLogins
from wire.transport import Transport

RECEIVE_BYTES = 256 * 1024
SEND_BYTES = 64 * 1024
MOST_PER_TURN = 1024
"""Commands that are read before they are carried out: some milliseconds of the processor."""
LINGER_S = 1.0

T = TypeVar("T")


class Visit(Protocol):
    """What one client does, in answers of this door; what is refused is among them."""

    async def publish(self, commands: Sequence[PublishCommand]) -> list[bytes]:
        """Store records of one topic; one answer for each."""

    async def fetch(self, command: FetchCommand) -> list[bytes]:
        """Read records."""

    async def topics(self) -> list[bytes]:
        """The topics that the client may know of."""

    def leave(self) -> None:
        """It does nothing more."""


Enter = Callable[[Caller], Visit]
"""Lets a client in."""


@define(eq=False)
class TextCounts:
    """What was done by all connections."""

    commands: dict[str, int] = field(factory=lambda: dict.fromkeys(("PUB", "FETCH", "TOPICS", "AUTH", "PING"), 0))
    refused: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0


class _Ended(Exception):
    """The connection is over; `text` is said before, if there is one to be said."""

    def __init__(self, reason: str, text: bytes = b"") -> None:
        super().__init__(reason)
        self.reason = reason
        self.text = text


class TextSession:
    """One connection."""

    _space = memoryview(bytearray(RECEIVE_BYTES))
    """Where what is received lies for a moment; all share it."""

    def __init__(
        self,
        transport: Transport,
        shown: Principal | None,
        enter: Enter,
        logins: TextLogins,
        limits: TextLimits,
        counts: TextCounts,
    ) -> None:
        self._transport = transport
        self._enter = enter
        self._visit: Visit | None = None
        self._logins = logins
        self._limits = limits
        self._counts = counts
        self._caller = logins.at_the_door(transport.address[0], shown)
        if self._caller is not None:
            self._visit = enter(self._caller)
        # Before it is known who it is, nobody has a payload kept.
        self._connection = TextConnection(limits if self._caller else evolve(limits, max_payload_bytes=0))
        self._began = trio.current_time()
        self._is_leaving = False
        self._waiting: trio.CancelScope | None = None
        """What is given up when the broker stops."""
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0

    @property
    def is_known(self) -> bool:
        """Whether it is known whose it is, or nobody is asked."""
        return self._caller is not None

    def leave(self) -> None:
        """Answer what is being written, say that this is the end, and end."""
        self._is_leaving = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def run(self) -> str:
        """Serve until either side ends it; why it ended."""
        try:
            while True:
                await self._while_staying(self._receive())
                while commands := self._taken():
                    await self._carry_out(commands)
                    await trio.lowlevel.checkpoint()
                if self._connection.has_ended:
                    return await self._say_last(_Ended("malformed"))
        except _Ended as ended:
            return await self._say_last(ended)
        except OSError:
            return "gone"
        finally:
            if self._visit is not None:
                self._visit.leave()

    async def _while_staying(self, work: Awaitable[T]) -> T:
        """What may be given up at any time."""
        with trio.CancelScope() as self._waiting:
            if self._is_leaving:
                self._waiting.cancel()
            return await work
        raise _stopping()

    # -- receiving

    async def _receive(self) -> None:
        limits, is_idle = self._limits, self._connection.is_between
        wait_s = limits.max_idle_s if is_idle else limits.request_timeout_s
        if self._caller is None:
            wait_s = min(wait_s, max(self._began + limits.login_timeout_s - trio.current_time(), 0))
        count = None
        with trio.move_on_after(wait_s):
            while count is None:
                await self._transport.readable()
                try:
                    count = self._transport.receive_into(self._space)
                except BlockingIOError:
                    continue
        if count is None:
            raise self._too_late(is_idle=is_idle)
        if count == 0:
            raise _Ended("gone")
        self._counts.received_bytes += count
        self._connection.receive(self._space[:count])

    def _too_late(self, *, is_idle: bool) -> _Ended:
        if self._caller is None:
            return _Ended("unauthenticated", answers.refusal(self._logins.needed()))
        if is_idle:
            return _Ended("idle", answers.error("IDLE", "nothing came for text.max.idle.ms"))
        return _Ended("idle", answers.error("TOO_SLOW", "the command did not arrive in text.request.timeout.ms"))

    def _taken(self) -> list[Command | BadCommand]:
        found: list[Command | BadCommand] = []
        most = MOST_PER_TURN if self._caller else 1
        while len(found) < most and (command := self._connection.take()) is not None:
            found.append(command)
        return found

    # -- commands

    async def _carry_out(self, commands: Sequence[Command | BadCommand]) -> None:
        position = 0
        while position < len(commands):
            self._check_counts()
            self._check_staying()
            command = commands[position]
            if isinstance(command, PublishCommand):
                together = _together(commands, position, command)
                self._say(await self._published(together))
                position += len(together)
            else:
                self._say(await self._while_staying(self._answered(command)))
                position += 1
            if self._unsent_bytes >= SEND_BYTES:
                await self._flush()
        await self._flush()

    def _check_staying(self) -> None:
        if self._is_leaving:
            raise _stopping()

    def _check_counts(self) -> None:
        """Whoever was deleted, or whose token has ended, is served no longer."""
        if self._caller is not None and not self._caller.counts():
            raise self._unknown()

    async def _published(self, commands: Sequence[PublishCommand]) -> list[bytes]:
        self._counts.commands["PUB"] += len(commands)
        return await self._known().publish(commands)

    async def _answered(self, command: Command | BadCommand) -> list[bytes]:
        if isinstance(command, BadCommand):
            if self._caller is None:
                # Nobody who is not known has payloads passed over.
                raise self._unknown()
            self._counts.refused += 1
            return [answers.refusal(command)]
        if isinstance(command, QuitCommand):
            raise _Ended("quit", answers.BYE)
        self._counts.commands[_NAMES[type(command)]] += 1
        if isinstance(command, AuthCommand):
            return [await self._log_in(command)]
        if isinstance(command, PingCommand):
            return [answers.PONG]
        if isinstance(command, TopicsCommand):
            return await self._known().topics()
        assert isinstance(command, FetchCommand), "PUBs are carried out together"
        return await self._known().fetch(command)

    def _known(self) -> Visit:
        if self._visit is None:
            raise self._unknown()
        return self._visit

    def _unknown(self) -> _Ended:
        return _Ended("unauthenticated", answers.refusal(self._logins.needed()))

    async def _log_in(self, command: AuthCommand) -> bytes:
        """Once: who a connection is stays so, whatever it says later."""
        if self._caller is not None:
            return answers.error("ALREADY_AUTHENTICATED", f"this connection is {self._caller.principal}'s")
        try:
            self._caller = await self._logins.named(command, self._transport.address[0])
        except BadCommand as bad:
            raise _Ended("unauthenticated", answers.refusal(bad)) from None
        self._connection.admit(self._limits)
        self._visit = self._enter(self._caller)
        return answers.welcome(str(self._caller.principal))

    # -- sending

    def _say(self, texts: Sequence[bytes]) -> None:
        self._unsent += texts
        self._unsent_bytes += sum(map(len, texts))

    async def _flush(self) -> None:
        view = memoryview(b"".join(self._unsent))
        self._unsent.clear()
        self._unsent_bytes = 0
        self._counts.sent_bytes += len(view)
        for position in range(0, len(view), SEND_BYTES):
            with trio.move_on_after(self._limits.request_timeout_s) as scope:
                await self._send(view[position : position + SEND_BYTES])
            if scope.cancelled_caught:
                raise _Ended("slow")

    async def _send(self, piece: memoryview) -> None:
        while piece:
            try:
                piece = piece[self._transport.send(piece, 0) :]
            except BlockingIOError:
                await self._transport.writable()

    async def _say_last(self, ended: _Ended) -> str:
        """What there is to say before the end. The client must be able to read it: closing with input that was not
        received would reset the connection."""
        try:
            with trio.move_on_after(LINGER_S):
                self._say([ended.text])
                await self._flush()
                self._transport.end_sending()
                await self._pass_over_the_rest()
        except (_Ended, OSError):
            pass  # the client is gone, or takes no answers
        return ended.reason

    async def _pass_over_the_rest(self) -> None:
        taken = 0
        while taken <= self._limits.max_payload_bytes:
            await self._transport.readable()
            try:
                count = self._transport.receive_into(self._space)
            except BlockingIOError:
                continue
            if count == 0:
                return
            taken += count


def _stopping() -> _Ended:
    return _Ended("stopping", answers.error("STOPPING", "the broker stops: what was not answered was not done"))


_NAMES = {AuthCommand: "AUTH", PingCommand: "PING", TopicsCommand: "TOPICS", FetchCommand: "FETCH"}


def _together(commands: Sequence[Command | BadCommand], start: int, first: PublishCommand) -> Sequence[PublishCommand]:
    """The PUBs from here on that can be one append: those of one topic."""
    found = [first]
    for command in commands[start + 1 :]:
        if not isinstance(command, PublishCommand) or command.topic != first.topic:
            break
        found.append(command)
    return found
