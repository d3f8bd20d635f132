"""`tidegate.v1.Consume/Share`: a worker of a share group on a stream."""

from typing import Final

from attrs import frozen

from engine.errors import BrokerError, InvalidRequest
from wire.grpc.calls import GrpcCall
from wire.grpc.messages import consume_pb2
from wire.grpc.messages.consume_pb2 import LentRecord, RefusedReceipt, Settle, ShareRequest, ShareResponse
from wire.grpc.methods import GrpcMethod
from wire.grpc.resident_streams import DOOR, ResidentStream, leave, session_s
from wire.grpc.translating import record_message, refusal
from wire.inner.loans import Settling
from wire.inner.member import PollWanted
from wire.inner.receipts import WorkReceipt, read_receipt
from wire.inner.residents import Residents
from wire.inner.share_member import Delivered, DoorShareMember, ShareMemberWanted

_SETTLING: Final = {
    consume_pb2.SETTLEMENT_ACK: Settling.ACK,
    consume_pb2.SETTLEMENT_NACK: Settling.NACK,
    consume_pb2.SETTLEMENT_REJECT: Settling.REJECT,
    consume_pb2.SETTLEMENT_RENEW: Settling.EXTEND,
}
MOST_SETTLED: Final = 10_000


@frozen(eq=False)
class _ShareStream:
    """One call."""

    call: GrpcCall[ShareRequest]
    member: DoorShareMember
    residents: Residents

    async def poll(self, limits: PollWanted) -> None:
        """Answer a poll."""
        delivered = await self.member.poll(limits)
        await self.call.send(ShareResponse(lent=consume_pb2.Lent(records=[_lent(each) for each in delivered])))

    async def other(self, request: ShareRequest) -> None:
        """Answer anything else."""
        if request.WhichOneof("request") != "settle":
            raise InvalidRequest("after the join come polls and settlements")
        settle = request.settle
        if len(settle.receipts) > MOST_SETTLED:
            raise InvalidRequest(f"{MOST_SETTLED} receipts are settled at a time at most")
        how = _SETTLING.get(settle.settlement)
        if how is None:
            raise InvalidRequest("the settlement is one of those that the proto file lists")
        await self.call.send(ShareResponse(settled=await self._settled(settle, how)))

    async def _settled(self, settle: Settle, how: Settling) -> consume_pb2.Settled:
        answer = consume_pb2.Settled(number=settle.number)
        read: dict[WorkReceipt, str] = {}
        for text in settle.receipts:
            try:
                read[read_receipt(text)] = text
            except BrokerError as error:
                answer.refused.append(RefusedReceipt(receipt=text, refusal=refusal(error)))
        delay_ms = settle.delay_ms if settle.HasField("delay_ms") else None
        found = await self.residents.share_members.settle(self.call.caller, list(read), how, delay_ms)
        for receipt, outcome in found.items():
            if outcome is not None:
                answer.refused.append(RefusedReceipt(receipt=read[receipt], refusal=refusal(outcome)))
        return answer


def _lent(each: Delivered) -> LentRecord:
    receipt = each.receipt
    return LentRecord(
        topic=receipt.topic,
        partition=receipt.partition,
        record=record_message(each.record),
        delivery_count=receipt.delivery_count,
        receipt=str(receipt),
        lock_ms=int(each.lock_s * 1000),
    )


async def share(call: GrpcCall[ShareRequest], residents: Residents) -> None:
    """A worker for as long as the stream is open; what it has not settled then is for others."""
    request = await call.receive()
    if request is None or request.WhichOneof("request") != "join":
        raise InvalidRequest("the first request of the stream is to be the join")
    join = request.join
    seconds = session_s(join.session_timeout_ms)
    wanted = ShareMemberWanted(tuple(join.topics), session_s=seconds)
    member = await residents.share_members.join(call.caller, DOOR, join.group, wanted, call.client_id)
    try:
        await call.send(ShareResponse(joined=consume_pb2.ShareJoined(member_id=member.id)))
        stream = _ShareStream(call, member, residents)
        await ResidentStream(call, member, seconds, stream.poll, stream.other).serve()
    finally:
        await leave(member.leave)


METHODS = (GrpcMethod("/tidegate.v1.Consume/Share", ShareRequest, share),)
