"""`tidegate.v1.Consume/Group`: a member of a group on a stream."""

from functools import partial

from attrs import define, field

from engine.errors import BrokerError, InvalidRequest
from wire.grpc.calls import GrpcCall
from wire.grpc.messages import consume_pb2
from wire.grpc.messages.consume_pb2 import GroupJoin, GroupRequest, GroupResponse
from wire.grpc.messages.records_pb2 import TopicPartition
from wire.grpc.methods import GrpcMethod
from wire.grpc.resident_streams import DOOR, ResidentStream, leave, session_s
from wire.grpc.translating import partition_records, refusal
from wire.inner.member import DoorMember, MemberWanted, PollWanted, Reset
from wire.inner.residents import Residents

AUTO_COMMIT_S = 5.0
MOST_COMMITTED = 10_000


@define(eq=False)
class _GroupStream:
    """One call."""

    call: GrpcCall[GroupRequest]
    member: DoorMember
    _told: list[tuple[str, int]] | None = field(default=None, init=False)
    """What the client knows that the member reads."""

    async def poll(self, limits: PollWanted) -> None:
        """Answer a poll."""
        polled = await self.member.poll(limits)
        answer = consume_pb2.Polled(
            generation=polled.generation,
            partitions=[
                partition_records(*portion.place, portion.records, portion.next_offset) for portion in polled.portions
            ],
        )
        assigned = self.member.assigned()
        if assigned != self._told:
            self._told = assigned
            places = [TopicPartition(topic=topic, partition=partition) for topic, partition in assigned]
            answer.assignment.CopyFrom(consume_pb2.Assignment(partitions=places))
        await self.call.send(GroupResponse(polled=answer))

    async def other(self, request: GroupRequest) -> None:
        """Answer anything else."""
        if request.WhichOneof("request") != "commit":
            raise InvalidRequest("after the join come polls and commits")
        offsets = request.commit.offsets
        if len(offsets) > MOST_COMMITTED:
            raise InvalidRequest(f"a commit names {MOST_COMMITTED} partitions at most")
        answer = consume_pb2.GroupCommitted()
        try:
            await self.member.commit({(each.topic, each.partition): each.offset for each in offsets} or None)
        except BrokerError as error:
            answer.refusal.CopyFrom(refusal(error))
        await self.call.send(GroupResponse(committed=answer))


async def group(call: GrpcCall[GroupRequest], residents: Residents) -> None:
    """A member for as long as the stream is open. Whoever ends it is done with what was polled; whoever is cut off is
    not, and others get it."""
    request = await call.receive()
    if request is None or request.WhichOneof("request") != "join":
        raise InvalidRequest("the first request of the stream is to be the join")
    wanted = _wanted(request.join)
    member = await residents.members.join(call.caller, DOOR, request.join.group, wanted, call.client_id)
    is_done = False
    try:
        await call.send(GroupResponse(joined=consume_pb2.GroupJoined(member_id=member.id)))
        stream = _GroupStream(call, member)
        await ResidentStream(call, member, wanted.session_s, stream.poll, stream.other).serve()
        is_done = True
    finally:
        await leave(partial(member.leave, is_done=is_done))


def _wanted(join: GroupJoin) -> MemberWanted:
    seconds = session_s(join.session_timeout_ms)
    auto_commit_s: float | None = AUTO_COMMIT_S
    if join.auto_commit_ms:
        auto_commit_s = join.auto_commit_ms / 1000 if join.auto_commit_ms > 0 else None
    return MemberWanted(
        tuple(join.topics),
        session_s=seconds,
        auto_commit_s=auto_commit_s,
        reset=Reset.LATEST if join.reset == consume_pb2.EDGE_LATEST else Reset.EARLIEST,
        committed_only=not join.uncommitted,
        hand_over_s=seconds,
    )


METHODS = (GrpcMethod("/tidegate.v1.Consume/Group", GroupRequest, group),)
