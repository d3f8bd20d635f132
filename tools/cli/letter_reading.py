"""Dead letters as they are read: a stretch of a topic, its ledger, and what comes back after a redrive."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from attrs import define, field

from coordinators.letters.ledger import Ledger
from coordinators.letters.letter import RUN
from engine.ids import id_text
from tools.cli.answers import Answers
from tools.cli.dead_letters import DeadLetter
from tools.cli.errors import CannotReach
from tools.cli.formats import Record
from tools.cli.kafka import Kafka, client_options, connected, reaching, stopped
from tools.cli.offsets import Place, bounds
from tools.cli.profiles import Profile
from tools.cli.reading import POLL_MS, record_of
from tools.cli.settlements import ledger_of

FETCH_BYTES = 1 << 20
STOP_S = 2.0
LOOK_S = 0.2


@define(eq=False)
class LetterReader:
    """Reads committed records without a group, of any partitions, one stretch after the other."""

    consumer: Any
    answers: Answers
    timeout_s: float

    async def between(self, starts: Mapping[Place, int], stops: Mapping[Place, int]) -> AsyncIterator[list[Record]]:
        """All records from the starts on and before the stops, in portions; those of a partition in order."""
        from aiokafka import TopicPartition

        wanted = {TopicPartition(*place): stops[place] for place in starts if starts[place] < stops[place]}
        if not wanted:
            return
        self.consumer.assign(list(wanted))
        for place in wanted:
            self.consumer.seek(place, starts[place.topic, place.partition])
        came_s = time.monotonic()
        while wanted:
            found = await self.consumer.getmany(*wanted, timeout_ms=POLL_MS)
            records = [record_of(each) for some in found.values() for each in some]
            if kept := [each for each in records if each.offset < stops[each.topic, each.partition]]:
                yield kept
            now_s = time.monotonic()
            if records:
                came_s = now_s
            for place in list(wanted):
                what = f"{place.topic}-{place.partition} gave nothing"
                if await self.answers.within(self.timeout_s, self.consumer.position(place), what) >= wanted[place]:
                    del wanted[place]
            if now_s - came_s > self.timeout_s:
                if self.answers.last is not None:
                    raise self.answers.given_up("no more of what is there was given", self.timeout_s)
                raise CannotReach("the broker has gone before all was read", "see 'tidegate status', and --timeout")


@asynccontextmanager
async def letter_reader(profile: Profile) -> AsyncIterator[LetterReader]:
    """A reader for the length of a block."""
    from aiokafka import AIOKafkaConsumer

    async with reaching(profile):
        consumer = AIOKafkaConsumer(
            **client_options(profile),
            isolation_level="read_committed",
            max_partition_fetch_bytes=FETCH_BYTES,
            auto_offset_reset="earliest",
        )
        answers = Answers()
        answers.listen(consumer._client)
        try:
            await answers.within(profile.timeout_s, consumer.start(), "the broker has not answered")
            yield LetterReader(consumer, answers, profile.timeout_s)
        finally:
            # A task of aiokafka's that is cancelled before its first step makes stop() fail: let them all begin.
            await asyncio.sleep(0)
            await stopped(consumer._client, consumer.stop(), STOP_S)


async def existing(kafka: Kafka, names: Iterable[str]) -> set[str]:
    """Those of the topics that there are."""
    wanted = sorted(set(names))
    found = (await kafka.metadata(wanted)).topics if wanted else []
    return {each.name or "" for each in found if not each.error_code}


async def read_ledger(kafka: Kafka, reader: LetterReader, topic: str) -> Ledger:
    """What became of the letters of a topic."""
    ledger, name = Ledger(id_text(bytes((await kafka.topic(topic)).topic_id))), ledger_of(topic)
    if not await existing(kafka, [name]):
        return ledger
    places = await bounds(kafka, [name], committed=True)
    starts, stops = ({place: each[index] for place, each in places.items()} for index in (0, 1))
    async for records in reader.between(starts, stops):
        for record in records:
            ledger.note(record.key, record.value)
    return ledger


@define(eq=False)
class Returns:
    """Watches dead-letter topics for what one run has sent: it carries the run's name."""

    kafka: Kafka
    reader: LetterReader
    run: str
    topics: set[str]
    """Where they may arrive; those that do not exist yet are watched from when they do."""
    count: int = 0
    _positions: dict[Place, int] = field(factory=dict)
    _began: bool = False

    async def begin(self) -> None:
        """Whatever is there now is none of it."""
        for place, (_, end) in (await bounds(self.kafka, await existing(self.kafka, self.topics))).items():
            self._positions[place] = end
        self._began = True

    async def look(self) -> int:
        """How many have come back so far."""
        assert self._began
        ends = await bounds(self.kafka, await existing(self.kafka, self.topics), committed=True)
        starts = {place: self._positions.get(place, begin) for place, (begin, _) in ends.items()}
        stops = {place: end for place, (_, end) in ends.items()}
        async for records in self.reader.between(starts, stops):
            self.count += sum(DeadLetter(each).last(RUN) == self.run.encode() for each in records)
        self._positions |= {place: max(starts[place], stop) for place, stop in stops.items()}
        return self.count

    async def look_for(self, span_s: float) -> int:
        """Look again and again until something has come back, or so long."""
        deadline = time.monotonic() + span_s
        while True:
            if await self.look() or time.monotonic() >= deadline:
                return self.count
            await asyncio.sleep(min(LOOK_S, span_s))


@asynccontextmanager
async def reading_letters(profile: Profile) -> AsyncIterator[tuple[Kafka, LetterReader]]:
    """A client and a reader for the length of a block."""
    async with connected(profile) as kafka, letter_reader(profile) as reader:
        yield kafka, reader
