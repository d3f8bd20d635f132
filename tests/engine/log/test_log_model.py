"""The log against a simple model: a list of batches, of which a crash may take the unsynced end.

Whatever is appended, rolled, synced, journaled, deleted, truncated, compacted, crashed and recovered: nothing durable
is lost, nothing that was cut off comes back, offsets have no gap but those of compaction, and every read gives exactly
the bytes that were stored.
"""

import random
from collections.abc import Callable, Sequence

from attrs import define
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.clock import ManualClock
from engine.errors import StorageError
from engine.journal.journal import Owner
from engine.log.deletion import deletion_jobs
from engine.log.log import LogConfig
from engine.log.segment_writer import SegmentWriter
from engine.records.layout import BatchHeader, build_batch, parse_header, seal_batch
from tests.engine.journals import open_journal
from tests.engine.logs import NOW_MS, memory_files, open_log, read_at, stored

CONFIG = LogConfig(segment_bytes=2000, index_interval_bytes=200)


@define
class Entry:
    """A batch of the model."""

    header: BatchHeader
    data: bytes
    timestamp_ms: int


class LogMachine(RuleBasedStateMachine):
    """The log and its model."""

    @initialize()
    def start(self) -> None:
        self.files = memory_files()
        self.clock = ManualClock(NOW_MS)
        self.open()
        self.model: list[Entry] = []
        self.history: list[BatchHeader] = []
        self.start_offset = 0
        self.durable = 0
        self.epoch = 0

    def open(self, *, clean: bool = False) -> None:
        self.journal = open_journal(self.files, slots=3, started=False, clean=clean)
        self.log = open_log(self.files, clock=self.clock, config=CONFIG, clean=clean, journal=self.journal)
        self.journal.start(self.settle)
        # The first round finds no slot and has one laid out.
        assert not self.journal.take([], [], lambda _: None)

    def settle(self, _: Sequence[Owner], done: Callable[[Sequence[Owner]], object]) -> None:
        ticket = self.log.capture_sync()
        ticket.run()
        self.log.synced(ticket)
        done(())

    @property
    def end(self) -> int:
        return self.log.end_offset

    def expected_sequence(self, producer_id: int) -> int:
        """What comes after the producer's last batch, even if that was deleted: the log may still know."""
        for header in reversed(self.history):
            if header.producer_id == producer_id and header.base_offset < self.end:
                return header.base_sequence + header.last_offset_delta + 1
        return 0

    def note(self, data: bytes, base_offset: int, timestamp_ms: int) -> None:
        kept = stored(data, base_offset, self.epoch)
        self.model.append(Entry(parse_header(kept), kept, timestamp_ms))
        self.history = [header for header in self.history if header.base_offset < base_offset]
        self.history.append(parse_header(kept))

    @rule(count=st.integers(1, 5), size=st.integers(0, 300), shift_ms=st.integers(-50, 50))
    def append(self, count: int, size: int, shift_ms: int) -> None:
        data = build_batch([(b"k", b"v" * size)] * count, timestamp_ms=NOW_MS + shift_ms)
        end = self.end
        result = self.log.append(data, self.epoch)
        assert (result.base_offset, result.last_offset) == (end, end + count - 1)
        self.note(data, end, NOW_MS + shift_ms)

    @rule(producer_id=st.integers(1, 2), count=st.integers(1, 3))
    def append_idempotent(self, producer_id: int, count: int) -> None:
        data = build_batch(
            [(b"k", b"v")] * count,
            timestamp_ms=NOW_MS,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=self.expected_sequence(producer_id),
        )
        end = self.end
        result = self.log.append(data, self.epoch)
        assert not result.duplicate
        assert result.base_offset == end
        self.note(data, end, NOW_MS)
        again = self.log.append(data, self.epoch)
        assert again.duplicate
        assert (again.base_offset, again.last_offset) == (end, end + count - 1)

    @rule(size=st.integers(0, 1500), call=st.integers(1, 3), times=st.integers(1, 4), smaller=st.integers(0, 2))
    def fail_to_append(self, size: int, call: int, times: int, smaller: int) -> None:
        """The disk fails while a batch is written, to a segment that may have to be begun for it; smaller ones that
        come after it may fit into the one before."""
        data = build_batch([(b"k", b"v" * size)], timestamp_ms=NOW_MS)
        end = self.end
        self.files.fail_at(call, 28, times=times, only=frozenset({"open", "write", "truncate", "unlink"}))
        try:
            self.log.append(data, self.epoch)
        except StorageError:
            assert self.end == end
        else:
            self.note(data, end, NOW_MS)
        finally:
            self.files.stop_failing()
        if self.log.offline is not None:
            self.log.reverify()
            assert self.end == end
            self.durable = end
        for _ in range(smaller):
            self.append(1, 10, 0)

    @rule()
    def new_epoch(self) -> None:
        self.epoch += 1

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule(appends=st.integers(0, 2), rolled=st.booleans())
    def sync(self, appends: int, rolled: bool = False) -> None:
        """What is appended after the ticket was drawn is not promised, and not covered if it rolls the log."""
        ticket = self.log.capture_sync()
        for _ in range(appends):
            self.append(1, 20, 0)
        ticket.run()
        if rolled:
            self.append(1, 20, 0)
            self.log.roll()
            self.append(1, 20, 0)
        self.log.synced(ticket)
        assert self.log.durable_end == ticket.end
        self.durable = ticket.end.offset

    @rule(appends=st.integers(0, 2))
    def write_to_journal(self, appends: int) -> None:
        """As a round does it: by syncing, where the journal will not do."""
        self.append(1, 30, 0)
        ticket = self.log.capture_sync()
        if ticket.piece is None:
            self.sync(0)
            self.append(1, 40, 0)
            ticket = self.log.capture_sync()
        if ticket.piece is None:
            return
        for _ in range(appends):
            self.append(1, 20, 0)
        taken: list[OSError | None] = []
        if self.journal.take([self.log], [ticket.piece], taken.append):
            assert taken == [None]
            self.log.synced(ticket, settled=False)
            # More, where a slot had to be settled for it.
            assert self.log.durable_end.offset >= ticket.end.offset
            self.durable = self.log.durable_end.offset

    @rule()
    def fail_to_sync(self) -> None:
        """What was written counts as clean and is not on disk; what is promised stays, as far as it is known."""
        ticket = self.log.capture_sync()
        self.files.fail_at(1, 5, only=frozenset({"sync"}))
        try:
            ticket.run()
        except OSError:
            self.log.sync_failed()
            self.log.reverify()
            self.durable = self.end
        finally:
            self.files.stop_failing()

    @rule(finished=st.booleans(), appends=st.integers(0, 2))
    def maintain(self, finished: bool, appends: int) -> None:
        self.log.request_snapshot()
        jobs = self.log.maintenance()
        for _ in range(appends):
            self.append(1, 20, 0)
        for job in jobs:
            job.run()
            if finished or job is jobs[-1]:
                job.finish()
            else:
                job.finish()
        if jobs:
            self.durable = max(self.durable, self.log.durable_end.offset)

    @rule(seed=st.integers(0, 2**32), total=st.booleans())
    def crash(self, seed: int, total: bool) -> None:
        self.files.crash(None if total else random.Random(seed))
        self.reopen()

    @rule(seed=st.integers(0, 2**32), call=st.integers(1, 12))
    def crash_during_upkeep(self, seed: int, call: int) -> None:
        self.log.request_snapshot()
        self.files.fail_at(call, 5, times=10_000)
        for job in self.log.maintenance():
            job.run()
        self.files.crash(random.Random(seed))
        self.reopen()

    def reopen(self) -> None:
        self.open()
        assert self.durable <= self.end
        if self.durable == self.start_offset:
            # Nothing was ever synced: the first segment may be lost and a later one not.
            self.start_offset = self.log.start_offset
        self.model = [
            entry
            for entry in self.model
            if self.start_offset <= entry.header.last_offset and entry.header.base_offset < self.end
        ]
        if self.model:
            assert self.model[-1].header.next_offset == self.end
        self.durable = self.end

    @rule()
    def restart_cleanly(self) -> None:
        end = self.end
        self.log.close(clean=True)
        self.open(clean=True)
        assert self.log.recovery.scanned_bytes == 0
        assert self.end == end
        self.durable = end

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        offset = self.log.start_offset + int((self.durable - self.log.start_offset) * part)
        jobs = deletion_jobs(self.log, offset)
        for job in jobs:
            job.run()
            job.finish()
            assert job.error is None
        self.start_offset = self.log.start_offset
        assert self.start_offset == offset
        self.model = [entry for entry in self.model if entry.header.last_offset >= self.start_offset]
        self.durable = max(self.durable, self.log.durable_end.offset)

    @precondition(lambda self: self.model)
    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        boundaries = [entry.header.base_offset for entry in self.model if entry.header.base_offset >= self.start_offset]
        if not boundaries:
            return
        offset = boundaries[int((len(boundaries) - 1) * part)]
        self.log.truncate_to(offset)
        self.start_offset = self.log.start_offset
        self.model = [entry for entry in self.model if entry.header.base_offset < offset]
        # Before a boundary there may be a gap left by compaction, which goes too.
        assert self.end <= offset
        assert all(entry.header.last_offset < self.end for entry in self.model)
        self.durable = self.end

    @rule(seed=st.integers(0, 2**32), call=st.one_of(st.none(), st.integers(1, 12)))
    def compact(self, seed: int, call: int | None) -> None:
        """Replaces sealed segments by one in which some batches are empty; perhaps with a crash on the way."""
        old = self.log.segments[:-1]
        if not old or not self.log.can_replace(old):
            return
        chance = random.Random(seed)
        writer = SegmentWriter(self.files, self.log.directory, old[0].base_offset, NOW_MS)
        end = self.log.segments[-1].base_offset
        compacted: list[Entry] = []
        written = b""
        for entry in self.model:
            if entry.header.last_offset < old[0].base_offset or entry.header.base_offset >= end:
                compacted.append(entry)
                continue
            if chance.randrange(2):
                empty = entry.header._replace(record_count=0, attributes=0)
                entry = Entry(parse_header(seal_batch(empty, b"")), seal_batch(empty, b""), entry.timestamp_ms)
            if entry.header.record_count or entry.header.next_offset == end or entry.header.producer_id >= 0:
                writer.append(entry.header, [entry.data])
                written += entry.data
                compacted.append(entry)
        if not writer.segment.size:
            writer.abandon()
            return
        job = self.log.replace_segments(old, [writer.finish()])
        if call is None:
            job.run()
            job.finish()
            assert job.error is None
            self.model = compacted
        else:
            self.files.fail_at(call, 5, times=10_000)
            job.run()
            self.files.crash(chance)
            self.reopen()
            first = self.log.segments[0]
            if first.file().pread(first.size, 0) == written:
                self.model = [entry for entry in compacted if entry.header.base_offset < self.end]
            assert self.end >= end

    @invariant()
    def reads_give_what_was_stored(self) -> None:
        log = self.log
        assert log.offline is None
        assert log.start_offset == self.start_offset
        for entry in self.model:
            for offset in {max(entry.header.base_offset, self.start_offset), entry.header.last_offset}:
                assert read_at(log, offset) == entry.data

    @invariant()
    def reads_end_where_the_log_does(self) -> None:
        log = self.log
        assert log.read(log.end_offset, 1000, log.end, at_least_one=True).size == 0
        assert log.size_bytes >= sum(len(entry.data) for entry in self.model)

    @invariant()
    def times_are_found(self) -> None:
        upto = self.log.end
        for timestamp_ms in (NOW_MS - 20, NOW_MS, NOW_MS + 20, NOW_MS + 51):
            found = self.log.find_by_time(timestamp_ms, upto)
            entries = [e for e in self.model if e.timestamp_ms >= timestamp_ms and e.header.record_count]
            expected = max(entries[0].header.base_offset, self.start_offset) if entries else None
            assert (found.offset if found else None) == expected


LogMachine.TestCase.settings = settings(
    max_examples=200, stateful_step_count=40, deadline=None, report_multiple_bugs=False
)
TestLog = LogMachine.TestCase
