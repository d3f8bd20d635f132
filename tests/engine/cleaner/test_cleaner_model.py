"""A log that is written, compacted, aged, cut off and crashed at random, against a list of what was written.

Always: what is read was written, at its offset and with its time, in order. The latest record of every key is there,
unless it was deleted, is too old for retention, or is a tombstone that was seen long enough.
"""

import random
from itertools import pairwise

from attrs import evolve, frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.cleaner.offset_map import ENTRY_OVERHEAD
from engine.records.compression import CODECS, compress
from engine.records.layout import build_batch, parse_header, seal_batch
from tests.engine.cleaner.world import COMPACT, Seen, World
from tests.engine.logs import read_at

DELETE_RETENTION_MS = 1000
RETENTION_MS = 10_000
PRODUCER = 7


@frozen
class Written:
    """A record of the model."""

    record: Seen
    batch_end: int


class CleanerMachine(RuleBasedStateMachine):
    """The partition, the cleaner, and the model."""

    @initialize(both=st.booleans(), map_entries=st.sampled_from([2, 5, 1000]))
    def start(self, both: bool, map_entries: int) -> None:
        config = evolve(
            COMPACT,
            segment_bytes=600,
            cleanup_delete=both,
            retention_ms=RETENTION_MS,
            delete_retention_ms=DELETE_RETENTION_MS,
            min_cleanable_dirty_ratio=0.01,
        )
        self.world = World(config)
        self.world.map_bytes = map_entries * ENTRY_OVERHEAD
        self.world.cleaner = self.world.make_cleaner()
        self.written: list[Written] = []
        self.cleanings_ms: list[tuple[int, int]] = []
        self.deleted_to = 0
        self.sequence = 0
        self.random = random.Random(1)

    # -- what happens

    @rule(
        keys=st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=4),
        codec=st.sampled_from(["uncompressed", "uncompressed", "zstd"]),
        idempotent=st.booleans(),
        shift_ms=st.integers(-500, 0),
        synced=st.booleans(),
    )
    def write(self, keys: list[tuple[int, bool]], codec: str, idempotent: bool, shift_ms: int, synced: bool) -> None:
        world = self.world
        end, time_ms = world.log.end_offset, world.clock.now_ms() + shift_ms
        pairs = [
            (b"key-%d" % key, None if tombstone else b"%d:" % (end + n) + b"x" * 40)
            for n, (key, tombstone) in enumerate(keys)
        ]
        fields = {"producer_id": PRODUCER, "producer_epoch": 0, "base_sequence": self.sequence} if idempotent else {}
        plain = build_batch(pairs, timestamp_ms=time_ms, **fields)
        header = parse_header(plain)
        batch = seal_batch(header._replace(attributes=CODECS[codec]), compress(CODECS[codec], plain[61:]))
        result = world.partition.write(batch)
        assert not result.duplicate
        if idempotent:
            self.sequence += len(pairs)
        for n, (key, value) in enumerate(pairs):
            self.written.append(Written(Seen(end + n, key, value, time_ms), end + len(pairs)))
        if synced:
            self.sync()

    @rule(keys=st.lists(st.integers(0, 5), min_size=5, max_size=15))
    def write_many(self, keys: list[int]) -> None:
        for key in keys:
            self.write([(key, False)], "uncompressed", False, 0, True)

    @rule()
    def sync(self) -> None:
        self.world.rounds.start_round()

    @rule()
    def roll(self) -> None:
        self.world.rounds.start_round()
        self.world.roll()

    @rule(duration_ms=st.sampled_from([1, 400, 1000, 20_000]))
    def wait(self, duration_ms: int) -> None:
        self.world.clock.advance_ms(duration_ms)

    @rule()
    def compact(self) -> None:
        self.cleanings_ms.append((self.world.log.end_offset, self.world.clock.now_ms()))
        self.world.compact()

    @rule()
    def retain(self) -> None:
        self.world.cleaner.retain()
        assert self.world.errors == []

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        log = self.world.log
        end = self.world.partition.high_watermark.offset
        offset = log.start_offset + int(share * 0.3 * (end - log.start_offset))
        log.delete_records(offset)
        self.deleted_to = max(self.deleted_to, offset)

    @rule(seed=st.integers(0, 1000), call=st.integers(1, 60), retention=st.booleans())
    def crash(self, seed: int, call: int, retention: bool) -> None:
        """Power is lost at some file operation of the cleaner, or after it."""
        world = self.world
        durable, start = world.partition.high_watermark.offset, world.log.start_offset
        self.cleanings_ms.append((world.log.end_offset, world.clock.now_ms()))
        world.files.fail_at(call, 5, times=100_000)
        if retention:
            world.cleaner.retain()
        else:
            world.cleaner.compact()
        assert world.cleaner.idle
        world.files.crash(random.Random(seed) if seed % 3 else None)
        self.world = world.reopened()
        assert durable <= self.world.log.end_offset
        assert start <= self.world.log.start_offset
        end = self.world.log.end_offset
        self.written = [each for each in self.written if each.record.offset < end]
        assert not self.written or self.written[-1].batch_end == end
        self.cleanings_ms = [(min(upto, end), time_ms) for upto, time_ms in self.cleanings_ms]
        self.sequence = next((p.last_sequence for p in self.world.log.producers()), -1) + 1

    # -- what holds

    @invariant()
    def what_is_read_was_written(self) -> None:
        records = self.world.records()
        written = {each.record.offset: each.record for each in self.written}
        offsets = [record.offset for record in records]
        assert offsets == sorted(set(offsets))
        assert all(written[record.offset] == record for record in records)

    @invariant()
    def the_latest_of_every_key_is_there(self) -> None:
        seen = {record.offset for record in self.world.records()}
        latest = {each.record.key: each.record for each in self.written}
        for record in latest.values():
            assert record.offset in seen or self.may_be_gone(record)

    def may_be_gone(self, record: Seen) -> bool:
        now_ms = self.world.clock.now_ms()
        if record.offset < self.deleted_to:
            return True
        if self.world.config.cleanup_delete and now_ms - record.timestamp_ms > RETENTION_MS:
            return True
        seen_ms = next((time_ms for upto, time_ms in self.cleanings_ms if upto > record.offset), now_ms)
        return record.value is None and now_ms >= seen_ms + DELETE_RETENTION_MS

    @invariant()
    def every_offset_can_be_read_from(self) -> None:
        log = self.world.log
        for offset in range(log.start_offset, log.end_offset):
            assert parse_header(read_at(log, offset)).last_offset >= offset

    @invariant()
    def the_producer_is_known(self) -> None:
        known = [p.last_sequence for p in self.world.log.producers()]
        assert known == ([self.sequence - 1] if self.sequence else [])

    @invariant()
    def the_segments_tile_the_offsets(self) -> None:
        segments = self.world.log.segments
        for segment, after in pairwise(segments):
            *_, (_, last) = segment.batches_by_time(-1)
            assert last.next_offset == after.base_offset


CleanerMachine.TestCase.settings = settings(
    max_examples=80, stateful_step_count=40, deadline=None, report_multiple_bugs=False
)
TestCleaner = CleanerMachine.TestCase
