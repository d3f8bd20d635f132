"""Letters sent again, or set aside for good, each exactly once.

The copies of some letters and the ledger's record of them are one transaction. A run first takes over the topic's
transactional id, which ends what an earlier one has left open, and reads the ledger after that: so what it finds there
is all that was ever sent. Where a run was killed the next one goes on.
"""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from attrs import define, evolve, field, frozen

from coordinators.letters.ledger import DISCARDED, OPEN, REDRIVEN, Ledger, Mark, transactional_id
from tools.cli.answers import HINTS, Answers
from tools.cli.dead_letters import DeadLetter, LetterFilter, Listed, Transform
from tools.cli.errors import CliError, Refused
from tools.cli.formats import Record
from tools.cli.kafka import Kafka, client_options, reaching, stopped
from tools.cli.letter_reading import LetterReader, Returns, existing
from tools.cli.offsets import Place, bounds
from tools.cli.profiles import Profile
from tools.cli.progress import Progress
from tools.cli.settlements import ledger_of

TOGETHER, TOGETHER_BYTES = 500, 4 << 20
TRANSACTION_TIMEOUT_MS = 60_000
STOP_S = 2.0
NO_TARGET, GONE = "it does not say where it came from", "its record is gone from the topic it came from"


def new_run() -> str:
    """A name for one run of the command."""
    return secrets.token_hex(8)


@frozen
class Chosen:
    """Which letters of a topic are meant."""

    filter: LetterFilter = field(factory=LetterFilter)
    listed: Mapping[tuple[int, int], Listed] | None = None
    """None: all that the filter takes."""
    count_max: int | None = None

    def takes(self, letter: DeadLetter) -> bool:
        """Whether this one is."""
        place = (letter.record.partition, letter.record.offset)
        return (self.listed is None or place in self.listed) and self.filter.takes(letter)

    def stretch(
        self, found: Mapping[Place, tuple[int, int]], ledger: Ledger
    ) -> tuple[dict[Place, int], dict[Place, int]]:
        """Between which offsets of each partition they lie: nothing before the first open one, or beside a list."""
        starts, stops = dict[Place, int](), dict[Place, int]()
        for place, (start, end) in found.items():
            if self.listed is not None:
                offsets = [offset for partition, offset in self.listed if partition == place[1]]
                start, end = max(start, min(offsets, default=end)), min(end, max(offsets, default=-1) + 1)
            starts[place] = ledger.partitions[place[1]].first_open(start)
            stops[place] = end
        return starts, stops


@frozen
class Copying:
    """What becomes of the letters: a copy of each is sent."""

    to: str | None = None
    """None: where it came from."""
    transform: Transform = field(factory=Transform)
    keeps_time: bool = False

    def target(self, letter: DeadLetter, listed: Listed) -> str | None:
        """The topic it goes to."""
        return self.to or listed.to or letter.origin

    def partition(self, letter: DeadLetter, target: str, listed: Listed, count: int) -> int | None:
        """The one it came from, where it goes back; else by its key (None)."""
        known = listed.partition if self.to is None else None
        if known is None and target == letter.origin:
            known = letter.number("origin_partition")
        if known is not None and known < count:
            return known
        return letter.record.partition % count if letter.record.key is None else None


@define
class Outcome:
    """What came of one topic's letters."""

    topic: str
    run: str
    settled: int = 0
    """Now, in this run."""
    before: int = 0
    """Settled earlier, and met again."""
    returned: int = 0
    is_stopped: bool = False
    by_target: Counter[tuple[str, str]] = field(factory=Counter)
    """By where they go, and why they were dead."""
    left: Counter[str] = field(factory=Counter)
    """Not sent, by why."""

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "topic": self.topic,
            "run": self.run,
            "settled": self.settled,
            "settled_before": self.before,
            "returned": self.returned,
            "stopped": self.is_stopped,
            "by_target": [
                {"to": target or None, "reason": reason or None, "letters": count}
                for (target, reason), count in sorted(self.by_target.items())
            ],
            "left": [{"why": why, "letters": count} for why, count in sorted(self.left.items())],
        }


