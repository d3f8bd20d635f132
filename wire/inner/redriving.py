"""Dead letters sent again for a door's caller, each exactly once.

The copies of some letters and the ledger's record of them (`coordinators/letters/ledger.py`) are one transaction, of
the same transactional id as the command line's: so whoever began earlier is fenced, and what the ledger says once that
is done is all that was ever sent. Everything is asked for in the caller's name. A call looks at a bounded number of
letters, and says whether there are more.
"""

from collections import defaultdict
from collections.abc import Collection
from contextlib import AsyncExitStack, suppress

import msgspec
from attrs import define, field, frozen

from coordinators.access.callers import Caller
from coordinators.letters.ledger import CONFIGS, OPEN, REDRIVEN, Ledger, ledger_of, transactional_id
from coordinators.letters.letter import DeadLetter, resent_headers
from coordinators.topic_view import Topic
from engine.clock import Clock
from engine.errors import BrokerError, TopicAlreadyExists, UnknownTopicOrPartition
from engine.ids import id_text
from wire.inner.asking import InnerClient
from wire.inner.producer import ProducerWanted, TransactionalProducer
from wire.inner.reading import EARLIEST, LATEST
from wire.inner.records import Header, NewRecord, ReadRecord
from wire.inner.residents import Residents
from wire.kafka.calls import Guest
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

MOST_LOOKED_AT = 10_000
TOGETHER_BYTES = 4 << 20
TIMEOUT_MS = 30_000
RUN_BYTES = 8
NO_TARGET, GONE = "it does not say where it came from", "its record is gone from the topic it came from"
OUTSIDE = "it says that it came from another tenant's topic, which whoever may write letters can say: name where to"
Place = tuple[int, int]
"""Partition and offset."""


class LetterAt(msgspec.Struct, frozen=True):
    """A record of a dead-letter topic, with its place."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


@frozen
class WantedLetters:
    """Which letters: those of a reason, or of places, so many at most; `to` is None where they came from."""

    count_max: int
    reason: str | None = None
    places: Collection[Place] | None = None
    to: str | None = None

    def takes(self, letter: DeadLetter) -> bool:
        """Whether this one is meant."""
        record = letter.record
        if self.places is not None and (record.partition, record.offset) not in self.places:
            return False
        return self.reason is None or (letter.told("error") or "") == self.reason


@frozen
class Copy:
    """A letter, and what is sent in its place; `left` says why nothing is."""

    letter: DeadLetter
    target: str | None
    record: NewRecord | None = None
    left: str | None = None


@define
class Found:
    """What is to be done with the letters that were looked at."""

    copies: list[Copy] = field(factory=list)
    before: int = 0
    """Settled earlier."""
    has_more: bool = False
    looked_at: int = 0
    size: int = 0

    @property
    def is_enough(self) -> bool:
        """Whether it is as much as one call deals with."""
        return self.looked_at >= MOST_LOOKED_AT or self.size >= TOGETHER_BYTES


@define(eq=False)
class Redriving:
    """Deals with the letters of one topic, on behalf of one caller."""

    inner: InnerClient
    residents: Residents
    clock: Clock
    guest: Guest
    topic: str
    wanted: WantedLetters
    run: str
    _targets: dict[str, Topic | None] = field(factory=dict, init=False)

    async def plan(self, ledger: Ledger) -> Found:
        """What is to be sent where."""
        found = Found()
        starts, ends = await self._bounds(self.topic)
        for partition, start in starts.items():
            first = ledger.partitions[partition].first_open(start)
            if not await self._plan_partition(partition, first, ends[partition], ledger, found):
                found.has_more = True
                break
        return found

    async def _plan_partition(self, partition: int, offset: int, end: int, ledger: Ledger, found: Found) -> bool:
        """Whether all of it was looked at."""
        while offset < end:
            read = await self.residents.reading.read(self.guest, self.topic, partition, offset)
            for record in read.records:
                if len(found.copies) >= self.wanted.count_max or found.is_enough:
                    return False
                letter = _letter(self.topic, partition, record)
                found.looked_at += 1
                if not self.wanted.takes(letter):
                    continue
                if ledger.partitions[partition].state(record.offset) != OPEN:
                    found.before += 1
                    continue
                found.copies.append(await self._copy(letter))
                found.size += len(record.value or b"")
            if read.next_offset <= offset:
                break
            offset = read.next_offset
        return True

    async def _bounds(self, topic: str) -> tuple[dict[int, int], dict[int, int]]:
        known = await self.inner.known_topic(self.guest, topic)
        indexes = range(known.partition_count)
        offsets = self.residents.reading.offsets
        starts = await offsets(self.guest, topic, dict.fromkeys(indexes, EARLIEST))
        return starts, await offsets(self.guest, topic, dict.fromkeys(indexes, LATEST))

    async def _copy(self, letter: DeadLetter) -> Copy:
        target = self.wanted.to or letter.origin
        if target is None:
            return Copy(letter, None, left=NO_TARGET)
        if target in (self.topic, ledger_of(self.topic)):
            return Copy(letter, target, left=f"{target} is where it lies, or the ledger of that")
        if self.wanted.to is None and self._owner(target) != self._owner(self.topic):
            return Copy(letter, target, left=OUTSIDE)
        found = await self._target(target)
        if found is None:
            return Copy(letter, target, left=f"there is no topic {target}, or you may not know of it")
        whole = await self._whole(letter) if letter.is_bare else letter
        if whole is None:
            return Copy(letter, target, left=GONE)
        record, headers = whole.record, resent_headers(whole, self.run)
        partition = _partition(letter, target, found.partition_count)
        return Copy(letter, target, NewRecord(key=record.key, value=record.value, headers=headers, partition=partition))

    def _owner(self, name: str) -> str | None:
        """The tenant in whose namespace a topic is."""
        row = self.inner.topics.tenants.owner(self.inner.calls.broker_name(self.guest, name))
        return None if row is None else row.name

    async def _target(self, name: str) -> Topic | None:
        if name not in self._targets:
            try:
                self._targets[name] = await self.inner.known_topic(self.guest, name)
            except BrokerError:
                self._targets[name] = None
        return self._targets[name]

    async def _whole(self, letter: DeadLetter) -> DeadLetter | None:
        """The record that a bare letter speaks of, with the letter's headers beside its own, while it is there."""
        topic, index, offset = (
            letter.named_origin,
            letter.number("origin_partition"),
            letter.number("origin_offset"),
        )
        if topic is None or index is None or offset is None:
            return None
        try:
            read = await self.residents.reading.read(self.guest, topic, index, offset, max_records=1)
        except BrokerError:
            return None
        record = next((each for each in read.records if each.offset == offset), None)
        if record is None:
            return None
        lies = letter.record
        headers = (*record.headers, *lies.headers)
        at = LetterAt(lies.topic, lies.partition, lies.offset, lies.timestamp_ms, record.key, record.value, headers)
        return DeadLetter(at)

    # -- the ledger

    async def read_ledger(self) -> Ledger:
        """What became of the letters so far."""
        known = await self.inner.known_topic(self.guest, self.topic)
        ledger, name = Ledger(id_text(known.topic_id)), ledger_of(self.topic)
        try:
            starts, ends = await self._bounds(name)
        except UnknownTopicOrPartition:
            return ledger
        for partition, offset in starts.items():
            while offset < ends[partition]:
                read = await self.residents.reading.read(self.guest, name, partition, offset)
                for record in read.records:
                    ledger.note(record.key, record.value)
                if read.next_offset <= offset:
                    break
                offset = read.next_offset
        return ledger

    async def make_ledger(self) -> None:
        """Make it, unless it is there."""
        configs = [CreatableTopicConfig(key, value) for key, value in CONFIGS.items()]
        wanted = CreatableTopic(ledger_of(self.topic), 1, -1, [], configs)
        answer = await self.inner.ask(self.guest, CreateTopicsRequest([wanted], TIMEOUT_MS))
        for each in answer.topics:
            error = broker_error(each.error_code, each.error_message or code_name(each.error_code))
            if each.error_code and not isinstance(error, TopicAlreadyExists):
                raise error

    # -- doing it

    async def settle(self, producer: TransactionalProducer, ledger: Ledger, copies: list[Copy]) -> None:
        """The copies, and what the ledger says of their letters, in one transaction."""
        by_target: dict[str, list[NewRecord]] = defaultdict(list)
        offsets: dict[int, list[int]] = defaultdict(list)
        for each in copies:
            if each.target is not None and each.record is not None:
                by_target[each.target].append(each.record)
                offsets[each.letter.record.partition].append(each.letter.record.offset)
        if not by_target:
            return
        marks = ledger.settle(offsets, REDRIVEN, self.run, self.clock.now_ms())
        by_target[ledger_of(self.topic)] = [NewRecord(key=key, value=value, partition=0) for key, value in marks]
        await producer.begin()
        for target, records in by_target.items():
            for outcome in await producer.publish(target, records):
                if isinstance(outcome, BrokerError):
                    raise outcome
        await producer.end(committed=True)


