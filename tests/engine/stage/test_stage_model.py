"""Log and stage against a simple model: nothing is lost, twice, early or withdrawn, and no promise is taken back.

Clients write plain, delayed, prioritised, expiring and cancelling records, in and out of transactions; readers read at
and beyond the end; the wall clock is set; administrators, checkpoints, moves, retention interfere; the machine loses
power, also in the middle of any file operation; a second replica takes over. The rules at the head of
engine/stage/stage.py are the assertions.

`STAGE_MODEL_EXAMPLES=3000 pytest --timeout=0 tests/engine/stage/test_stage_model.py` looks deeper.
"""

import errno
import os
import random
from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.clock import ManualClock
from engine.errors import StorageError
from engine.log.types import Receipt
from engine.records.batch import whole
from engine.records.compression import LZ4, NONE, ZSTD
from engine.records.layout import CONTROL_FLAG
from engine.stage import state as states
from engine.stage.config import ExtensionConfig
from engine.stage.fates import id_hash
from engine.stage.headers import FOREVER_MS
from engine.stage.opening import load_state
from tests.engine.logs import NOW_MS
from tests.engine.stage import model
from tests.engine.stage.model import Item, Model, Times
from tests.engine.stage.world import (
    Leader,
    Node,
    Record,
    as_released,
    client_batch,
    dump,
    follow_from,
    parse,
    read_batches,
    record,
)

PRODUCERS = (1, 2)
ENOUGH_BYTES = 10_000
"""For the few records that a fetch asks for here."""
UPKEEP = ("letters", "retention", "priority", "checkpoint", "checkpoint later", "move", "tidy", "tidy")
STATUSES = {
    states.UNCOMMITTED: model.UNCOMMITTED,
    states.WAITING: model.WAITING,
    states.HELD: model.HELD,
    states.READY: model.READY,
    states.SPENT: model.SPENT,
}

ids = st.sampled_from(["x", "y"])
ahead_ms = st.sampled_from([0, 1, 10, 500, 5_000, 100_000])
asks = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"cancel": ids}),
    st.fixed_dictionaries(
        {},
        optional={
            "delay": ahead_ms,
            "schedule_id": ids,
            "priority": st.integers(0, 4),
            "ttl": st.sampled_from([1, 400, 3_000]),
        },
    ),
    st.fixed_dictionaries(
        {"deliver_at": ahead_ms.map(lambda ms: NOW_MS + ms)},
        optional={
            "schedule_id": ids,
            "priority": st.integers(0, 4),
            "expires_at": st.sampled_from([NOW_MS + 300, NOW_MS + 20_000]),
        },
    ),
)
delays = st.fixed_dictionaries({"delay": ahead_ms}, optional={"schedule_id": ids})
seeds = st.one_of(st.none(), st.integers(0, 2**32))


