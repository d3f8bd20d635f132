"""How a member gets at records: one fetch to each leader of what it reads, and what comes first is what it gets."""

from collections.abc import Mapping, Sequence

import trio
from attrs import define, frozen

from engine.errors import BrokerError, GroupAuthorizationFailed, TopicAuthorizationFailed, UnknownTopicOrPartition
from wire.inner.asking import InnerClient, check_counts
from wire.inner.assignors import Place
from wire.inner.member import PollWanted, ReadPortion, Reset
from wire.inner.offsets import by_topic
from wire.inner.reading import EARLIEST, LATEST, RecordReading
from wire.inner.records import ReadRecord
from wire.kafka.calls import Guest
from wire.kafka.errors import broker_error
from wire.kafka.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData

TOLD = (TopicAuthorizationFailed, GroupAuthorizationFailed)
"""What the caller has to know, and what passes by itself not."""


@define(eq=False)
class _Taken:
    """What one read has brought so far, and how much more is wanted."""

    limits: PollWanted
    portions: list[ReadPortion]
    records: int = 0
    size: int = 0

    @property
    def is_full(self) -> bool:
        return self.records >= self.limits.max_records or self.size >= self.limits.max_bytes

    def take(self, portion: ReadPortion) -> None:
        self.portions.append(portion)
        self.records += len(portion.records)
        self.size += sum(_size(each) for each in portion.records)


@frozen
class MemberReads:
    """See the module."""

    inner: InnerClient
    reading: RecordReading
    guest: Guest

    async def read(
        self, wanted: Mapping[Place, int], limits: PollWanted, *, committed_only: bool
    ) -> Sequence[ReadPortion]:
        """Something of any of the partitions, from these offsets on; nothing after `wait_s`."""
        taken = _Taken(limits, [])
        failures: list[BrokerError] = []

        async def fetch(leader: int, offsets: Mapping[Place, int]) -> None:
            try:
                await self._fetch(leader, offsets, taken, committed_only=committed_only)
            except TOLD as error:
                failures.append(error)
            except BrokerError:
                return  # its leader is about to be another
            if taken.portions or failures:
                nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            for leader, offsets in self._by_leader(wanted).items():
                nursery.start_soon(fetch, leader, offsets)
        if failures and not taken.portions:
            raise failures[0]
        return taken.portions

    def _by_leader(self, wanted: Mapping[Place, int]) -> dict[int, dict[Place, int]]:
        found: dict[int, dict[Place, int]] = {}
        for place, offset in wanted.items():
            try:
                leader = self.inner.leader(self.guest, *place)
            except UnknownTopicOrPartition:
                continue
            if leader >= 0:
                found.setdefault(leader, {})[place] = offset
        return found

    async def _fetch(self, leader: int, offsets: Mapping[Place, int], taken: _Taken, *, committed_only: bool) -> None:
        limits = taken.limits
        request = FetchRequest(
            max_wait_ms=int(limits.wait_s * 1000),
            min_bytes=1,
            max_bytes=limits.max_bytes,
            isolation_level=int(committed_only),
            topics=[
                FetchTopic(
                    topic=topic,
                    partitions=[
                        FetchPartition(index, fetch_offset=offset, partition_max_bytes=limits.max_bytes)
                        for index, offset in found.items()
                    ],
                )
                for topic, found in by_topic(offsets)
            ],
        )
        answer: FetchResponse = await self.inner.ask(self.guest, request, node_id=leader, timeout_s=limits.wait_s)
        check_counts(self.guest)  # it may have waited
        if answer.error_code:
            raise broker_error(answer.error_code)
        for topic in answer.responses:
            for data in topic.partitions:
                place = (topic.topic, data.partition_index)
                await self._take(place, offsets[place], data, taken)

    async def _take(self, place: Place, offset: int, data: PartitionData, taken: _Taken) -> None:
        if data.error_code:
            error = broker_error(data.error_code, f"{place[0]}-{place[1]} cannot be read")
            if isinstance(error, TOLD):
                raise error
            taken.take(ReadPortion(place, (), offset, error))
        elif data.records and not taken.is_full:
            limits = taken.limits
            left, room = limits.max_records - taken.records, limits.max_bytes - taken.size
            found = await self.reading.opened(data.records, offset, left, room, data.aborted_transactions)
            if found.next_offset > offset:
                taken.take(ReadPortion(place, found.records, found.next_offset))

    async def edge(self, place: Place, reset: Reset) -> int:
        """The first or the next offset of a partition."""
        topic, index = place
        times_ms = {index: EARLIEST if reset is Reset.EARLIEST else LATEST}
        found = await self.reading.offsets(self.guest, topic, times_ms, committed=False)
        return found[index]


def _size(record: ReadRecord) -> int:
    size = len(record.key or b"") + len(record.value or b"")
    return size + sum(len(name) + len(value or b"") for name, value in record.headers)
