"""Transactions that are written, ended, compacted, crashed and recovered at random, against a list of what happened.

Always: who reads committed records finds the latest committed value of every key and nothing that was aborted; the
log knows of its producers what the list says, also when it has to be read anew from its first batch.
"""

import random
from itertools import pairwise

from attrs import evolve, frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.cleaner.offset_map import ENTRY_OVERHEAD
from engine.log.aborted_index import AbortedTransaction
from engine.records.layout import BatchHeader, parse_header
from tests.engine.cleaner.world import COMPACT, Seen, World
from tests.engine.logs import read_at

RETENTION_MS = 1000
PRODUCERS = (1, 2, 3)
NOBODY = -1
UNDECIDED = -1
CONFIG = evolve(COMPACT, segment_bytes=600, delete_retention_ms=RETENTION_MS, min_cleanable_dirty_ratio=0)
Keys = list[tuple[int, bool]]
keys_strategy = st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=3)


@frozen
class Event:
    """A batch of records, or a marker: then it says how the transaction ended."""

    offset: int
    producer_id: int
    epoch: int
    records: tuple[Seen, ...] = ()
    numbered: bool = False
    committed: bool | None = None
    coordinator_epoch: int = -1


@frozen
class Producer:
    """What is known of a producer."""

    epoch: int
    last_sequence: int = -1
    coordinator_epoch: int = -1
    first_open: int = -1


