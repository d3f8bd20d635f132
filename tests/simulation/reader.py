"""Readers of a simulation: whole partitions as a consumer of committed records sees them."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import trio
from attrs import define, field

from engine.records.layout import RecordSpan, record_section, split_batches, walk_records
from tests.simulation.client import Disconnected, SimulatedClient
from tests.simulation.history import History, Place
from tests.simulation.running import sleep
from wire.kafka.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from wire.kafka.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

FETCH, LIST_OFFSETS = 1, 2
COMMITTED = 1
LATEST = -1
FETCHED_BYTES = 4096
GIVE_UP_S = 60.0
AGAIN_S = 0.05

Describe = Callable[[RecordSpan], str]


def value_of(span: RecordSpan) -> str:
    """Records are known by their values, mostly."""
    return bytes(span.value or b"").decode()


async def end_of(client: SimulatedClient, place: Place, history: History, *, committed: bool = True) -> int:
    """The last stable offset, or the end for who reads everything."""
    while True:
        try:
            epoch = await client.epoch_of(place)
            wanted = ListOffsetsPartition(partition_index=place[1], timestamp=LATEST, current_leader_epoch=epoch)
            topics = [ListOffsetsTopic(place[0], [wanted])]
            request = ListOffsetsRequest(replica_id=-1, isolation_level=COMMITTED if committed else 0, topics=topics)
            answer = await client.ask(LIST_OFFSETS, 6, request, place)
        except Disconnected:
            continue
        found = answer.topics[0].partitions[0]
        if found.error_code == 0:
            offset: int = found.offset
            if not committed:
                history.told_end(place, offset)
            return offset
        await client.again(place, AGAIN_S)


@define(eq=False)
class Follower:
    """Reads a partition while it is written, as a consumer does, and checks that nothing comes before its time. Now
    and then it asks for the end, which must not go back."""

    client: SimulatedClient
    history: History
    chance: random.Random
    place: Place
    asks_for_end: float = 0.0
    """How often, as a share."""
    seen: list[str] = field(factory=list, init=False)
    _end: int = field(default=0, init=False)

    async def run(self) -> None:
        """For ever."""
        position = 0
        while True:
            following, found = await fetch(self.client, self.place, position)
            self.history.note("follows", self.place, position, len(found))
            if following == position:
                await sleep(self.chance.random() * AGAIN_S)
            position = following
            self.seen += found.values()
            self.history.saw(self.place, found)
            if self.asks_for_end and self.chance.random() < self.asks_for_end:
                await self._ask_for_end()

    async def _ask_for_end(self) -> None:
        end = await end_of(self.client, self.place, self.history, committed=False)
        self.history.note("follows", self.place, "end", end)
        if end < self._end:
            self.history.wrong("end went back", f"{self.place}: {end} after {self._end}")
        self._end = end


async def read_all(
    client: SimulatedClient, place: Place, history: History, describe: Describe = value_of
) -> dict[int, str]:
    """The marks of all committed records of a partition by offset, up to its end as it is now."""
    position, end = 0, await end_of(client, place, history)
    marks: dict[int, str] = {}
    deadline = trio.current_time() + GIVE_UP_S
    while position < end:
        if trio.current_time() > deadline:
            history.wrong("stuck", f"{place} at {position} before {end}")
            break
        following, found = await fetch(client, place, position, describe)
        marks |= found
        history.saw(place, found)
        if following < position:
            history.wrong("went back", f"{place}: {following} after {position}")
            break
        if following == position:
            await sleep(AGAIN_S)
        position = following
    return marks


async def fetch(
    client: SimulatedClient, place: Place, offset: int, describe: Describe = value_of
) -> tuple[int, dict[int, str]]:
    """Where to go on, and the committed records from `offset` that one answer holds."""
    try:
        epoch = await client.epoch_of(place)
        wanted = FetchPartition(
            partition=place[1], fetch_offset=offset, partition_max_bytes=FETCHED_BYTES, current_leader_epoch=epoch
        )
        topics = [FetchTopic(topic=place[0], partitions=[wanted])]
        request = FetchRequest(
            max_wait_ms=100, min_bytes=1, max_bytes=FETCHED_BYTES, isolation_level=COMMITTED, topics=topics
        )
        answer = await client.ask(FETCH, 11, request, place)
    except Disconnected:
        return offset, {}
    found = answer.responses[0].partitions[0]
    if found.error_code != 0 and client.others:
        await client.again(place)
    if found.error_code != 0 or not found.records:
        return offset, {}
    return _committed(bytes(found.records), offset, found.aborted_transactions or (), describe)


def _committed(data: bytes, offset: int, aborted: Sequence[Any], describe: Describe) -> tuple[int, dict[int, str]]:
    """Where to go on, and the values of records from `offset` that are not of aborted transactions."""
    begins = sorted(((one.first_offset, one.producer_id) for one in aborted), reverse=True)
    dropped: set[int] = set()
    following, marks = offset, {}
    for header, batch in _batches(data):
        while begins and begins[-1][0] <= header.last_offset:
            dropped.add(begins.pop()[1])
        following = max(following, header.next_offset)
        if header.is_control:
            dropped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in dropped):
            section = record_section(header, batch)
            spans = walk_records(section, header.record_count)
            for span in spans:
                if header.base_offset + span.offset_delta >= offset:
                    marks[header.base_offset + span.offset_delta] = describe(span)
    return following, marks


def _batches(data: bytes) -> Iterator[Any]:
    """The whole batches; what is cut off at the end is left for the next fetch."""
    position = 0
    while len(data) - position > 12:
        size = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
        if position + size > len(data):
            return
        yield from split_batches(data[position : position + size])
        position += size
