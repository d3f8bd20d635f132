"""TLS over a transport that takes and gives as little as it likes: nothing is lost, doubled or waited for."""

import os
import ssl
from collections.abc import Sequence

import pytest
import trio
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import trio_test

from tests.wire.tls.authorities import client_context, server_context
from wire.tls.transport import NoTls, TlsTransport


@define(eq=False)
class Narrow:
    """Carries bytes in portions of these sizes, in both directions; a portion of 0 is "not now"."""

    portions: list[int]
    address: tuple[str, int] = ("client", 1)
    local_address: tuple[str, int] = ("server", 2)
    to_server: bytearray = field(factory=bytearray)
    to_client: bytearray = field(factory=bytearray)
    is_ended: bool = False
    is_broken: bool = False
    closed: int = 0
    _turn: int = 0

    def _portion(self) -> int:
        self._turn += 1
        size = self.portions[self._turn % len(self.portions)]
        if size == 0:
            raise BlockingIOError
        return size

    async def readable(self) -> None:
        await trio.lowlevel.checkpoint()

    async def writable(self) -> None:
        await trio.lowlevel.checkpoint()

    def receive_into(self, space: memoryview) -> int:
        if not self.to_server:
            if self.is_ended:
                return 0
            if self.is_broken:
                raise ConnectionResetError("gone")
            raise BlockingIOError
        count = min(self._portion(), len(space), len(self.to_server))
        space[:count] = self.to_server[:count]
        del self.to_server[:count]
        return count

    def send(self, data: bytes | bytearray | memoryview, _flags: int) -> int:
        count = min(self._portion(), len(data))
        self.to_client += memoryview(data)[:count]
        return count

    def send_parts(self, parts: Sequence[bytes | bytearray | memoryview], flags: int) -> int:
        raise AssertionError("what is encrypted is one piece")

    def send_file(self, descriptor: int, position: int, size: int) -> int:
        raise AssertionError("files are encrypted first")

    def has_ended(self) -> bool:
        return False

    def end_sending(self) -> None:
        self.closed += 1

    def close(self) -> None:
        self.closed += 1


@define(eq=False)
class Peer:
    """The client's side, by the library."""

    wire: Narrow
    incoming: ssl.MemoryBIO = field(factory=ssl.MemoryBIO)
    outgoing: ssl.MemoryBIO = field(factory=ssl.MemoryBIO)
    tls: ssl.SSLObject = field(init=False)
    received: bytearray = field(factory=bytearray)

    def __attrs_post_init__(self) -> None:
        self.tls = client_context().wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def exchange(self) -> None:
        """Take what has come and give what there is."""
        self.incoming.write(bytes(self.wire.to_client))
        self.wire.to_client.clear()
        try:
            self.tls.do_handshake()
            while True:
                self.received += self.tls.read(65536)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            pass
        self.wire.to_server += self.outgoing.read()

    def say(self, data: bytes) -> None:
        self.tls.write(data)
        self.wire.to_server += self.outgoing.read()


async def met(portions: list[int]) -> tuple[TlsTransport, Peer, Narrow]:
    wire = Narrow(portions)
    peer = Peer(wire)
    transport = TlsTransport(wire, server_context())
    peer.exchange()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_keep_exchanging, peer, nursery.cancel_scope)
        with trio.fail_after(10):
            await transport.handshake(trio.Lock())
        nursery.cancel_scope.cancel()
    peer.exchange()
    return transport, peer, wire


async def _keep_exchanging(peer: Peer, _scope: trio.CancelScope) -> None:
    while True:
        peer.exchange()
        await trio.lowlevel.checkpoint()


portions = st.lists(st.integers(0, 70_000), min_size=1, max_size=6).filter(any)


