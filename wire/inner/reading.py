"""Reads records for a door's caller: fetched from the partition's leader, opened, aborted ones left out; and looks up
offsets by time."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import trio
from attrs import define

from coordinators.records.opening_room import OpeningRoom
from coordinators.replication.ports import LinkBroken
from coordinators.waiting import in_worker
from engine.errors import BrokerError, UnknownTopicOrPartition
from engine.records.compression import TooLargeDecompressed
from engine.workers import Workers
from wire.inner.asking import FIRST_PAUSE_S, LEADER_MOVES, TIMEOUT_S, InnerClient, check_counts
from wire.inner.opening import Opened, WantedRecords, is_soon_opened, opened, opened_or_why_not
from wire.inner.records import ReadRecord
from wire.kafka.calls import Guest, region_bytes
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.fetch import AbortedTransaction, FetchPartition, FetchRequest, FetchTopic, PartitionData
from wire.kafka.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

Aborted = Sequence[AbortedTransaction] | None
LATEST, EARLIEST = -1, -2
"""Times that stand for the ends of a partition."""
NO_OFFSET = NO_LEADER = -1
MOVING_S = 0.1
"""How long a reader pauses where nobody leads, or nobody can be reached."""
MAX_BYTES = 1024 * 1024
MAX_RECORDS = 1_000
AT_ONCE_BYTES = 32 * 1024
OPENED_BYTES_MAX = 100 * 1024 * 1024
"""What a compressed batch may hold; as much as a producer may make one of by default."""
LIKELY_BYTES, LIKELY_RATIO = 64 * 1024, 16


class ReadRecords(msgspec.Struct, frozen=True):
    """What was read of a partition, and where it begins and ends. `next_offset` is where the next read goes on: beyond
    the last record, where what follows are gaps."""

    records: Sequence[ReadRecord]
    next_offset: int
    high_watermark: int
    log_start_offset: int


@define(eq=False)
class RecordReading:
    """See the module."""

    inner: InnerClient
    workers: Workers
    room: OpeningRoom

    async def read(
        self,
        guest: Guest,
        topic: str,
        partition: int,
        offset: int,
        *,
        max_bytes: int = MAX_BYTES,
        max_records: int = MAX_RECORDS,
        wait_s: float = 0.0,
        committed: bool = True,
        timeout_s: float = TIMEOUT_S,
    ) -> ReadRecords:
        """Records from an offset on; none if there are none within `wait_s`. Raises what the leader refuses with."""
        request = _fetch_request(topic, {partition: offset}, max_bytes, wait_s, committed=committed)
        answer = await self.inner.ask_leader(guest, topic, partition, request, timeout_s=timeout_s, wait_s=wait_s)
        check_counts(guest)  # it may have waited
        _check(answer.error_code, topic, partition)
        data = _only(answer.responses)
        _check(data.error_code, topic, partition)
        found = await self.opened(data.records, offset, max_records, max_bytes, data.aborted_transactions)
        return ReadRecords(found.records, found.next_offset, data.high_watermark, data.log_start_offset)

    async def read_many(
        self,
        guest: Guest,
        topic: str,
        offsets: Mapping[int, int],
        *,
        max_bytes: int = MAX_BYTES,
        max_records: int = MAX_RECORDS,
        wait_s: float = 0.0,
        committed: bool = True,
    ) -> dict[int, ReadRecords]:
        """The same of several partitions at a time, each from its offset on: those that have records, or have moved on
        over gaps, as soon as any has, or when the time is over. Where there is no leader, or another, nothing is told
        of the partition: the next read finds it. Raises what a leader refuses with."""
        by_leader: dict[int, dict[int, int]] = {}
        for partition, offset in offsets.items():
            leader = self.inner.leader(guest, topic, partition)
            by_leader.setdefault(leader, {})[partition] = offset
        by_leader.pop(NO_LEADER, None)
        found: dict[int, PartitionData] = {}
        refusals: list[BrokerError] = []

        async def ask(node_id: int, asked: Mapping[int, int], done: trio.CancelScope) -> None:
            request = _fetch_request(topic, asked, max_bytes, wait_s, committed=committed)
            try:
                answer = await self.inner.ask(guest, request, node_id=node_id, timeout_s=wait_s)
            except LinkBroken:
                await trio.sleep(min(wait_s, MOVING_S))
                return
            except BrokerError as error:
                refusals.append(error)
                done.cancel()
                return
            for told in answer.responses:
                for data in told.partitions:
                    found[data.partition_index] = data
            if _has_any(found):
                done.cancel()

        async with trio.open_nursery() as nursery:
            for node_id, asked in by_leader.items():
                nursery.start_soon(ask, node_id, asked, nursery.cancel_scope)
        for refusal in refusals:
            raise refusal
        if not by_leader:
            await trio.sleep(min(wait_s, MOVING_S))
        check_counts(guest)  # it may have waited
        return await self._opened_many(topic, offsets, found, max_bytes, max_records)

    async def _opened_many(
        self,
        topic: str,
        offsets: Mapping[int, int],
        found: Mapping[int, PartitionData],
        max_bytes: int,
        max_records: int,
    ) -> dict[int, ReadRecords]:
        read: dict[int, ReadRecords] = {}
        for partition, data in found.items():
            if data.error_code in LEADER_MOVES:
                await trio.sleep(FIRST_PAUSE_S)
                continue
            _check(data.error_code, topic, partition)
            if max_records <= 0 or max_bytes <= 0:
                break
            opened_records = await self.opened(
                data.records, offsets[partition], max_records, max_bytes, data.aborted_transactions
            )
            max_records -= len(opened_records.records)
            max_bytes -= opened_records.size
            read[partition] = ReadRecords(
                opened_records.records, opened_records.next_offset, data.high_watermark, data.log_start_offset
            )
        return read

    async def opened(
        self, given: Any, offset: int, max_records: int, max_bytes: int, aborted: Aborted = None
    ) -> Opened:
        """Records out of what an answer to a fetch holds, from an offset on."""
        wanted = WantedRecords(offset, max_records, max_bytes, OPENED_BYTES_MAX)
        size = _size_of(given)
        if size <= AT_ONCE_BYTES:
            records = await self._bytes(given)
            if is_soon_opened(records, AT_ONCE_BYTES):
                return opened(records, wanted, aborted)
        # Room is taken for what such batches mostly hold; for what they might, where one holds more.
        likely = min(wanted.bound, LIKELY_BYTES + LIKELY_RATIO * size)
        try:
            return await self._opened_within(given, size, msgspec.structs.replace(wanted, bound=likely), aborted)
        except TooLargeDecompressed:
            return await self._opened_within(given, size, wanted, aborted)

    async def _opened_within(self, given: Any, size: int, wanted: WantedRecords, aborted: Aborted) -> Opened:
        """Read once there is room: who follow a topic are told of the same records at one time."""
        async with self.room.holding(size + wanted.bound):
            records = await self._bytes(given)
            outcome = await in_worker(self.workers, opened_or_why_not, records, wanted, aborted)
        if isinstance(outcome, BrokerError):
            raise outcome
        return outcome

    async def _bytes(self, records: Any) -> bytes:
        if records is None:
            return b""
        if isinstance(records, bytes | bytearray | memoryview):
            return bytes(records)
        return b"".join([await region_bytes(region, self.workers) for region in _regions(records)])

    async def offsets(
        self, guest: Guest, topic: str, times_ms: Mapping[int, int], *, committed: bool = True
    ) -> dict[int, int]:
        """By partition, the offset of the first record of that time or later: where there is none, the end. A time may
        be `EARLIEST` or `LATEST`."""
        found: dict[int, int] = {}
        for partition, time_ms in times_ms.items():
            offset = await self._offset(guest, topic, partition, time_ms, committed=committed)
            if offset == NO_OFFSET:
                offset = await self._offset(guest, topic, partition, LATEST, committed=committed)
            found[partition] = offset
        return found

    async def _offset(self, guest: Guest, topic: str, partition: int, time_ms: int, *, committed: bool) -> int:
        asked = ListOffsetsTopic(topic, [ListOffsetsPartition(partition, timestamp=time_ms)])
        request = ListOffsetsRequest(-1, int(committed), [asked], int(TIMEOUT_S * 1000))
        answer = await self.inner.ask_leader(guest, topic, partition, request)
        data = _only(answer.topics)
        _check(data.error_code, topic, partition)
        offset: int = data.offset
        return offset


def _fetch_request(
    topic: str, offsets: Mapping[int, int], max_bytes: int, wait_s: float, *, committed: bool
) -> FetchRequest:
    partitions = [
        FetchPartition(partition, fetch_offset=offset, partition_max_bytes=max_bytes)
        for partition, offset in offsets.items()
    ]
    return FetchRequest(
        max_wait_ms=int(wait_s * 1000),
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=int(committed),
        topics=[FetchTopic(topic=topic, partitions=partitions)],
    )


def _has_any(found: Mapping[int, PartitionData]) -> bool:
    """Whether there is something to tell already."""
    return any(data.records not in (None, b"", [], ()) or data.error_code for data in found.values())


def _size_of(records: Any) -> int:
    if records is None:
        return 0
    if isinstance(records, bytes | bytearray | memoryview):
        return len(records)
    return sum(len(region) if isinstance(region, bytes) else region.size for region in _regions(records))


def _regions(records: Any) -> Sequence[Any]:
    return records if isinstance(records, list | tuple) else [records]


def _only(topics: Any) -> Any:
    """The one partition that was asked for."""
    for topic in topics:
        for data in topic.partitions:
            return data
    raise BrokerError("an answer about nothing")


def _check(code: int, topic: str, partition: int) -> None:
    if code:
        error = broker_error(code, f"{topic}-{partition}: {code_name(code)}")
        if isinstance(error, UnknownTopicOrPartition):
            error = UnknownTopicOrPartition(f"there is no {topic}-{partition}, or you may not know of it")
        raise error
