"""A connection in its tasks: deadlines, cancelling, back-pressure, times, farewells."""

from math import inf

import h2.errors
import h2.events
import pytest
import trio
from attrs import evolve
from trio.testing import MockClock, trio_test

from engine.clock import SystemClock
from tests.wire.grpc.caller import calling
from tests.wire.kafka.door import until
from wire.grpc.calls import MOST_QUEUED_BYTES, GrpcCall
from wire.grpc.config import GrpcLimits, GrpcTimes
from wire.grpc.door import MOST_OF_STRANGERS
from wire.grpc.framing import PREFIX, framed
from wire.grpc.messages.health_v1_pb2 import HealthCheckRequest, HealthCheckResponse
from wire.grpc.methods import GrpcMethod
from wire.grpc.services.health import watch
from wire.grpc.session import SessionBroken
from wire.http.config import Access
from wire.http.life import Life, Phase

Call = GrpcCall[HealthCheckRequest]
LARGE = HealthCheckRequest(service="x" * 60_000)


async def echo(call: Call) -> None:
    """Send back whatever comes."""
    while (request := await call.receive()) is not None:
        await call.send(request)


async def wait(call: Call) -> None:
    """Never end."""
    await trio.sleep_forever()


def methods(**handlers: object) -> dict[str, GrpcMethod]:
    return {f"/{name}": GrpcMethod(f"/{name}", HealthCheckRequest, handler) for name, handler in handlers.items()}  # type: ignore[arg-type]


@trio_test
async def test_messages_go_both_ways_in_one_call() -> None:
    async with calling(methods(echo=echo)) as caller:
        call = await caller.call("/echo", HealthCheckRequest(service="first").SerializeToString(), ends=False)
        first = await caller.hear(h2.events.DataReceived)
        assert b"first" in first.data
        caller.http2.send_data(call, framed(HealthCheckRequest(service="second").SerializeToString()), end_stream=True)
        await caller.say()
        assert b"second" in (await caller.hear(h2.events.DataReceived)).data
        assert (await caller.end())["grpc-status"] == "0"
        assert caller.door.ended["echo", "OK"] == 1
        assert caller.door.messages["echo", "received"] == 2


@trio_test
async def test_a_call_ends_at_its_deadline() -> None:
    async with calling(methods(wait=wait)) as caller:
        await caller.call("/wait", grpc_timeout="20m")
        ended = await caller.end()
        assert ended["grpc-status"] == "4"
        assert "deadline" in ended["grpc-message"]


@trio_test
async def test_a_call_that_is_given_up_is_stopped() -> None:
    stopped = trio.Event()

    async def notice(call: Call) -> None:
        try:
            await trio.sleep_forever()
        finally:
            stopped.set()

    async with calling(methods(notice=notice)) as caller:
        call = await caller.call("/notice", ends=False)
        await until(lambda: caller.figures.calls_under_way > 0)
        caller.http2.reset_stream(call, h2.errors.ErrorCodes.CANCEL)
        await caller.say()
        with trio.fail_after(5):
            await stopped.wait()
            await until(lambda: caller.figures.calls_under_way == 0)
        assert caller.door.ended["notice", "CANCELLED"] == 1


@trio_test
async def test_a_handler_sends_no_further_than_a_slow_client_takes() -> None:
    sent = 0

    async def pour(call: Call) -> None:
        nonlocal sent
        while True:
            await call.send(LARGE)
            sent += 60_000

    async with calling(methods(pour=pour)) as caller:
        await caller.call("/pour")
        await caller.hear(h2.events.DataReceived, acknowledge=False)
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert 0 < sent <= MOST_QUEUED_BYTES + 200_000
        before = sent
        for _ in range(30):
            await caller.hear(h2.events.DataReceived)
        assert sent > before


