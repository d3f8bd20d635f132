"""Streams with a member: polls wait beside what else is asked, and the member is told that its client lives."""

import h2.events
import pytest
import trio
from trio.testing import trio_test

from engine.errors import InvalidRequest
from tests.wire.grpc.caller import calling
from wire.grpc.calls import GrpcCall
from wire.grpc.framing import framed
from wire.grpc.messages.consume_pb2 import GroupRequest, GroupResponse, Poll
from wire.grpc.methods import GrpcMethod
from wire.grpc.resident_streams import MOST_BYTES, MOST_RECORDS, ResidentStream, session_s, wanted
from wire.inner.member import PollWanted

POLL = GroupRequest(poll=Poll(wait_ms=1000)).SerializeToString()
COMMIT = GroupRequest(commit={}).SerializeToString()


class _Member:
    beats = 0

    def heartbeat(self) -> None:
        self.beats += 1


def served(member: _Member, go_on: trio.Event) -> dict[str, GrpcMethod]:
    async def serve(call: GrpcCall[GroupRequest]) -> None:
        async def poll(_: PollWanted) -> None:
            await go_on.wait()
            await call.send(GroupResponse(polled={"generation": 3}))

        async def other(_: GroupRequest) -> None:
            await call.send(GroupResponse(committed={}))

        await ResidentStream(call, member, 0.03, poll, other).serve()

    return {"/group": GrpcMethod("/group", GroupRequest, serve)}


@trio_test
async def test_a_commit_is_answered_while_a_poll_waits_and_the_member_lives_meanwhile() -> None:
    member, go_on = _Member(), trio.Event()
    async with calling(served(member, go_on)) as caller:
        call = await caller.call("/group", POLL, ends=False)
        caller.http2.send_data(call, framed(COMMIT))
        await caller.say()
        first = await caller.hear(h2.events.DataReceived)
        assert GroupResponse.FromString(first.data[5:]).WhichOneof("response") == "committed"
        with trio.fail_after(10):
            while member.beats < 2:  # noqa: ASYNC110
                await trio.sleep(0.01)
        go_on.set()
        second = await caller.hear(h2.events.DataReceived)
        assert GroupResponse.FromString(second.data[5:]).polled.generation == 3
        caller.http2.end_stream(call)
        await caller.say()
        assert (await caller.end())["grpc-status"] == "0"


@trio_test
async def test_a_second_poll_at_a_time_is_refused_and_a_broker_that_stops_ends_the_stream() -> None:
    async with calling(served(_Member(), trio.Event())) as caller:
        call = await caller.call("/group", POLL, ends=False)
        caller.http2.send_data(call, framed(POLL))
        await caller.say()
        assert (await caller.end())["grpc-status"] == "9"
        await caller.call("/group", POLL, ends=False)
        caller.figures.stopping.set()
        assert (await caller.end())["grpc-status"] == "14"


def test_what_a_poll_and_a_join_ask_for_is_bounded() -> None:
    assert wanted(Poll()) == PollWanted(max_bytes=1024 * 1024, max_records=500, wait_s=0.0)
    most = wanted(Poll(max_records=2**31 - 1, max_bytes=2**31 - 1, wait_ms=2**31 - 1))
    assert (most.max_records, most.max_bytes, most.wait_s) == (MOST_RECORDS, MOST_BYTES, 300.0)
    assert (session_s(0), session_s(6_000)) == (30.0, 6.0)
    with pytest.raises(InvalidRequest, match="not below 0"):
        wanted(Poll(max_records=-1))
    with pytest.raises(InvalidRequest, match="session_timeout_ms"):
        session_s(5)
