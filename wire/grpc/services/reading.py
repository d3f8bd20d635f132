"""`tidegate.v1.Consume/Read`: partitions of a topic by offset, on and on.

Each partition has its task. What was read and not sent is held by few of them at a time, so that a call with many
partitions takes no more memory than one with few; the others wait for their turn, or for records.
"""

from collections.abc import Sequence
from typing import Final

import trio
from attrs import define, field

from engine.errors import InvalidRequest, UnknownTopicOrPartition
from wire.grpc.calls import GrpcCall
from wire.grpc.messages import consume_pb2
from wire.grpc.messages.consume_pb2 import ReadRequest, Start
from wire.grpc.methods import GrpcMethod
from wire.grpc.status import GrpcError, Status
from wire.grpc.together import together
from wire.grpc.translating import partition_records
from wire.inner.asking import InnerClient
from wire.inner.reading import EARLIEST, LATEST, MAX_BYTES, MAX_RECORDS, RecordReading
from wire.kafka.calls import Guest

DOOR: Final = "grpc"
MOST_PARTITIONS: Final = 1_000
MOST_HOLDING: Final = 4
"""Partitions of a call that have read something and not sent it."""
MOST_MESSAGE_BYTES: Final = 2 * 1024 * 1024
WAIT_S: Final = 20.0
NEVER: Final = 2**63


@define(eq=False)
class _Following:
    """One call: what it reads and how much of it is left."""

    call: GrpcCall[ReadRequest]
    guest: Guest
    reading: RecordReading
    topic: str
    committed: bool
    message_bytes: int
    left: int
    holding: trio.Semaphore = field(factory=lambda: trio.Semaphore(MOST_HOLDING))
    done: trio.Event = field(factory=trio.Event)

    async def follow(self, partition: int, offset: int, end: int) -> None:
        """Send what a partition has from the offset on, up to the end."""
        while offset < end and self.left > 0:
            async with self.holding:
                following = await self._send_some(partition, offset)
            if following == offset and offset < end:
                await self._wait(partition, offset)
            offset = following

    async def _send_some(self, partition: int, offset: int) -> int:
        """Where to read on."""
        found = await self.reading.read(
            self.guest,
            self.topic,
            partition,
            offset,
            max_bytes=self.message_bytes,
            max_records=min(MAX_RECORDS, self.left),
            committed=self.committed,
        )
        records = found.records[: self.left]
        if records:
            self.left -= len(records)
            ends = (found.high_watermark, found.log_start_offset)
            await self.call.send(partition_records(self.topic, partition, records, found.next_offset, ends))
        if self.left <= 0:
            self.done.set()
        return found.next_offset

    async def _wait(self, partition: int, offset: int) -> None:
        """Until there is something; what that is, is read in turn."""
        await self.reading.read(
            self.guest,
            self.topic,
            partition,
            offset,
            max_bytes=1,
            max_records=1,
            wait_s=WAIT_S,
            committed=self.committed,
        )


async def read(call: GrpcCall[ReadRequest], inner: InnerClient, reading: RecordReading) -> None:
    """Follow partitions until the client has enough, or the broker stops."""
    request = await call.only()
    _check(request)
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        count = (await inner.known_topic(guest, request.topic)).partition_count
        wanted = _wanted(request, count)
        committed = not request.uncommitted
        starts = {
            partition: await _offset(guest, reading, request.topic, partition, start, committed=committed)
            for partition, start in wanted.items()
        }
        ends = dict.fromkeys(wanted, NEVER)
        if request.until_end:
            ends = await reading.offsets(guest, request.topic, dict.fromkeys(wanted, LATEST), committed=committed)
        message_bytes = min(request.max_message_bytes or MAX_BYTES, MOST_MESSAGE_BYTES)
        left = request.max_records or NEVER
        following = _Following(call, guest, reading, request.topic, committed, message_bytes, left)
        await _follow_all(following, starts, ends)


async def _follow_all(following: _Following, starts: dict[int, int], ends: dict[int, int]) -> None:
    async with together() as nursery:
        nursery.start_soon(_end_with_broker, following.call.stopping)
        nursery.start_soon(_end_when, following.done, nursery)
        async with together() as readers:
            for partition, offset in starts.items():
                readers.start_soon(following.follow, partition, offset, ends[partition])
        nursery.cancel_scope.cancel()


async def _end_with_broker(stopping: trio.Event) -> None:
    await stopping.wait()
    raise GrpcError(Status.UNAVAILABLE, "the broker stops: read on from where you are, elsewhere or later")


async def _end_when(done: trio.Event, nursery: trio.Nursery) -> None:
    await done.wait()
    nursery.cancel_scope.cancel()


def _check(request: ReadRequest) -> None:
    if not request.topic:
        raise InvalidRequest("the request names no topic")
    if request.max_records < 0 or request.max_message_bytes < 0:
        raise InvalidRequest("max_records and max_message_bytes are not below 0")


def _wanted(request: ReadRequest, count: int) -> dict[int, Start]:
    """Which partitions, and from where."""
    if not request.partitions:
        found = dict.fromkeys(range(count), request.start)
    else:
        found = {
            each.partition: each.start if each.start.WhichOneof("position") else request.start
            for each in request.partitions
        }
    unknown = [partition for partition in found if not 0 <= partition < count]
    if unknown:
        raise UnknownTopicOrPartition(f"{request.topic} has partitions 0 to {count - 1}, not {unknown[0]}")
    if len(found) > MOST_PARTITIONS:
        raise InvalidRequest(f"one call reads {MOST_PARTITIONS} partitions at most, not {len(found)}")
    return found


async def _offset(
    guest: Guest, reading: RecordReading, topic: str, partition: int, start: Start, *, committed: bool
) -> int:
    kind = start.WhichOneof("position")
    if kind == "offset":
        if start.offset < 0:
            raise InvalidRequest("an offset is not below 0; for the ends there is `edge`")
        return start.offset
    time_ms = EARLIEST
    if kind == "timestamp_ms":
        time_ms = max(start.timestamp_ms, 0)
    elif start.edge == consume_pb2.EDGE_LATEST:
        time_ms = LATEST
    found = await reading.offsets(guest, topic, {partition: time_ms}, committed=committed)
    return found[partition]


METHODS: Sequence[GrpcMethod] = (GrpcMethod("/tidegate.v1.Consume/Read", ReadRequest, read),)