@trio_test
async def test_a_client_sends_no_further_than_a_slow_handler_takes_and_messages_may_exceed_windows() -> None:
    go_on, taken = trio.Event(), 0

    async def slow(call: Call) -> None:
        nonlocal taken
        await go_on.wait()
        while await call.receive() is not None:
            taken += 1

    async with calling(methods(slow=slow)) as caller:
        call = await caller.call("/slow", None, ends=False)
        for _ in range(200):
            with trio.move_on_after(0.2) as tired:
                while caller.http2.local_flow_control_window(call) < 60_020:
                    await caller.receive()
            if tired.cancelled_caught:
                break
            for position in range(0, 60_009, 16_000):
                part = framed(LARGE.SerializeToString())[position : position + 16_000]
                caller.http2.send_data(call, part)
            await caller.say()
        assert 400_000 < caller.figures.buffered_bytes < 700_000
        go_on.set()
        with trio.fail_after(5):
            while caller.http2.local_flow_control_window(call) < 200_000:
                await caller.receive()
        large = framed(HealthCheckRequest(service="y" * 2_000_000).SerializeToString())
        position = 0
        while position < len(large):
            room = min(caller.http2.local_flow_control_window(call), 16_000)
            if not room:
                await caller.receive()
                continue
            caller.http2.send_data(call, large[position : position + room])
            position += room
            await caller.say()
        caller.http2.end_stream(call)
        await caller.say()
        assert (await caller.end())["grpc-status"] == "0"
        assert taken > 5
        assert caller.figures.buffered_bytes == 0


@pytest.mark.parametrize(
    ("sent", "status", "words"),
    [
        (PREFIX.pack(0, 5_000_000), "8", "grpc.max.message.bytes"),
        (b"\x00\x00\x00\x00\x05\xff\xff\xff\xff\xff", "13", "grpc.health.v1.HealthCheckRequest"),
        (b"\x00\x00\x00", "13", "no end"),
        (b"\x01\x00\x00\x00\x01x", "13", "compressed"),
        (b"", "12", "no message"),
        (framed(b"") + framed(b""), "12", "more than one"),
    ],
    ids=["too large", "no message of this kind", "torn", "packed without saying so", "none", "two"],
)
@trio_test
async def test_what_cannot_be_read_ends_the_call_and_no_other(sent: bytes, status: str, words: str) -> None:
    async def one(call: Call) -> None:
        await call.send(await call.only())

    async with calling(methods(one=one)) as caller:
        call = await caller.call("/one", None, ends=False)
        caller.http2.send_data(call, sent, end_stream=True)
        await caller.say()
        ended = await caller.end()
        assert (ended["grpc-status"], words in ended["grpc-message"]) == (status, True)
        await caller.call("/one")
        assert (await caller.end())["grpc-status"] == "0"


@trio_test
async def test_a_message_of_too_many_entries_is_refused_before_it_is_read() -> None:
    async with calling(methods(echo=echo), GrpcLimits(max_message_records=10)) as caller:
        await caller.call("/echo", b"\x12\x00" * 1_000)
        ended = await caller.end()
        assert (ended["grpc-status"], "grpc.max.message.records" in ended["grpc-message"]) == ("3", True)
        await caller.call("/echo", b"\x12\x00" * 40)
        assert (await caller.end())["grpc-status"] == "0"


@trio_test
async def test_a_bug_in_a_handler_ends_its_call_alone() -> None:
    async def fail(call: Call) -> None:
        raise ZeroDivisionError

    async with calling(methods(fail=fail, echo=echo)) as caller:
        await caller.call("/fail")
        assert (await caller.end())["grpc-status"] == "13"
        await caller.call("/echo")
        assert (await caller.end())["grpc-status"] == "0"


@trio_test
async def test_callers_are_asked_who_they_are() -> None:
    async with calling(methods(echo=echo), access=Access(token="secret")) as caller:
        await caller.call("/echo")
        assert (await caller.end())["grpc-status"] == "16"
        await caller.call("/echo", authorization="Bearer wrong")
        assert (await caller.end())["grpc-status"] == "16"
        await caller.call("/echo", authorization="Bearer secret")
        assert (await caller.end())["grpc-status"] == "0"
        await caller.call("/unknown", authorization="Bearer secret")
        assert (await caller.end())["grpc-status"] == "12"


