"""`tidegate.v1.Produce`: records in, by one call or on a stream."""

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen

from coordinators.waiting import Breathing
from engine.errors import BrokerError, InvalidRequest
from wire.grpc.calls import GrpcCall
from wire.grpc.config import GrpcLimits
from wire.grpc.messages import produce_pb2
from wire.grpc.messages.produce_pb2 import RefusedRecord, SendRequest, SendResponse
from wire.grpc.methods import GrpcMethod
from wire.grpc.translating import new_record, refusal, trace_headers
from wire.inner.asking import TIMEOUT_S, InnerClient
from wire.inner.records import Header, NewRecord
from wire.inner.sending import ALL, LEADER, NONE, Outcome, Sending
from wire.kafka.calls import Guest

DOOR: Final = "grpc"
_ACKS: Final = {produce_pb2.ACKS_ALL: ALL, produce_pb2.ACKS_LEADER: LEADER, produce_pb2.ACKS_NONE: NONE}
_PARTITIONERS: Final = {
    produce_pb2.PARTITIONER_MURMUR2: "murmur2",
    produce_pb2.PARTITIONER_MURMUR3: "murmur3",
    produce_pb2.PARTITIONER_FNV1A: "fnv1a",
    produce_pb2.PARTITIONER_ROUND_ROBIN: "round_robin",
}
MOST_TOGETHER: Final = 2_000
"""Requests of a stream that wait are written together, up to so many records."""


@frozen
class _Way:
    """How the records of a request are to be written; requests that have this in common are written together."""

    topic: str
    acks: int
    partitioner: str
    timeout_s: float

    @classmethod
    def of(cls, request: SendRequest, limits: GrpcLimits) -> "_Way":
        if not request.topic:
            raise InvalidRequest("the request names no topic")
        if len(request.records) > limits.max_message_records:
            raise InvalidRequest(
                f"{len(request.records)} records in one message are more than grpc.max.message.records="
                f"{limits.max_message_records}"
            )
        acks, partitioner = _ACKS.get(request.acks), _PARTITIONERS.get(request.partitioner)
        if acks is None or partitioner is None:
            raise InvalidRequest("acks and partitioner are those that the proto file lists")
        return cls(request.topic, acks, partitioner, request.timeout_ms / 1000 if request.timeout_ms > 0 else TIMEOUT_S)


@frozen(eq=False)
class _Writing:
    """One call's."""

    guest: Guest
    sending: Sending
    traced: tuple[Header, ...]

    async def write(self, way: _Way, requests: Sequence[SendRequest]) -> list[Outcome]:
        """What became of each record; what is refused as a whole is told of every record."""
        records: list[NewRecord] = []
        breathing = Breathing()
        for request in requests:
            for record in request.records:
                records.append(new_record(record, self.traced))
                await breathing.did(1 + len(record.headers))
        try:
            return await self.sending.send(
                self.guest,
                way.topic,
                records,
                acks=way.acks,
                timeout_s=way.timeout_s,
                partitioner=way.partitioner,
            )
        except BrokerError as error:
            return [error] * len(records)


def _answers(requests: Sequence[SendRequest], outcomes: Sequence[Outcome]) -> Iterator[SendResponse]:
    position = 0
    for request in requests:
        end = position + len(request.records)
        yield _answer(request.number, outcomes[position:end])
        position = end


def _answer(number: int, outcomes: Sequence[Outcome]) -> SendResponse:
    answer = SendResponse(number=number)
    taken = [None if isinstance(each, BrokerError) else each for each in outcomes]
    answer.partitions.extend([-1 if each is None else each.partition for each in taken])
    answer.offsets.extend([-1 if each is None else each.offset for each in taken])
    answer.timestamps_ms.extend([-1 if each is None else each.timestamp_ms for each in taken])
    for index, outcome in enumerate(outcomes):
        if isinstance(outcome, BrokerError):
            answer.refused.append(RefusedRecord(index=index, refusal=refusal(outcome)))
    return answer


async def send(call: GrpcCall[SendRequest], inner: InnerClient, sending: Sending, limits: GrpcLimits) -> None:
    """One batch. Where all of its records are refused for one reason the call ends with that."""
    request = await call.only()
    way = _Way.of(request, limits)
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        outcomes = await _Writing(guest, sending, trace_headers(call.head.metadata)).write(way, [request])
    errors = [each for each in outcomes if isinstance(each, BrokerError)]
    if errors and len(errors) == len(outcomes) and len({type(each) for each in errors}) == 1:
        raise errors[0]
    await call.send(_answer(request.number, outcomes))


async def send_stream(call: GrpcCall[SendRequest], inner: InnerClient, sending: Sending, limits: GrpcLimits) -> None:
    """Batch after batch, answered in their order; those that wait are written together. A topic that cannot be written
    to is told of its records, and the stream goes on."""
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        writing = _Writing(guest, sending, trace_headers(call.head.metadata))
        request = await call.receive()
        while request is not None:
            way, several, following = _Way.of(request, limits), [request], None
            count = len(request.records)
            while count < MOST_TOGETHER and (following := await call.receive_ready()) is not None:
                if _Way.of(following, limits) != way:
                    break
                several.append(following)
                count += len(following.records)
                following = None
            for answer in _answers(several, await writing.write(way, several)):
                await call.send(answer)
            request = following if following is not None else await call.receive()


METHODS = (
    GrpcMethod("/tidegate.v1.Produce/Send", SendRequest, send),
    GrpcMethod("/tidegate.v1.Produce/SendStream", SendRequest, send_stream),
)