class TransactionCleaningMachine(RuleBasedStateMachine):
    """The partition, the cleaner, and the list."""

    @initialize(map_entries=st.sampled_from([2, 5, 1000]))
    def start(self, map_entries: int) -> None:
        self.world = World(CONFIG)
        self.world.map_bytes = map_entries * ENTRY_OVERHEAD
        self.world.cleaner = self.world.make_cleaner()
        self.events: list[Event] = []
        self.cleanings_ms: list[tuple[int, int]] = []
        self.deleted_to = 0

    # -- what happens

    @rule(keys=keys_strategy)
    def write(self, keys: Keys) -> None:
        records = self.new_records(keys)
        self.world.write(*((record.key, record.value) for record in records))
        self.events.append(Event(records[0].offset, NOBODY, -1, records))

    @rule(
        producer_id=st.sampled_from(PRODUCERS),
        keys=keys_strategy,
        codec=st.sampled_from(["uncompressed", "lz4"]),
        numbered=st.booleans(),
    )
    def write_in_transaction(self, producer_id: int, keys: Keys, codec: str, numbered: bool) -> None:
        records = self.new_records(keys)
        epoch = self.producers().get(producer_id, Producer(0)).epoch
        pairs = ((record.key, record.value) for record in records)
        self.world.write_in_transaction(producer_id, *pairs, epoch=epoch, codec=codec, numbered=numbered)
        self.events.append(Event(records[0].offset, producer_id, epoch, records, numbered))

    @rule(producer_id=st.sampled_from(PRODUCERS), committed=st.booleans(), bump=st.booleans(), step=st.integers(0, 1))
    def end(self, producer_id: int, committed: bool, bump: bool, step: int) -> None:
        """Also of a transaction without records. By version 2 the marker has the next epoch."""
        producer = self.producers().get(producer_id, Producer(0))
        event = Event(
            self.world.log.end_offset,
            producer_id,
            producer.epoch + bump,
            committed=committed,
            coordinator_epoch=max(producer.coordinator_epoch, 0) + step,
        )
        self.world.end_transaction(
            producer_id, committed=committed, epoch=event.epoch, coordinator_epoch=event.coordinator_epoch
        )
        self.events.append(event)

    @rule(producer_id=st.sampled_from(PRODUCERS), key=st.integers(0, 4), numbered=st.booleans())
    def many_transactions(self, producer_id: int, key: int, numbered: bool) -> None:
        for number in range(6):
            self.write_in_transaction(producer_id, [(key, False)], "uncompressed", numbered)
            self.end(producer_id, number % 3 != 2, False, 0)

    def new_records(self, keys: Keys) -> tuple[Seen, ...]:
        end, now_ms = self.world.log.end_offset, self.world.clock.now_ms()
        return tuple(
            Seen(end + n, b"key-%d" % key, None if tombstone else b"%d:" % (end + n) + b"x" * 30, now_ms)
            for n, (key, tombstone) in enumerate(keys)
        )

    @rule()
    def roll(self) -> None:
        self.world.roll()

    @rule(duration_ms=st.sampled_from([1, 400, RETENTION_MS]))
    def wait(self, duration_ms: int) -> None:
        self.world.clock.advance_ms(duration_ms)

    @rule()
    def compact(self) -> None:
        self.cleanings_ms.append((self.world.log.end_offset, self.world.clock.now_ms()))
        self.world.compact()

    @rule(share=st.floats(0, 0.3))
    def delete_records(self, share: float) -> None:
        log = self.world.log
        offset = log.start_offset + int(share * (self.world.partition.last_stable_offset - log.start_offset))
        log.delete_records(offset)
        self.deleted_to = max(self.deleted_to, offset)

    @rule(seed=st.integers(0, 1000), call=st.integers(1, 80))
    def crash(self, seed: int, call: int) -> None:
        """Power is lost at some file operation of the cleaner, or after it. What was written before was synced."""
        world = self.world
        end, known = world.log.end_offset, self.known()
        self.cleanings_ms.append((end, world.clock.now_ms()))
        world.files.fail_at(call, 5, times=100_000)
        world.cleaner.compact()
        assert world.cleaner.idle
        world.files.crash(random.Random(seed) if seed % 3 else None)
        self.world = world.reopened()
        assert self.world.log.end_offset == end
        assert self.known() == known

    @rule(suffixes=st.sampled_from([(".index",), (".snapshot",), (".index", ".snapshot")]))
    def read_anew(self, suffixes: tuple[str, ...]) -> None:
        """Recovery has to do without its short cuts. What was deleted takes with it what only it told of producers."""
        if not self.deleted_to:
            known = self.known()
            self.world.files.crash(None)
            self.world.forget(*suffixes)
            self.world = self.world.reopened()
            assert self.known() == known

    @rule()
    def clean_thoroughly(self) -> None:
        """Two passes past the horizon: the markers of transactions without batches are gone."""
        for producer_id, producer in self.producers().items():
            if producer.first_open >= 0:
                self.end(producer_id, True, False, 0)
        for _ in range(3):
            self.world.clock.advance_ms(RETENTION_MS)
            self.write([(0, False)])
            self.roll()
            self.compact()
        with_batches = set(self.batches_by_marker())
        assert set(self.world.markers()) <= with_batches | self.last_markers()
        assert {each.last_offset for each in self.aborted()} <= with_batches
        committed = {record.offset for event in self.committed_events() for record in event.records}
        assert {record.offset for record in self.world.records()} <= committed | set(self.world.markers())

    # -- what the list says

    def producers(self) -> dict[int, Producer]:
        found: dict[int, Producer] = {}
        for event in self.events:
            if event.producer_id == NOBODY:
                continue
            producer = found.get(event.producer_id, Producer(event.epoch))
            if producer.epoch != event.epoch:
                producer = evolve(producer, epoch=event.epoch, last_sequence=-1)
            if event.records:
                first = event.offset if producer.first_open < 0 else producer.first_open
                sequence = producer.last_sequence + (len(event.records) if event.numbered else 0)
                found[event.producer_id] = evolve(producer, first_open=first, last_sequence=sequence)
            else:
                found[event.producer_id] = evolve(producer, first_open=-1, coordinator_epoch=event.coordinator_epoch)
        return found

    def last_markers(self) -> set[int]:
        return set({event.producer_id: event.offset for event in self.events if not event.records}.values())

    def marker_of(self) -> dict[int, int]:
        """Where the transaction of each batch ended."""
        found: dict[int, int] = {}
        opened: dict[int, list[int]] = {}
        for event in self.events:
            if event.records:
                opened.setdefault(event.producer_id, []).append(event.offset)
            else:
                found |= dict.fromkeys(opened.pop(event.producer_id, []), event.offset)
        return dict.fromkeys((offset for offsets in opened.values() for offset in offsets), UNDECIDED) | found

    def committed_events(self) -> list[Event]:
        """What readers of committed records may be shown."""
        undecided: dict[int, list[Event]] = {}
        found: list[Event] = []
        for event in self.events:
            if event.producer_id == NOBODY:
                found.append(event)
            elif event.records:
                undecided.setdefault(event.producer_id, []).append(event)
            else:
                ended = undecided.pop(event.producer_id, [])
                found.extend(ended if event.committed else ())
        end = self.world.partition.last_stable_offset
        return sorted((event for event in found if event.offset < end), key=lambda event: event.offset)

    # -- what the log says

    def known(self) -> dict[int, Producer]:
        return {
            each.producer_id: Producer(
                each.epoch, each.last_sequence, each.coordinator_epoch, each.transaction_start_offset
            )
            for each in self.world.log.producers()
        }

    def aborted(self) -> list[AbortedTransaction]:
        return self.world.log.aborted_transactions(self.world.log.start_offset, self.world.log.end_offset)

    def stored(self) -> list[BatchHeader]:
        """Also what lies before the log's start, as long as its segment does."""
        return [header for segment in self.world.log.segments for _, header in segment.batches_by_time(-1)]

    def batches_by_marker(self) -> dict[int, list[int]]:
        """The transactions of which the log still holds batches, be they empty: as whoever reads it anew sees them."""
        found: dict[int, list[int]] = {}
        opened: dict[int, list[int]] = {}
        for header in self.stored():
            if header.is_control and header.record_count:
                if header.producer_id in opened:
                    found[header.base_offset] = opened.pop(header.producer_id)
            elif header.is_transactional:
                opened.setdefault(header.producer_id, []).append(header.base_offset)
        found[UNDECIDED] = sorted(offset for offsets in opened.values() for offset in offsets)
        return found

    # -- what holds

    @invariant()
    def the_latest_committed_value_of_every_key_is_read(self) -> None:
        written = {record.offset: record for event in self.committed_events() for record in event.records}
        seen = self.world.committed()
        assert [record.offset for record in seen] == sorted({record.offset for record in seen})
        assert all(written.get(record.offset) == record for record in seen)
        latest = {record.key: record for record in written.values()}
        offsets = {record.offset for record in seen}
        assert all(record.offset in offsets or self.may_be_gone(record) for record in latest.values())

    def may_be_gone(self, record: Seen) -> bool:
        now_ms = self.world.clock.now_ms()
        seen_ms = next((time_ms for upto, time_ms in self.cleanings_ms if upto > record.offset), now_ms)
        is_old_tombstone = record.value is None and now_ms >= seen_ms + RETENTION_MS
        return record.offset < self.deleted_to or is_old_tombstone

    @invariant()
    def a_reader_sees_the_same_from_anywhere_in_any_pieces(self) -> None:
        start, end = self.world.log.start_offset, self.world.partition.last_stable_offset
        whole = self.world.committed(max_bytes=1 << 20)
        assert whole == self.world.committed()
        for offset in {start + (end - start) * part // 4 for part in range(4)}:
            later = [record for record in whole if record.offset >= offset]
            assert self.world.committed(offset, max_bytes=300) == later

    @invariant()
    def producers_are_known(self) -> None:
        assert self.known() == self.producers()

    @invariant()
    def the_last_stable_offset_is_where_the_first_open_transaction_begins(self) -> None:
        opened = [producer.first_open for producer in self.producers().values() if producer.first_open >= 0]
        assert self.world.partition.last_stable_offset == min([*opened, self.world.log.end_offset])

    @invariant()
    def every_batch_is_followed_by_its_own_marker(self) -> None:
        expected = self.marker_of()
        for marker, offsets in self.batches_by_marker().items():
            assert {expected[offset] for offset in offsets} <= {marker}

    @invariant()
    def every_aborted_transaction_with_batches_has_its_entry(self) -> None:
        start = self.world.log.start_offset
        aborted = {event.offset for event in self.events if event.committed is False and event.offset >= start}
        entries = {each.last_offset for each in self.aborted()}
        assert aborted & set(self.batches_by_marker()) <= entries <= set(self.world.markers())

    @invariant()
    def the_segments_tile_the_offsets(self) -> None:
        log = self.world.log
        for segment, after in pairwise(log.segments):
            *_, (_, last) = segment.batches_by_time(-1)
            assert last.next_offset == after.base_offset
        for offset in range(log.start_offset, log.end_offset):
            assert parse_header(read_at(log, offset)).last_offset >= offset


TransactionCleaningMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, report_multiple_bugs=False
)
TestTransactionCleaning = TransactionCleaningMachine.TestCase