@trio_test
async def test_who_is_not_known_has_few_open_calls_at_a_time() -> None:
    served = methods(wait=wait, echo=echo)
    served["/wait"] = evolve(served["/wait"], is_open=True)
    async with calling(served, access=Access(token="secret")) as caller:
        for _ in range(MOST_OF_STRANGERS + 1):
            await caller.call("/wait")
        assert (await caller.end())["grpc-status"] == "8"
        await caller.call("/echo", authorization="Bearer secret")
        assert (await caller.end())["grpc-status"] == "0"
        for _ in range(MOST_OF_STRANGERS):
            await caller.call("/wait")
        await until(lambda: caller.connection.call_count == 2 * MOST_OF_STRANGERS)


def test_watches_cost_nothing_while_nothing_changes() -> None:
    life = Life(SystemClock(), lambda: "1", (), lambda: 0)
    told: list[object] = []

    class Watched:
        stopping: trio.Event

        async def only(self) -> HealthCheckRequest:
            return HealthCheckRequest()

        async def send(self, response: HealthCheckResponse) -> None:
            told.append(response.status)

    async def change() -> None:
        await trio.sleep(10)
        life.phase = Phase.READY
        await trio.sleep(10)
        next_s = trio.lowlevel.current_statistics().seconds_to_next_deadline
        assert next_s == inf, "no watch wakes up by itself"
        Watched.stopping.set()

    async def main() -> None:
        Watched.stopping = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch, Watched(), life)  # type: ignore[arg-type]
            nursery.start_soon(change)

    trio.run(main, clock=MockClock(autojump_threshold=0))
    assert told == [HealthCheckResponse.NOT_SERVING, HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING]


@trio_test
async def test_more_than_all_calls_may_hold_is_refused() -> None:
    async with calling(methods(wait=wait), GrpcLimits(max_buffered_bytes=100_000)) as caller:
        for _ in range(3):
            await caller.call("/wait", None, ends=False)
            call = caller.http2.highest_outbound_stream_id
            caller.http2.send_data(call, (PREFIX.pack(0, 60_000) + bytes(10_000)))
            for _ in range(3):
                caller.http2.send_data(call, bytes(10_000))
            await caller.say()
        await until(lambda: caller.figures.buffered_bytes >= 80_000)
        assert caller.figures.buffered_bytes <= 100_000


@trio_test
async def test_a_silent_client_is_asked_and_then_left() -> None:
    times = GrpcTimes(keepalive_s=0.1, keepalive_timeout_s=0.1)
    with pytest.RaisesGroup(pytest.RaisesExc(SessionBroken, match=r"grpc\.keepalive")):
        async with calling(methods(wait=wait), times=times) as caller:
            await caller.call("/wait")
            await trio.sleep(10)


@trio_test
async def test_a_client_that_says_nothing_at_all_is_left() -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(SessionBroken, match=r"grpc\.handshake")):
        async with calling({}, times=GrpcTimes(handshake_s=0.05), speaks=False):
            await trio.sleep(5)


@trio_test
async def test_an_idle_connection_is_told_to_go() -> None:
    async with calling(methods(echo=echo), times=GrpcTimes(idle_s=0.1)) as caller:
        await caller.call("/echo")
        assert (await caller.end())["grpc-status"] == "0"
        goodbye = await caller.hear(h2.events.ConnectionTerminated)
        assert goodbye.error_code == 0
        assert b"grpc.max.idle.ms" in goodbye.additional_data


@trio_test
async def test_a_call_that_is_there_is_finished_when_the_broker_stops() -> None:
    go_on = trio.Event()

    async def slow(call: Call) -> None:
        await go_on.wait()
        await call.send(await call.only())

    async with calling(methods(slow=slow)) as caller:
        await caller.call("/slow")
        await until(lambda: caller.figures.calls_under_way > 0)
        caller.connection.leave("the broker stops")
        await trio.testing.wait_all_tasks_blocked(0.01)
        data = await caller.stream.receive_some(65_536)
        assert b"the broker stops" in data
        go_on.set()
        with trio.fail_after(5):
            while b"grpc-status" not in data and (more := await caller.stream.receive_some(65_536)):
                data += more
            await until(lambda: caller.connection.is_idle)
        assert caller.door.ended["slow", "OK"] == 1