@define(eq=False)
class Pace:
    """At most so many a second."""

    rate: float | None
    _next_s: float = 0.0

    @property
    def together(self) -> int:
        """How many may go at once: about a second's."""
        return TOGETHER if self.rate is None else max(1, min(TOGETHER, int(self.rate)))

    async def wait(self, count: int) -> None:
        """Until so many may go."""
        if self.rate is None:
            return
        now = time.monotonic()
        await asyncio.sleep(max(0.0, self._next_s - now))
        self._next_s = max(now, self._next_s) + count / self.rate


@frozen
class _Copy:
    letter: DeadLetter
    target: str
    partition: int | None


@define(eq=False)
class Settling:
    """Deals with the letters of one topic. Without a producer it only tells what it would do."""

    kafka: Kafka
    reader: LetterReader
    chosen: Chosen
    outcome: Outcome
    copying: Copying | None
    """None: they are discarded."""
    producer: Any = None
    answers: Answers = field(factory=Answers)
    pace: Pace = field(factory=lambda: Pace(None))
    returns: Returns | None = None
    _counts: dict[str, int] = field(factory=dict)
    _starts: dict[int, int] = field(factory=dict)
    """Where the partitions of the topic begin."""

    async def run(
        self, ledger: Ledger, found: Mapping[Place, tuple[int, int]], originals: LetterReader, shown: Progress
    ) -> None:
        """All letters that are meant and open."""
        self._starts = {index: start for (_, index), (start, _) in found.items()}
        starts, stops = self.chosen.stretch(found, ledger)
        shown.total = sum(max(0, stops[place] - starts[place]) for place in starts)
        waiting, size = list[_Copy](), 0
        async for records in self.reader.between(starts, stops):
            for record in records:
                if not self._wants(letter := DeadLetter(record), ledger) or self._is_full(len(waiting)):
                    continue
                copy = await self._copy(letter, originals)
                if copy is None:
                    continue
                waiting.append(copy)
                size += len(record.value or b"") + len(record.key or b"")
                if len(waiting) >= self.pace.together or size >= TOGETHER_BYTES:
                    if await self._settle(waiting, ledger):
                        return
                    waiting, size = [], 0
            shown.advance(len(records))
            if self._is_full(len(waiting)):
                break
        if waiting:
            await self._settle(waiting, ledger)

    def _is_full(self, more: int) -> bool:
        return self.chosen.count_max is not None and self.outcome.settled + more >= self.chosen.count_max

    def _wants(self, letter: DeadLetter, ledger: Ledger) -> bool:
        if not self.chosen.takes(letter):
            return False
        is_open = ledger.partitions[letter.record.partition].state(letter.record.offset) == OPEN
        self.outcome.before += not is_open
        return is_open

    async def _copy(self, letter: DeadLetter, originals: LetterReader) -> _Copy | None:
        """What is sent in place of a letter; None where it has to stay."""
        if self.copying is None:
            return _Copy(letter, "", None)
        record = letter.record
        listed = (self.chosen.listed or {}).get((record.partition, record.offset), Listed())
        target = self.copying.target(letter, listed)
        why = NO_TARGET if target is None else await self._refusal(target)
        if target is None or why is not None:
            self.outcome.left[why or NO_TARGET] += 1
            return None
        if letter.is_bare:
            whole = await _original(self.kafka, originals, letter)
            if whole is None:
                self.outcome.left[GONE] += 1
                return None
            letter = DeadLetter(whole)
        return _Copy(letter, target, self.copying.partition(letter, target, listed, self._counts[target]))

    async def _refusal(self, target: str) -> str | None:
        """Why nothing can go to a topic."""
        if target in (self.outcome.topic, ledger_of(self.outcome.topic)):
            return f"{target} is where it lies, or the ledger of that"
        if target not in self._counts:
            found = (await self.kafka.metadata([target])).topics
            self._counts[target] = 0 if not found or found[0].error_code else len(found[0].partitions)
        return None if self._counts[target] else f"there is no topic {target}"

    async def _settle(self, some: list[_Copy], ledger: Ledger) -> bool:
        """Have some letters settled in one transaction; whether it has to end here."""
        if self.producer is not None:
            await self.pace.wait(len(some))
            await self._transact(some, ledger)
        self.outcome.settled += len(some)
        for each in some:
            self.outcome.by_target[each.target, each.letter.told("error") or ""] += 1
        if self.returns is not None:
            self.outcome.returned = await self.returns.look()
            self.outcome.is_stopped = self.outcome.returned > 0
        return self.outcome.is_stopped

    async def _transact(self, some: list[_Copy], ledger: Ledger) -> None:
        from aiokafka.errors import KafkaError, ProducerFenced

        timeout_s = self.kafka.profile.timeout_s
        await self.producer.begin_transaction()
        try:
            sent = [await self._send(each) for each in some]
            for key, value in [*self._marks(some, ledger), *ledger.stale(self._starts)]:
                sent.append(await self.producer.send(ledger_of(self.outcome.topic), value, key=key, partition=0))
            await self.answers.within(timeout_s, _all(sent), "the copies have not arrived")
            await self.answers.within(timeout_s, self.producer.commit_transaction(), "the transaction has not ended")
        except BaseException as error:
            done = f"{self.outcome.settled} letters before it are settled; the same command goes on with the others"
            if isinstance(error, ProducerFenced):
                raise Refused(f"another run deals with {self.outcome.topic} now", done) from None
            with suppress(KafkaError, TimeoutError, asyncio.CancelledError, AssertionError):
                await asyncio.wait_for(self.producer.abort_transaction(), STOP_S)
            if isinstance(error, KafkaError) and (said := self.answers.last) is not None:
                raise Refused(f"copies were refused: {said}", HINTS.get(said.code, done), said.code) from error
            if isinstance(error, CliError):
                error.add(done)
            raise

    async def _send(self, copy: _Copy) -> Any:
        assert self.copying is not None or not copy.target
        if self.copying is None:
            return _nothing()
        record = copy.letter.record
        return await self.producer.send(
            copy.target,
            record.value,
            key=record.key,
            partition=copy.partition,
            timestamp_ms=record.timestamp_ms if self.copying.keeps_time else None,
            headers=self.copying.transform.headers(copy.letter, self.outcome.run),
        )

    def _marks(self, some: Iterable[_Copy], ledger: Ledger) -> list[Mark]:
        offsets = dict[int, list[int]]()
        for each in some:
            offsets.setdefault(each.letter.record.partition, []).append(each.letter.record.offset)
        what = DISCARDED if self.copying is None else REDRIVEN
        return ledger.settle(offsets, what, self.outcome.run, time.time_ns() // 1_000_000)


async def _nothing() -> None:
    return None


async def _all(sent: Iterable[Any]) -> None:
    for each in await asyncio.gather(*sent, return_exceptions=True):
        if isinstance(each, BaseException):
            raise each


async def _original(kafka: Kafka, reader: LetterReader, letter: DeadLetter) -> Record | None:
    """The record that a bare letter speaks of, with the letter's headers beside its own, while it is there."""
    topic, index, offset = (
        letter.named_origin,
        letter.number("origin_partition"),
        letter.number("origin_offset"),
    )
    if topic is None or index is None or offset is None or not await existing(kafka, [topic]):
        return None
    start, end = (await bounds(kafka, [topic], committed=True)).get((topic, index), (0, 0))
    if not start <= offset < end:
        return None
    async for records in reader.between({(topic, index): offset}, {(topic, index): offset + 1}):
        for record in records:
            if record.offset == offset:
                headers = record.headers + letter.record.headers
                return evolve(letter.record, key=record.key, value=record.value, headers=headers)
    return None


@asynccontextmanager
async def settling_producer(profile: Profile, topic: str, answers: Answers) -> AsyncIterator[Any]:
    """Whoever deals with a topic's letters; from here on there is no other."""
    from aiokafka import AIOKafkaProducer
    from aiokafka.errors import KafkaError

    async with reaching(profile, topic):
        producer = AIOKafkaProducer(
            **client_options(profile),
            transactional_id=transactional_id(topic),
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
            # No letter is too large to be sent back to where it was.
            max_request_size=1 << 30,
        )
        answers.listen(producer.client)
        try:
            await answers.within(profile.timeout_s, producer.start(), "no transaction could begin")
            yield producer
        finally:
            await asyncio.sleep(0)
            # Whatever it says now: all that counts was committed, and one that was fenced cannot end well.
            with suppress(KafkaError):
                await stopped(producer.client, producer.stop(), STOP_S)