class StageMachine(RuleBasedStateMachine):
    """One partition with its stage, on one or two replicas, and the model of it."""

    @initialize(
        priority=st.sampled_from(["auto", "auto", "true", "false"]),
        policy=st.sampled_from(["drop", "dlq"]),
        ttl_ms=st.sampled_from([-1, -1, 2_000]),
        replicas=st.integers(1, 2),
        boot=st.sampled_from(["", "b00t"]),
    )
    def start(self, priority: str, policy: str, ttl_ms: int, replicas: int, boot: str) -> None:
        self.config = ExtensionConfig(priority_enable=priority, expiry_policy=policy, message_ttl_ms=ttl_ms)
        self.clock = ManualClock(NOW_MS, boot=boot)
        self.real_ms = 0
        self.other: Node | None = Node(self.clock) if replicas == 2 else None
        self.leader = Leader(Node(self.clock), self.config, follower=self.other)
        self.model = Model(ttl_ms)
        self.election: tuple[int, int] | None = None
        self.ending: dict[int, bool] = {}
        self.attempted: dict[bytes, Record] = {}
        self.acknowledged: dict[int, bytes] = {}
        """By producer: its last batch, if that was acknowledged."""
        self.seen: dict[int, object] = {}
        self.promised = 0
        self.stage_mark = self.log_mark = 0
        self.fault: tuple[int, int, int] | None = None

    # -- doing things, and what comes of it

    @property
    def times(self) -> Times:
        return Times(self.real_ms, self.clock.wall_ms, self.leader.stage.clock.now_ms())

    @property
    def in_sync(self) -> bool:
        return self.leader.follower is not None

    def attempt(self, operation: Callable[[], object]) -> bool:
        """Run it, with the fault that was asked for: a write that fails, or the end of the machine."""
        leader, fault = self.leader, self.fault
        files = leader.node.files
        if fault is not None:
            call, error, _ = fault
            only = frozenset({"write"}) if error == errno.ENOSPC else None
            files.fail_at(call, error, times=1 if only else 10_000, only=only)
        try:
            operation()
            failed = False
        except (OSError, StorageError):
            assert fault is not None
            failed = True
        files.stop_failing()
        self.fault = None
        self.model.follow(leader.store.log, self.times)
        if not failed:
            return True
        assert fault is not None
        if fault[1] == errno.ENOSPC and not leader.store.log.offline and not leader.partition.log.offline:
            leader.resume()
            self.model.follow(leader.store.log, self.times)
        else:
            self.lose_power(fault[2])
        return False

    def value(self) -> bytes:
        return b"value %d" % len(self.attempted)

    def records(self, asked: list[dict[str, object]]) -> list[Record]:
        made = []
        for place, one in enumerate(asked):
            made.append(record(self.value(), created_ms=NOW_MS - place, **one))
            self.attempted[made[-1].value] = made[-1]
        return made

    def sequence(self, producer_id: int) -> int:
        known = self.leader.partition.log.producers()
        return next((one.last_sequence + 1 for one in known if one.producer_id == producer_id), 0)

    def send(self, asked: list[dict[str, object]], producer_id: int | None, wait: bool, codec: int = NONE) -> None:
        sent = self.records(asked)
        if producer_id is None:
            data = client_batch(sent, codec=codec)
        else:
            data = client_batch(
                sent, producer_id=producer_id, epoch=0, sequence=self.sequence(producer_id), transactional=True
            )
        answers: list[Receipt] = []
        self.acknowledged.pop(-1 if producer_id is None else producer_id, None)
        if not self.attempt(lambda: answers.append(self.leader.append(data, wait=wait))):
            return
        if wait and producer_id is not None:
            self.acknowledged[producer_id] = data
        (answer,) = answers
        if answer.is_staged:
            first = answer.staged_number - len(sent) + 1
            kept = {number: self.model.items[number].record for number in self.model.items if number >= first}
            stored = {first + place: one for place, one in enumerate(sent) if b"tide-cancel" not in dict(one.headers)}
            assert kept == stored, "rule 1: a batch goes whole into the stage"

    # -- clients

    @rule(asked=st.lists(asks, min_size=1, max_size=4), wait=st.booleans(), codec=st.sampled_from([NONE, LZ4, ZSTD]))
    def write(self, asked: list[dict[str, object]], wait: bool, codec: int) -> None:
        self.send(asked, None, wait, codec)

    @rule(asked=st.lists(delays, min_size=1, max_size=4))
    def write_delayed(self, asked: list[dict[str, object]]) -> None:
        self.send(asked, None, True)

    @rule(count=st.integers(1, 4), wait=st.booleans())
    def write_plain(self, count: int, wait: bool) -> None:
        self.send([{}] * count, None, wait)

    @precondition(lambda self: self.leader.stage.takes_all)
    @rule(asked=asks)
    def write_letter(self, asked: dict[str, object]) -> None:
        """Another topic's dead letter, whose headers are plain data here."""
        (sent,) = self.records([asked])
        self.attempt(lambda: self.leader.append(client_batch([sent]), is_letter=True))

    @rule(producer_id=st.sampled_from(PRODUCERS), asked=st.lists(asks, min_size=1, max_size=3), wait=st.booleans())
    def write_in_transaction(self, producer_id: int, asked: list[dict[str, object]], wait: bool) -> None:
        if producer_id not in self.ending:
            self.send(asked, producer_id, wait)

    def is_open(self, producer_id: int) -> bool:
        log = self.leader.partition.log
        return producer_id in self.leader.state.transactions or log.has_open_transaction_of(producer_id)

    @rule(producer_id=st.sampled_from(PRODUCERS), committed=st.booleans())
    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """A coordinator that was not answered asks again, for the same."""
        if producer_id in self.ending or self.is_open(producer_id):
            committed = self.ending.setdefault(producer_id, committed)
            if self.attempt(lambda: self.leader.end_transaction(producer_id, committed)):
                del self.ending[producer_id]

    # -- time

    @rule(duration_ms=st.sampled_from([0, 1, 9, 10, 490, 499]))
    def pass_little_time(self, duration_ms: int) -> None:
        self.pass_time(duration_ms, 1)

    @rule(duration_ms=st.sampled_from([0, 10, 400, 500, 3_000, 60_000]), calls=st.integers(0, 3))
    def pass_time(self, duration_ms: int, calls: int) -> None:
        self.clock.advance_ms(duration_ms)
        self.real_ms += duration_ms
        for _ in range(calls):
            self.attempt(self.leader.run_timers)

    @rule(step_ms=st.sampled_from([-100_000, -500, 500, 5_000, 100_000]))
    def set_wall_clock(self, step_ms: int) -> None:
        self.clock.wall_ms += step_ms
        self.leader.staging.watch_clock()
        self.leader.make_durable(log=False)
        self.model.follow(self.leader.store.log, self.times)

    # -- readers

    @precondition(lambda self: self.leader.stage.prioritised)
    @rule(
        part=st.sampled_from([0.0, 0.0, 0.5, 1.0]),
        limit=st.integers(1, 5),
        limit_bytes=st.sampled_from([1, 300, ENOUGH_BYTES]),
    )
    def fetch(self, part: float, limit: int, limit_bytes: int) -> None:
        leader = self.leader
        log_end, promised = leader.log_end, leader.promised_end
        if promised < log_end or not self.model.ready:
            return
        offset = log_end + int((promised - log_end) * part)
        earliest = {item.number for item in self.model.ready[: offset - log_end]}
        numbers: set[int] = set()

        def read() -> None:
            was_ordering = leader.staging.readers.is_ordering
            intent = leader.linearise(offset, limit, limit_bytes)
            if intent is None:
                assert was_ordering or self.fault is not None, "rule 4: one at a time"
                return
            assert intent.end_offset - intent.first_offset <= limit, "rule 4"
            numbers.update(n for piece in intent.pieces for n in range(piece.number, piece.number + piece.count))

        if self.attempt(read) and numbers and offset > log_end:
            assert numbers <= earliest, "rule 5: who was ready first lies below"
            assert 1 <= len(numbers) <= min(limit, len(earliest)), "rule 4"
            if limit_bytes >= ENOUGH_BYTES:
                assert len(numbers) == min(limit, len(earliest))

    # -- administrators and upkeep

    def pick(self, part: float) -> Item | None:
        items = [self.model.items[number] for number in sorted(self.model.statuses())]
        return items[int(part * (len(items) - 1))] if items else None

    @rule(part=st.floats(0, 1), ahead_ms=st.one_of(st.none(), ahead_ms), relative=st.booleans())
    def administer(self, part: float, ahead_ms: int | None, relative: bool) -> None:
        """Cancel a record by hand, or move it to another time."""
        item, stage = self.pick(part), self.leader.stage
        if item is None:
            return
        if ahead_ms is None:
            self.attempt(lambda: self.leader.change(lambda: stage.cancel([item.number])))
            return
        due_ms = (stage.clock.now_ms() if relative else stage.clock.wall_ms()) + ahead_ms
        self.attempt(lambda: self.leader.change(lambda: stage.reschedule(item.number, due_ms, relative=relative)))

    @rule(kind=st.sampled_from(UPKEEP), part=st.floats(0, 1))
    def look_after(self, kind: str, part: float) -> None:
        stage, store, log = self.leader.stage, self.leader.store.log, self.leader.partition.log
        if kind == "letters":
            self.attempt(self.deliver_dead_letters)
        elif kind == "retention":
            end = self.leader.partition.high_watermark.offset
            self.attempt(lambda: log.delete_records(log.start_offset + int((end - log.start_offset) * part)))
        elif kind == "priority":
            if stage.prioritised and not len(stage.state.lanes) and not stage.state.intents:
                self.attempt(lambda: self.leader.change(stage.switch_off_priority))
        elif not store.segments:
            return
        elif kind in ("checkpoint", "tidy"):
            self.attempt(self.leader.checkpoint if kind == "checkpoint" else self.leader.tidy)
        else:
            if store.segments[-1].size:
                self.attempt(self.leader.store.log.roll)
            if kind == "move":
                self.attempt(self.leader.move)
            self.leader.checkpoint_between = kind == "checkpoint later"

    def deliver_dead_letters(self) -> None:
        leader = self.leader
        letters = list(leader.state.dead_letters)[:2]
        for number in letters:
            assert len(leader.stage.read(leader.row(number))) == leader.row(number).size
        if letters:
            leader.change(lambda: leader.stage.dead_lettered(letters))

    @rule(synced=st.booleans(), batches=st.one_of(st.none(), st.integers(0, 3)), log=st.booleans())
    def make_durable(self, synced: bool, batches: int | None, log: bool) -> None:
        """Here, and as far as the follower comes."""

        def operation() -> None:
            if synced:
                self.leader.sync()
            self.leader.replicate(batches, log=log)
            self.leader.settle()

        self.attempt(operation)

    # -- what seldom comes about by chance

    @rule(asked=st.lists(asks, min_size=1, max_size=3), delay=st.sampled_from([0, 10]), limit=st.integers(1, 4))
    def release_behind_unsynced_records(self, asked: list[dict[str, object]], delay: int, limit: int) -> None:
        self.send([{"delay": delay}] * 3, None, False)
        self.send([{}] * 2, None, False)
        self.send(asked, None, False)
        self.pass_time(delay, 1)
        if self.leader.stage.prioritised:
            self.fetch(1.0, limit, 10_000)

    @rule(producer_id=st.sampled_from(PRODUCERS), committed=st.booleans())
    def withhold_past_its_time(self, producer_id: int, committed: bool) -> None:
        self.send([{"delay": 10, "schedule_id": "x"}], None, True)
        self.write_in_transaction(producer_id, [{"cancel": "x"}], True)
        self.pass_time(10, 2)
        self.end_transaction(producer_id, committed)

    @precondition(lambda self: self.in_sync)
    @rule(asked=st.lists(asks, min_size=1, max_size=3), batches=st.integers(0, 2), seed=seeds)
    def fail_over_to_who_lags(self, asked: list[dict[str, object]], batches: int, seed: int | None) -> None:
        self.send(asked, None, False)
        self.send([{}], None, False)
        self.make_durable(True, batches, True)
        self.nothing_readable_changes()
        self.the_promised_end_never_moves_back()
        if self.in_sync:
            self.fail_over(seed, True)

    # -- faults

    def is_anchored(self) -> bool:
        """Whether the next process will know how steady time goes on."""
        leader = self.leader
        return leader.state.anchor == leader.stage.clock.anchor is not None and not leader.store.log.dirty

    @precondition(lambda self: self.is_anchored())
    @rule(step_ms=st.sampled_from([-100_000, 500, 100_000]), down_ms=st.sampled_from([0, 10, 3_000]))
    def kill_and_set_wall_clock(self, step_ms: int, down_ms: int) -> None:
        """The process ends, and the machine's clock is set before the next one begins."""
        leader = self.leader
        self.clock.wall_ms += step_ms
        self.clock.advance_ms(down_ms)
        self.real_ms += down_ms
        leader.node.open()
        follower = leader.follower
        if follower is not None:
            follow_from(follower, leader.node, (leader.node.store.end_offset, leader.node.log.end_offset))
        self.begin(Leader(leader.node, self.config, leader.epoch + 1, follower))
        self.set_wall_clock(0)

    @rule(call=st.integers(1, 25), error=st.sampled_from([errno.EIO, errno.EIO, errno.ENOSPC]), seed=st.integers(0))
    def arm(self, call: int, error: int, seed: int) -> None:
        """The next operation meets it."""
        self.fault = (call if error == errno.EIO else 1 + call % 3, error, seed)

    @rule(seed=seeds)
    def lose_power(self, seed: int | None) -> None:
        """The leader's machine; it comes back and leads on."""
        leader, follower = self.leader, self.leader.follower
        node = leader.node
        node.files.crash(None if seed is None else random.Random(seed))
        self.clock.seconds = 0.0
        self.clock.boot += "+" if self.clock.boot else ""
        node.open()
        if follower is not None:
            follow_from(follower, node, (node.store.end_offset, node.log.end_offset))
        self.begin(Leader(node, self.config, leader.epoch + 1, follower))

    @precondition(lambda self: self.in_sync)
    @rule(seed=seeds, loses_power=st.booleans())
    def fail_over(self, seed: int | None, loses_power: bool) -> None:
        """The follower leads; what the old leader had beyond it is void."""
        old, new = self.leader.node, self.leader.follower
        assert new is not None
        if loses_power:
            old.files.crash(None if seed is None else random.Random(seed))
        self.other, self.election = old, (new.store.end_offset, new.log.end_offset)
        self.begin(Leader(new, self.config, self.leader.epoch + 1))

    def begin(self, leader: Leader) -> None:
        """A leader begins: it must hold all that was under the high watermarks."""
        store, log = leader.store.log, leader.partition.log
        assert store.end_offset >= self.stage_mark, "what was acknowledged is lost with the stage"
        assert log.end_offset >= self.log_mark, "what was readable is lost"
        self.leader = leader
        self.fault = None
        self.model.cut(store.end_offset)
        self.model.follow(store, self.times)
        leader.resume()
        self.model.follow(store, self.times)

    @precondition(lambda self: self.other is not None and not self.in_sync)
    @rule()
    def rejoin(self) -> None:
        """The other replica drops what the leader never had, catches up, and is in sync."""
        other, leader = self.other, self.leader
        assert other is not None
        other.open()
        election = self.election or (other.store.end_offset, other.log.end_offset)
        if min(other.store.end_offset, election[0]) < leader.store.log.start_offset:
            return
        follow_from(other, leader.node, election)
        leader.keep_in_sync(other)

    @precondition(lambda self: self.in_sync)
    @rule()
    def fall_behind(self) -> None:
        """The follower leaves the in-sync set."""
        follower = self.leader.follower
        assert follower is not None
        self.leader.keep_in_sync(None)
        self.election = (follower.store.end_offset, follower.log.end_offset)
        self.leader.make_durable()
        self.leader.settle()

    # -- what must hold

    @invariant()
    def nothing_readable_changes(self) -> None:
        leader = self.leader
        log, high_watermark = leader.partition.log, leader.partition.high_watermark.offset
        self.stage_mark, self.log_mark = leader.store.high_watermark.offset, high_watermark
        places, values = self.model.places(), set()
        for header, batch in read_batches(log, log.start_offset):
            offset = header.base_offset
            if header.attributes & CONTROL_FLAG or not header.record_count:
                for one in range(offset, header.next_offset):
                    assert header.attributes & CONTROL_FLAG or places[one] is None, "rule 6"
                    self.check_seen(one, header.record_count, high_watermark)
                continue
            for one, found in enumerate(parse(batch), offset):
                if one < log.start_offset:
                    continue
                item = places.get(one)
                assert one not in places or item is not None
                assert found == (self.attempted[found.value] if item is None else as_released(item.record))
                assert found.value not in values, "twice"
                values.add(found.value)
                self.check_seen(one, found, high_watermark)

    def check_seen(self, offset: int, content: object, high_watermark: int) -> None:
        if offset < high_watermark:
            assert self.seen.setdefault(offset, content) == content, "what was read has changed"

    @invariant()
    def the_promised_end_never_moves_back(self) -> None:
        promised = self.leader.promised_end
        assert promised >= self.promised, "rule 2"
        self.promised = promised

    @invariant()
    def the_stage_holds_what_the_model_holds(self) -> None:
        state = self.leader.state
        statuses: dict[int, str] = {}
        for row in state.table.rows():
            letters = state.dead_letters.get(row.number, row.count)
            for place in range(row.count):
                if place >= row.skip and row.state != states.DEAD:
                    statuses[row.number + place] = STATUSES[row.state]
                elif place >= letters:
                    statuses[row.number + place] = model.DEAD
        assert statuses == self.model.statuses()
        assert len(state.lanes) == len(self.model.ready)
        assert state.prioritised == self.model.prioritised

    @invariant()
    def a_batch_sent_again_is_known(self) -> None:
        for data in self.acknowledged.values():
            assert self.leader.partition.log.check_batch(whole(data)) is not None, (
                "rule 1: one producer state is fed by both logs"
            )

    @invariant()
    def whoever_waits_is_in_a_wheel(self) -> None:
        state = self.leader.state
        steady, wall = set(state.steady.entries()), set(state.wall.entries())
        for row in state.table.rows():
            if row.state == states.WAITING and row.due_ms != -1:
                assert (row.due_ms, row.number) in (steady if row.relative else wall), row
            if row.state == states.READY and -1 < row.ttl_ms < FOREVER_MS:
                assert (row.due_ms + row.ttl_ms, row.number) in steady, row
            if row.state == states.READY and row.expires_ms != -1:
                assert (row.expires_ms, row.number) in wall, row

    @rule()
    def compare_with_a_replay(self) -> None:
        """From the checkpoint, and from the start if the log is whole."""
        leader = self.leader
        leader.settle()
        for files in (leader.node.files, Node(self.clock).files)[: 2 if not leader.store.log.start_offset else 1]:
            fresh = load_state(leader.store.log, files, self.config.lane_rules, NOW_MS, NOW_MS)
            fresh.settle(leader.partition.high_watermark.offset)
            assert dump(fresh) == dump(leader.state)

    def teardown(self) -> None:
        if not hasattr(self, "leader"):
            return
        self.fault = None
        self.compare_with_a_replay()
        for producer_id in PRODUCERS:
            self.end_transaction(producer_id, producer_id == PRODUCERS[0])
        self.set_wall_clock(1_000_000)
        for _ in range(3):
            self.pass_time(200_000, 30)
        self.leader.make_durable()
        while self.leader.stage.prioritised and self.leader.promised_end > self.leader.log_end:
            before = self.leader.log_end
            self.fetch(0.0, 50, 100_000)
            self.leader.make_durable()
            assert self.leader.log_end > before, "rule 6: a promised offset is used up"
        while self.leader.state.dead_letters:
            self.attempt(self.deliver_dead_letters)
        self.leader.make_durable()
        self.leader.settle()
        self.model.follow(self.leader.store.log, self.times)
        assert not self.model.statuses(), "what waits for ever is lost"
        assert self.leader.log_end >= self.promised
        for _ in range(2):
            self.nothing_readable_changes()
            assert self.leader.stage.is_empty()
            for schedule_id, kind, offset in self.model.fates():
                fate = self.leader.state.fates.get(id_hash(schedule_id))
                assert fate is not None
                assert (fate.kind, fate.offset) == (kind, offset)
            self.lose_power(None)


StageMachine.TestCase.settings = settings(
    max_examples=int(os.environ.get("STAGE_MODEL_EXAMPLES", "100")),
    stateful_step_count=40,
    deadline=None,
    report_multiple_bugs=False,
)
TestStage = StageMachine.TestCase