@settings(max_examples=40, deadline=None)
@given(portions, st.lists(st.tuples(st.sampled_from("spf"), st.integers(1, 300_000)), min_size=1, max_size=4))
def test_everything_that_is_sent_arrives_once_and_in_order(sizes: list[int], sends: list[tuple[str, int]]) -> None:
    async def check() -> None:
        transport, peer, _wire = await met(sizes)
        sent = bytearray()
        with _file() as descriptor:
            for kind, size in sends:
                data = CONTENT[:size]
                position = 0
                while position < size:
                    rest = data[position:]
                    try:
                        if kind == "s":
                            position += transport.send(rest, 0)
                        elif kind == "p":
                            middle = len(rest) // 2
                            position += transport.send_parts([rest[:middle], rest[middle:], b""], 0)
                        else:
                            position += transport.send_file(descriptor, position, size - position)
                    except BlockingIOError:
                        await transport.writable()
                    peer.exchange()
                sent += data
        peer.exchange()
        assert peer.received == sent

    trio.run(check)


CONTENT = os.urandom(300_000)


class _file:  # noqa: N801 - used as a function
    def __enter__(self) -> int:
        self.descriptor = os.memfd_create("content")
        os.write(self.descriptor, CONTENT)
        return self.descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


@settings(max_examples=40, deadline=None)
@given(portions, st.lists(st.integers(1, 40_000), min_size=1, max_size=5), st.integers(1, 100_000))
def test_everything_that_is_received_is_given_once_and_nothing_is_left_unannounced(
    sizes: list[int], says: list[int], room: int
) -> None:
    async def check() -> None:
        transport, peer, wire = await met(sizes)
        said, got, space = b"", bytearray(), memoryview(bytearray(room))
        for size in says:
            said += CONTENT[:size]
            peer.say(CONTENT[:size])
        with trio.fail_after(10):
            while len(got) < len(said):
                await transport.readable()
                try:
                    count = transport.receive_into(space)
                except BlockingIOError:
                    assert wire.to_server or len(got) < len(said)
                    continue
                assert count
                got += space[:count]
        assert got == said
        wire.is_ended = True
        assert transport.receive_into(space) == 0

    trio.run(check)


@trio_test
async def test_a_goodbye_is_said_and_heard() -> None:
    transport, peer, wire = await met([70_000])
    peer.tls.write(b"last")
    with pytest.raises(ssl.SSLWantReadError):
        peer.tls.unwrap()
    wire.to_server += peer.outgoing.read()
    space = memoryview(bytearray(100))
    assert transport.receive_into(space) == 4
    await transport.readable()
    assert transport.receive_into(space) == 0
    transport.close()
    assert wire.closed == 1


@pytest.mark.parametrize("first", [b"\0\0\0\x10\0\x12\0\x03", b"GET / HTTP/1.1\r\n"])
@trio_test
async def test_who_does_not_speak_tls_is_told_apart_by_the_first_byte(first: bytes) -> None:
    wire = Narrow([100])
    wire.to_server += first
    with pytest.raises(NoTls, match="does not speak TLS"):
        await TlsTransport(wire, server_context()).handshake(trio.Lock())
    assert not wire.to_client, "nor is it answered"


@pytest.mark.parametrize("first", [b"\x16\x03\x01\xff\xff" + bytes(100), b"\x16" + bytes(20)])
@trio_test
async def test_what_only_begins_like_tls_comes_to_nothing(first: bytes) -> None:
    wire = Narrow([1000])
    wire.to_server += first
    wire.is_ended = True
    with pytest.raises((NoTls, OSError)), trio.fail_after(5):
        await TlsTransport(wire, server_context()).handshake(trio.Lock())


@trio_test
async def test_a_call_ends_soon_though_a_client_sends_byte_by_byte() -> None:
    transport, peer, _ = await met([70_000])
    for _ in range(20_000):
        peer.tls.write(b"x")
    peer.wire.to_server += peer.outgoing.read()
    space = memoryview(bytearray(100_000))
    counts = []
    while sum(counts) < 20_000:
        await transport.readable()
        counts.append(transport.receive_into(space))
    assert max(counts) < 15_000
    assert sum(counts) == 20_000


@trio_test
async def test_what_was_decrypted_is_handed_out_before_it_is_told_that_the_connection_broke() -> None:
    transport, peer, wire = await met([70_000])
    peer.say(b"last words")
    wire.is_broken = True
    space = memoryview(bytearray(100))
    assert bytes(space[: transport.receive_into(space)]) == b"last words"
    await transport.readable()
    with pytest.raises(ConnectionResetError):
        transport.receive_into(space)
