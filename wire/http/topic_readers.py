"""A reader of a topic over HTTP: where it is in each partition, and what comes next.

Where it is can be written as text, `0:12,1:7`, and read again: so a caller goes on where it was, also after its
connection was lost.
"""

import re
from http import HTTPStatus

from attrs import define

from engine.errors import OffsetOutOfRange, UnknownTopicOrPartition
from wire.http.problems import Problem
from wire.http.record_filters import RecordFilter
from wire.inner.asking import InnerClient
from wire.inner.reading import EARLIEST, LATEST, RecordReading
from wire.inner.records import ReadRecord
from wire.kafka.calls import Guest

EARLIEST_TEXT, LATEST_TEXT = "earliest", "latest"
MOST_POSITIONS = 10_000
READ_RECORDS, READ_BYTES = 500, 256 * 1024
"""At a time: what one reader holds in memory."""

_POSITIONS = re.compile(r"[0-9]{1,10}:[0-9]{1,18}(,[0-9]{1,10}:[0-9]{1,18})*")
_OFFSET = re.compile(r"[0-9]{1,18}")

Located = tuple[int, ReadRecord]
"""A record, and its partition."""


@define(eq=False)
class TopicReader:
    """See the module."""

    reading: RecordReading
    guest: Guest
    topic: str
    positions: dict[int, int]
    committed: bool = True
    wanted: RecordFilter | None = None
    goes_on: bool = False
    """Whether it follows the topic: then it goes on where there is something, should what comes next be gone."""

    @property
    def place(self) -> str:
        """Where it is, as text."""
        return ",".join(f"{partition}:{offset}" for partition, offset in sorted(self.positions.items()))

    async def next(self, wait_s: float, most: int = READ_RECORDS, most_bytes: int = READ_BYTES) -> list[Located]:
        """What comes next, at most so much; nothing if nothing came in time, or nothing of it was wanted."""
        try:
            found = await self.reading.read_many(
                self.guest,
                self.topic,
                self.positions,
                max_bytes=most_bytes,
                max_records=most,
                wait_s=wait_s,
                committed=self.committed,
            )
        except OffsetOutOfRange:
            if not self.goes_on:
                raise
            await self._begin_anew()
            return []
        records: list[Located] = []
        for partition, read in found.items():
            # At the end of the dict: next time it comes last, so that a busy one keeps no other back.
            del self.positions[partition]
            self.positions[partition] = read.next_offset
            records += [(partition, record) for record in read.records if self._wants(record)]
        return records

    def _wants(self, record: ReadRecord) -> bool:
        return self.wanted is None or self.wanted.holds(record)

    async def _begin_anew(self) -> None:
        """What it was to read next is gone, or is not there: it goes on with what there is."""
        times = dict.fromkeys(self.positions, EARLIEST)
        first = await self.reading.offsets(self.guest, self.topic, times, committed=self.committed)
        last = await self.reading.offsets(
            self.guest, self.topic, dict.fromkeys(self.positions, LATEST), committed=False
        )
        for partition, offset in self.positions.items():
            if not first[partition] <= offset <= last[partition]:
                self.positions[partition] = first[partition]


@define(eq=False)
class TopicReaders:
    """Finds out where a reader begins."""

    inner: InnerClient
    reading: RecordReading

    async def begin(
        self,
        guest: Guest,
        topic: str,
        partition: int | None,
        at: str,
        time_ms: int | None,
        *,
        committed: bool,
        wanted: RecordFilter | None = None,
        goes_on: bool = False,
    ) -> TopicReader:
        """A reader of a partition, or of all, from a time or a place on."""
        found = await self.inner.known_topic(guest, topic)
        if partition is not None and partition >= found.partition_count:
            raise UnknownTopicOrPartition(f"{topic} has partitions 0 to {found.partition_count - 1}, not {partition}")
        partitions = list(range(found.partition_count)) if partition is None else [partition]
        positions = await self._positions(guest, topic, partitions, at, time_ms, committed=committed)
        return TopicReader(self.reading, guest, topic, positions, committed, wanted, goes_on)

    async def _positions(
        self, guest: Guest, topic: str, partitions: list[int], at: str, time_ms: int | None, *, committed: bool
    ) -> dict[int, int]:
        if time_ms is None and _OFFSET.fullmatch(at):
            if len(partitions) > 1:
                raise _wrong("an offset alone is one partition's: name the partition, or every position like 0:12,1:7")
            return {partitions[0]: int(at)}
        positions = {} if time_ms is not None or at in (EARLIEST_TEXT, LATEST_TEXT) else _parsed(at)
        if not set(positions) <= set(partitions):
            raise _wrong(f"{at} names partitions that are not read")
        missing = [each for each in partitions if each not in positions]
        begin_ms = time_ms if time_ms is not None else LATEST if at == LATEST_TEXT else EARLIEST
        times = dict.fromkeys(missing, begin_ms)
        return positions | await self.reading.offsets(guest, topic, times, committed=committed)


def _parsed(text: str) -> dict[int, int]:
    if not _POSITIONS.fullmatch(text) or text.count(",") >= MOST_POSITIONS:
        raise _wrong(f"{text[:60]!r} is no offset: earliest, latest, a number, or positions like 0:12,1:7")
    pairs = (each.split(":") for each in text.split(","))
    return {int(partition): int(offset) for partition, offset in pairs}


def _wrong(detail: str) -> Problem:
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
