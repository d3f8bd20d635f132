"""The simulated network does to bytes what a real one does: cuts, delays, resets, hosts that fall silent."""

import random
from collections.abc import Callable

import pytest
import trio

from tests.simulation.network import Network
from tests.simulation.running import run_simulated
from wire.transport import Transport, TransportStream

HERE, THERE = "client-1", "node-1"


class Bench:
    """A network and a host that keeps what connects to it."""

    def __init__(self) -> None:
        self.network = Network(random.Random(1))
        self.admitted: list[TransportStream] = []
        self.listen()

    def listen(self) -> None:
        self.network.listen(THERE, self._admit)

    def _admit(self, transport: Transport) -> None:
        self.admitted.append(TransportStream(transport))

    async def connect(self) -> tuple[TransportStream, TransportStream]:
        stream = await self.network.dial(THERE, HERE)
        return stream, self.admitted[-1]


async def _received(stream: TransportStream, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += await stream.receive_some(size - len(data))
    return data


async def _is_silent(function: Callable[[], object]) -> bool:
    with trio.move_on_after(60) as waiting:
        await function()  # type: ignore[misc]
    return waiting.cancelled_caught


def test_a_cut_holds_back_what_is_sent_and_nobody_is_told_until_it_is_healed() -> None:
    async def program() -> None:
        bench = Bench()
        here, there = await bench.connect()
        bench.network.cut(HERE, THERE)
        await here.send_all(b"request")
        assert await _is_silent(there.receive_some)
        await there.send_all(b"the other way is open")
        assert await _received(here, 21) == b"the other way is open"
        await here.send_all(b", again")
        await trio.aclose_forcefully(here)
        bench.network.heal()
        assert await _received(there, 14) == b"request, again"
        assert await there.receive_some() == b""

    run_simulated(program)


def test_no_connection_is_made_over_a_cut_and_a_dead_port_refuses() -> None:
    async def program() -> None:
        bench = Bench()
        bench.network.cut(THERE, HERE)
        assert await _is_silent(bench.connect)
        bench.network.heal([(THERE, HERE)])
        await bench.connect()
        bench.network.deafen(THERE)
        with pytest.raises(ConnectionRefusedError):
            await bench.connect()

    run_simulated(program)


def test_a_host_without_power_says_nothing_and_has_forgotten_its_connections_when_it_is_back() -> None:
    async def program() -> None:
        bench = Bench()
        waits, _ = await bench.connect()
        writes, there = await bench.connect()
        bench.network.darken(THERE)
        await trio.aclose_forcefully(there)
        await writes.send_all(b"anybody there?")
        assert await _is_silent(writes.receive_some)
        assert await _is_silent(bench.connect)
        bench.listen()
        with pytest.raises(trio.BrokenResourceError):
            await writes.receive_some()
        assert await _is_silent(waits.receive_some), "nothing was sent that it could have answered"
        await waits.send_all(b"hello")
        with pytest.raises(trio.BrokenResourceError):
            await waits.receive_some()
        await bench.connect()

    run_simulated(program)


def test_a_slow_way_keeps_the_order() -> None:
    async def program() -> None:
        bench = Bench()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bench.network.live)
            here, there = await bench.connect()
            bench.network.slow_down(HERE, THERE, 1.0)
            began = trio.current_time()
            for number in range(20):
                await here.send_all(bytes([number]))
            assert await _received(there, 20) == bytes(range(20))
            assert 0.1 < trio.current_time() - began <= 1.0
            nursery.cancel_scope.cancel()

    run_simulated(program)


def test_a_reset_is_told_to_both_ends() -> None:
    async def program() -> None:
        bench = Bench()
        ends = await bench.connect()
        assert bench.network.reset_some(1.0) == 1
        for end in ends:
            with pytest.raises(trio.BrokenResourceError):
                await end.receive_some()
            with pytest.raises(trio.BrokenResourceError):
                await end.send_all(b"x")

    run_simulated(program)