async def redriven(
    inner: InnerClient,
    residents: Residents,
    clock: Clock,
    caller: Caller,
    door: str,
    topic: str,
    wanted: WantedLetters,
    *,
    dry_run: bool,
) -> tuple[str, Found]:
    """Send letters again, or only tell what would be sent where; the name of the run, and what was found."""
    run = residents.random_bytes(RUN_BYTES).hex()
    async with AsyncExitStack() as stack:
        guest = stack.enter_context(inner.guest(caller, door))
        redriving = Redriving(inner, residents, clock, guest, topic, wanted, run)
        await inner.known_topic(guest, topic)
        producer = None
        if not dry_run:
            await redriving.make_ledger()
            producer = await residents.producers.init(caller, door, ProducerWanted(transactional_id(topic)))
            stack.push_async_callback(_closed, producer)
        # Read once there is no other run any more.
        ledger = await redriving.read_ledger()
        found = await redriving.plan(ledger)
        if producer is not None:
            await redriving.settle(producer, ledger, found.copies)
        return run, found


async def _closed(producer: TransactionalProducer) -> None:
    """It is done; what it left open is aborted. Another one may have taken its place."""
    with suppress(BrokerError):
        await producer.close()


def _letter(topic: str, partition: int, record: ReadRecord) -> DeadLetter:
    at = LetterAt(topic, partition, record.offset, record.timestamp_ms, record.key, record.value, tuple(record.headers))
    return DeadLetter(at)


def _partition(letter: DeadLetter, target: str, count: int) -> int | None:
    """The one it came from, where it goes back; else by its key (None)."""
    known = letter.number("origin_partition") if target == letter.origin else None
    if known is not None and known < count:
        return known
    return letter.record.partition % count if letter.record.key is None else None
