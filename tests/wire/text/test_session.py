"""A client over a real socket: answers in order, appends put together, slow and silent clients, logins."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing
from attrs import define, evolve, field
from trio.testing import trio_test

from coordinators.access.callers import Caller, Principal, Proof
from coordinators.access.checking import MOST_OF_AN_ADDRESS, Place
from wire.http.config import Access
from wire.socket_options import tune
from wire.text import answers
from wire.text.commands import AuthCommand, BadCommand, FetchCommand, PublishCommand
from wire.text.config import TextLimits
from wire.text.logins import TextLogins
from wire.text.session import TextCounts, TextSession
from wire.transport import SocketTransport

PATIENCE_S = 20.0
LIMITS = TextLimits(max_payload_bytes=100_000, request_timeout_s=10.0, max_idle_s=10.0)


@define(eq=False)
class Use:
    """A broker that keeps what it is given."""

    appends: list[tuple[str, list[bytes]]] = field(factory=list)
    callers: set[str] = field(factory=set)
    inside: int = 0
    large: bytes = b"x"

    def enter(self, caller: Caller) -> "Use":
        self.callers.add(str(caller.principal))
        self.inside += 1
        return self

    def leave(self) -> None:
        self.inside -= 1

    async def publish(self, commands: Sequence[PublishCommand]) -> list[bytes]:
        first = sum(len(payloads) for _, payloads in self.appends)
        self.appends.append((commands[0].topic, [each.payload for each in commands]))
        await trio.lowlevel.checkpoint()
        return [answers.stored(first + number) for number in range(len(commands))]

    async def fetch(self, command: FetchCommand) -> list[bytes]:
        await trio.lowlevel.checkpoint()
        return [answers.message(command.offset, self.large)]

    async def topics(self) -> list[bytes]:
        await trio.lowlevel.checkpoint()
        return [answers.topic("t", 1), answers.end(1)]


@define(eq=False)
class Client:
    """The other side."""

    stream: trio.SocketStream
    session: TextSession
    ended: list[str] = field(factory=list)

    async def exchange(self, data: bytes) -> bytes:
        """Send, and take all that comes until the end."""
        with trio.fail_after(PATIENCE_S):
            await self.stream.send_all(data)
            return await self.rest()

    async def rest(self) -> bytes:
        received = bytearray()
        while piece := await self.stream.receive_some(65536):
            received += piece
        return bytes(received)


@asynccontextmanager
async def connected(
    use: Use, limits: TextLimits = LIMITS, logins: TextLogins | None = None, shown: Principal | None = None
) -> AsyncIterator[Client]:
    """A client; the session has ended after the block."""
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    async with listener, trio.open_nursery() as nursery:
        stream = await trio.open_tcp_stream(*listener.socket.getsockname())
        served = await listener.accept()
        sock = served.socket._sock  # type: ignore[attr-defined]
        tune(sock)
        transport = SocketTransport(sock, sock.getpeername())
        session = TextSession(transport, shown, use.enter, logins or TextLogins(), limits, TextCounts())
        client = Client(stream, session)

        async def run() -> None:
            client.ended.append(await session.run())
            assert not use.inside
            transport.close()

        nursery.start_soon(run)
        async with stream:
            yield client


@trio_test
async def test_answers_come_in_the_order_of_commands() -> None:
    use = Use()
    async with connected(use) as client:
        received = await client.exchange(
            b"PING\r\nPUB a 1\r\nx\r\nFETCH a 9\r\nTOPICS\r\nbad\r\nPUB a 1\r\ny\r\nQUIT\r\n"
        )
    lines = received.split(b"\r\n")
    assert [line.split(b" ")[0] for line in lines] == [
        *(b"PONG", b"OK", b"MSG", b"x", b"TOPIC", b"END", b"ERR", b"OK", b"BYE", b"")
    ]
    assert client.ended == ["quit"]


@trio_test
async def test_publishes_that_come_together_are_one_append() -> None:
    use = Use()
    async with connected(use) as client:
        received = await client.exchange(
            b"".join(b"PUB a 2\r\n%02d\r\n" % number for number in range(50))
            + b"PUB b 1\r\nx\r\nPUB b 1 delay=9\r\ny\r\nQUIT\r\n"
        )
    assert use.appends == [("a", [b"%02d" % number for number in range(50)]), ("b", [b"x", b"y"])]
    assert received == b"".join(b"OK %d\r\n" % number for number in range(52)) + b"BYE\r\n"


@trio_test
async def test_a_client_that_has_said_all_gets_all_answers() -> None:
    async with connected(Use()) as client:
        await client.stream.send_all(b"PUB a 1\nx\nPING\n")
        await client.stream.send_eof()
        assert await client.rest() == b"OK 0\r\nPONG\r\n"


async def send_for_ever(client: Client, data: bytes) -> None:
    while True:
        await client.stream.send_all(data)


@trio_test
async def test_nobody_is_read_from_who_takes_no_answers() -> None:
    use = Use(large=b"x" * 50_000)
    limits = evolve(LIMITS, request_timeout_s=0.5)
    async with connected(use, limits) as client:
        with trio.fail_after(PATIENCE_S), pytest.raises(trio.BrokenResourceError):
            await send_for_ever(client, b"FETCH a 0\r\n" * 1000)
    assert client.ended in (["slow"], ["gone"])


@trio_test
async def test_silence_ends_with_a_word() -> None:
    async with connected(Use(), evolve(LIMITS, max_idle_s=0.05)) as client:
        assert (await client.exchange(b"PING\r\n")).startswith(b"PONG\r\nERR IDLE ")


@trio_test
async def test_half_a_command_is_not_waited_for_for_long() -> None:
    async with connected(Use(), evolve(LIMITS, request_timeout_s=0.05)) as client:
        assert (await client.exchange(b"PUB a 5\r\nhel")).startswith(b"ERR TOO_SLOW ")


@trio_test
async def test_what_cannot_be_understood_is_told_and_ends() -> None:
    async with connected(Use()) as client:
        received = await client.exchange(b"PUB a 2\r\nhello\r\nPING\r\n" + b"x" * 50_000)
    assert received.startswith(b"ERR BAD_PAYLOAD ")
    assert received.count(b"\r\n") == 1
    assert client.ended == ["malformed"]


# -- logins


async def has_password(user: str, password: str) -> Proof | None:
    await trio.lowlevel.checkpoint()
    return Proof(Principal(user)) if (user, password) == ("alice", "secret") else None


async def whose_token(token: str, _place: Place) -> Proof | None:
    await trio.lowlevel.checkpoint()
    return Proof(Principal("bob")) if token == "good" else None


def asking() -> TextLogins:
    return TextLogins(Access("door-token"), has_password, whose_token, delay_s=0.01)


@trio_test
async def test_who_logs_in_does_what_follows_in_its_own_name() -> None:
    logins = ((b"AUTH alice secret", "User:alice"), (b"AUTH good", "User:bob"), (b"AUTH door-token", "User:operator"))
    for line, principal in logins:
        use = Use()
        async with connected(use, logins=asking()) as client:
            received = await client.exchange(line + b"\r\nPUB a 5\r\nhello\r\nAUTH alice secret\r\nQUIT\r\n")
        assert received.startswith(b"OK %b\r\nOK 0\r\nERR ALREADY_AUTHENTICATED " % principal.encode())
        assert use.callers == {principal}


@trio_test
async def test_nothing_is_done_for_who_has_not_logged_in() -> None:
    for line in (b"PUB a 1\r\nx\r\n", b"PUB a 90000\r\n" + b"x" * 90_000, b"FETCH a 0\r\n", b"TOPICS\r\n", b"what\r\n"):
        use = Use()
        async with connected(use, logins=asking()) as client:
            received = await client.exchange(line)
        assert received.startswith(b"ERR AUTHENTICATION_REQUIRED ")
        assert client.ended == ["unauthenticated"]
        assert not use.appends


@trio_test
async def test_a_wrong_login_ends_the_connection() -> None:
    for line in (b"AUTH alice wrong", b"AUTH bad", b"AUTH ANONYMOUS x", b"AUTH %20 x"):
        use, logins = Use(), asking()
        async with connected(use, logins=logins) as client:
            received = await client.exchange(line + b"\r\nPUB a 1\r\nx\r\n")
        assert received.startswith(b"ERR AUTHENTICATION_FAILED ")
        assert (logins.refused, use.appends) == (1, [])


@trio_test
async def test_who_says_nothing_is_not_waited_for_before_it_has_logged_in() -> None:
    async with connected(Use(), evolve(LIMITS, login_timeout_s=0.05), asking()) as client:
        assert (await client.exchange(b"PING\r\n")).startswith(b"PONG\r\nERR AUTHENTICATION_REQUIRED ")


@trio_test
async def test_a_certificate_is_enough() -> None:
    use = Use()
    async with connected(use, logins=TextLogins(certificates=True), shown=Principal("carol")) as client:
        assert await client.exchange(b"PUB a 1\r\nx\r\nQUIT\r\n") == b"OK 0\r\nBYE\r\n"
    assert use.callers == {"User:carol"}


@trio_test
async def test_who_was_deleted_is_served_no_longer() -> None:
    counts = [True]

    async def check(user: str, password: str) -> Proof:
        await trio.lowlevel.checkpoint()
        return Proof(Principal(user), lambda: counts[0])

    use = Use()
    async with connected(use, logins=TextLogins(check_password=check)) as client:
        await client.stream.send_all(b"AUTH alice secret\r\nPUB a 1\r\nx\r\n")
        assert await client.stream.receive_some() == b"OK User:alice\r\n"
        assert await client.stream.receive_some() == b"OK 0\r\n"
        counts[0] = False
        assert (await client.exchange(b"PUB a 1\r\ny\r\n")).startswith(b"ERR AUTHENTICATION_REQUIRED ")
    assert use.appends == [("a", [b"x"])]
    assert client.ended == ["unauthenticated"]


@trio_test
async def test_who_was_here_lately_waits_for_nobody_that_guesses() -> None:
    async def check(user: str, password: str) -> Proof | None:
        await trio.sleep_forever()

    def recall(user: str, password: str) -> Proof | None:
        return Proof(Principal(user)) if (user, password) == ("alice", "secret") else None

    async def of_token(token: str, _place: Place) -> Proof | None:
        return Proof(Principal("robot")) if token == "jwt" else None

    logins = TextLogins(check_password=check, recall=recall, check_token=of_token)
    async with trio.open_nursery() as nursery:
        for _ in range(MOST_OF_AN_ADDRESS):
            nursery.start_soon(logins.named, AuthCommand("alice", "guess"), "10.0.0.1")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(BadCommand, match="too many"):
            await logins.named(AuthCommand("bob", "secret"), "10.0.0.1")
        assert (await logins.named(AuthCommand("alice", "secret"), "10.0.0.1")).principal == Principal("alice")
        assert (await logins.named(AuthCommand(None, "jwt"), "10.0.0.1")).principal == Principal("robot")
        nursery.cancel_scope.cancel()


@define(eq=False)
class SlowUse(Use):
    """A broker that writes, and finds nothing to read, until it is told to go on."""

    begun: trio.Event = field(factory=trio.Event)
    go_on: trio.Event = field(factory=trio.Event)

    async def publish(self, commands: Sequence[PublishCommand]) -> list[bytes]:
        self.begun.set()
        await self.go_on.wait()
        return await super().publish(commands)

    async def fetch(self, command: FetchCommand) -> list[bytes]:
        self.begun.set()
        await self.go_on.wait()
        return await super().fetch(command)


@trio_test
async def test_what_is_being_written_when_the_broker_stops_is_answered_and_the_rest_refused() -> None:
    use = SlowUse()
    async with connected(use) as client:
        await client.stream.send_all(b"PUB a 1\r\nx\r\nPUB a 1\r\ny\r\nPUB b 1\r\nz\r\nPING\r\n")
        await use.begun.wait()
        client.session.leave()
        use.go_on.set()
        with trio.fail_after(PATIENCE_S):
            received = await client.rest()
    assert received.startswith(b"OK 0\r\nOK 1\r\nERR STOPPING ")
    assert received.count(b"\r\n") == 3
    assert use.appends == [("a", [b"x", b"y"])], "what was refused was not done"
    assert client.ended == ["stopping"]


@pytest.mark.parametrize("said", [b"", b"PUB a 10\r\nhalf", b"FETCH a 0 wait=9000\r\n"])
@trio_test
async def test_who_is_waited_for_or_waits_is_told_at_once_that_the_broker_stops(said: bytes) -> None:
    async with connected(SlowUse()) as client:
        await client.stream.send_all(said)
        await trio.testing.wait_all_tasks_blocked(0.05)
        client.session.leave()
        with trio.fail_after(PATIENCE_S):
            assert (await client.rest()).startswith(b"ERR STOPPING ")
    assert client.ended == ["stopping"]
