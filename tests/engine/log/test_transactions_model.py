"""A log's transactions against a simple model: a list of what was written, of which a crash may take the end.

Whatever is written, rolled, synced, snapshotted, truncated, damaged in its indexes, crashed and recovered: open
transactions, and those that were aborted, are the model's.
"""

import random
from itertools import combinations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.log.log import LogConfig
from engine.log.transactions import EndMarker, build_marker
from engine.log.types import Origin
from engine.records.layout import TRANSACTIONAL_FLAG, build_batch
from tests.engine.logs import NOW_MS, memory_files, open_log, snapshot, sync

CONFIG = LogConfig(segment_bytes=1500, index_interval_bytes=150)
PRODUCERS = (1, 2, 3)
# Offset, producer and how many records; or the end of a transaction: committed or not.
Event = tuple[int, int, int | bool]


class LogTransactionsMachine(RuleBasedStateMachine):
    """The log and its model."""

    @initialize()
    def start(self) -> None:
        self.files = memory_files()
        self.log = open_log(self.files, config=CONFIG)
        self.events: list[Event] = []

    def sequence(self, producer_id: int) -> int:
        return sum(count for _, each, count in self.events if each == producer_id and not isinstance(count, bool))

    @rule(producer_id=st.sampled_from(PRODUCERS), count=st.integers(1, 3))
    def write(self, producer_id: int, count: int) -> None:
        data = build_batch(
            [(b"k", b"v" * 20)] * count,
            timestamp_ms=NOW_MS,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=self.sequence(producer_id),
            attributes=TRANSACTIONAL_FLAG,
        )
        self.events.append((self.log.append(data, 0).base_offset, producer_id, count))

    @rule(producer_id=st.sampled_from(PRODUCERS), committed=st.booleans())
    def end(self, producer_id: int, committed: bool) -> None:
        marker = build_marker(producer_id, 0, EndMarker(committed, 0), NOW_MS)
        result = self.log.append(marker, 0, origin=Origin.COORDINATOR)
        self.events.append((result.base_offset, producer_id, committed))

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def sync(self) -> None:
        sync(self.log)

    @rule()
    def snapshot(self) -> None:
        snapshot(self.log)

    @rule(seed=st.integers(0, 2**32), damaged=st.booleans())
    def crash(self, seed: int, damaged: bool) -> None:
        chance = random.Random(seed)
        self.files.crash(chance)
        if damaged:
            for segment in self.log.segments:
                if chance.randrange(2) and self.files.list(segment.directory).get(segment.names[1]):
                    self.files.open(segment.index_path).write([b"\xff"], 0)
        self.reopen(clean=False)

    @rule()
    def restart_cleanly(self) -> None:
        self.log.close(clean=True)
        self.reopen(clean=True)

    def reopen(self, *, clean: bool) -> None:
        self.log = open_log(self.files, config=CONFIG, clean=clean)
        if not self.log.end_offset or self.log.start_offset:
            # The first segment was never synced: what is left, if anything, is another log.
            self.start()
        self.events = [event for event in self.events if event[0] < self.log.end_offset]

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        if self.events:
            offset = self.events[int((len(self.events) - 1) * part)][0]
            self.log.truncate_to(offset)
            self.events = [event for event in self.events if event[0] < offset]

    # -- the model's answers

    def decided(self) -> tuple[dict[int, int], list[tuple[int, int, int]]]:
        """First offsets of open transactions; (producer, first, last) of aborted ones."""
        opened: dict[int, int] = {}
        aborted: list[tuple[int, int, int]] = []
        for offset, producer_id, what in self.events:
            if not isinstance(what, bool):
                opened.setdefault(producer_id, offset)
            elif producer_id in opened:
                first = opened.pop(producer_id)
                if not what:
                    aborted.append((producer_id, first, offset))
        return opened, aborted

    @invariant()
    def open_transactions_are_the_models(self) -> None:
        opened, _ = self.decided()
        self.log.passed(self.log.end_offset)
        assert self.log.first_undecided_offset == min(opened.values(), default=None)
        found = {each.producer_id: each.transaction_start_offset for each in self.log.producers()}
        assert {key: offset for key, offset in found.items() if offset >= 0} == opened

    @invariant()
    def aborted_transactions_are_the_models(self) -> None:
        opened, aborted = self.decided()
        end = min([*opened.values(), self.log.end_offset])
        places = sorted(
            {0, end, *(offset for offset, _, _ in self.events[:: max(len(self.events) // 6, 1)] if offset < end)}
        )
        for start, upto in combinations(places, 2):
            found = {each[:3] for each in self.log.aborted_transactions(start, upto)}
            assert found == {each for each in aborted if each[2] >= start and each[1] < upto}


LogTransactionsMachine.TestCase.settings = settings(
    max_examples=80, stateful_step_count=40, deadline=None, report_multiple_bugs=False
)
TestLogTransactions = LogTransactionsMachine.TestCase
