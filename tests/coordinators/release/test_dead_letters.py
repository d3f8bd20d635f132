"""Expired records in the dead-letter topic: whole, with the reason, once."""

from collections.abc import Sequence

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock, trio_test

from coordinators.configs import AlterOperation, ConfigAlteration, ConfigResource, ResourceType
from coordinators.letter_writing import LetterWriting
from coordinators.producer_ids import ProducerIds
from coordinators.records.directory import PartitionDirectory
from coordinators.records.publishing import Publishing
from coordinators.release.dead_letters import DeadLetters
from coordinators.topics import Topic
from coordinators.tracing.tracing import Tracing
from coordinators.transaction.ports import Inclusion
from engine.deferred import Deferred
from engine.errors import BrokerError, DuplicateSequence, OutOfOrderSequence, RequestTimedOut
from engine.partition.partition import Partition
from engine.records.layout import HEADER_SIZE, RecordSpan, parse_header, split_batches, walk_records
from engine.stage.state import READY
from engine.workers import InlineWorkers
from tests.coordinators.cluster.nodes import place
from tests.coordinators.conftest import Desk
from tests.coordinators.release.test_releases import Bench
from tests.engine.stage.world import record


class NoTransactions:
    """A letter is part of none."""

    def knows(self, *_: object) -> bool:
        raise AssertionError

    def verify(self, *_: object) -> Deferred[None]:
        raise AssertionError

    def add(self, *_: object) -> Inclusion:
        raise AssertionError


@define(eq=False)
class DeadLetterBench(Bench):
    """Tasks run when told."""

    dead_letters: DeadLetters = field(init=False)

    def restart(self) -> None:
        super().restart()
        controller, clock, workers = self.controller, self.clock, InlineWorkers()
        directory = PartitionDirectory(controller.topics, controller.partitions)
        settings, tracing = controller.topics.settings, Tracing(clock, bytes)
        publishing = Publishing.compose(directory, self.releases, NoTransactions(), tracing, settings, clock, workers)
        writing = LetterWriting(controller, ProducerIds(self.desk.catalogue), clock, publishing)
        self.dead_letters = DeadLetters(writing)
        self.releases.on_dead_letters.append(self.dead_letters.wake)
        self.dead_letters.start()

    async def deliver(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_syncing)
            await self.background.run()
            nursery.cancel_scope.cancel()

    async def _keep_syncing(self) -> None:
        while True:
            self.sync()
            await trio.lowlevel.checkpoint()

    def letters(self, name: str = "t.dlq", index: int = 0) -> list[RecordSpan]:
        return read(self.partition(self.controller.topics.by_name[name], index))


def read(partition: Partition) -> list[RecordSpan]:
    found = partition.read(0, 2**31, at_least_one=True)
    spans: list[RecordSpan] = []
    for region in found.log_read.regions if found.log_read is not None else ():
        for header, batch in split_batches(region.file.pread(region.size, region.position)):
            spans += walk_records(batch[HEADER_SIZE:], header.record_count)
    return spans


@pytest.fixture
def bench(desk: Desk) -> DeadLetterBench:
    return DeadLetterBench(desk)


async def with_expired(bench: DeadLetterBench, count: int = 1, **configs: str) -> None:
    topic = await bench.create(expiry_policy="dlq", priority_enable="true", **configs)
    bench.hold(topic, *(record(f"v{number}", ttl=100, priority=number % 5) for number in range(count)))
    bench.pass_ms(100)


@trio_test
async def test_an_expired_record_arrives_whole_and_says_why(bench: DeadLetterBench) -> None:
    await with_expired(bench)
    await bench.deliver()
    (letter,) = bench.letters()
    assert (bytes(letter.key or b""), bytes(letter.value or b"")) == (b"k", b"v0")
    headers = {bytes(name): bytes(value or b"") for name, value in letter.headers}
    assert headers[b"tide-ttl"] == b"100"
    assert headers[b"__dlq.errors.topic"] == b"t"
    assert headers[b"__dlq.errors.partition"] == b"0"
    assert b"expired" in headers[b"__dlq.errors.message"]


@trio_test
async def test_with_the_policy_drop_nothing_is_sent(bench: DeadLetterBench) -> None:
    topic = await bench.create(priority_enable="true")
    bench.hold(topic, record("v", ttl=100))
    bench.pass_ms(100)
    await bench.deliver()
    assert "t.dlq" not in bench.controller.topics.by_name


@trio_test
async def test_the_topic_can_be_named(bench: DeadLetterBench) -> None:
    await with_expired(bench, dead_letter_topic="morgue")
    await bench.deliver()
    assert len(bench.letters("morgue")) == 1


@trio_test
async def test_a_letter_sent_again_after_a_crash_is_stored_once(bench: DeadLetterBench) -> None:
    await with_expired(bench, 7)
    staged = bench.staged(bench.controller.topics.by_name["t"])

    def crash(numbers: object) -> int:
        raise RuntimeError("here the broker ends")

    staged.stage.dead_lettered = crash  # type: ignore[method-assign]
    with pytest.raises(ExceptionGroup):
        await bench.deliver()
    assert len(bench.letters()) == 7
    bench.sync()
    bench.restart()
    await bench.controller.replicas.open_all(clean=False)
    await bench.releases.open_all(clean=False)
    bench.dead_letters.start()
    await bench.deliver()
    assert [bytes(letter.value or b"") for letter in bench.letters()] == [b"v%d" % number for number in range(7)]
    assert not bench.staged(bench.controller.topics.by_name["t"]).stage.state.dead_letters


async def arrived(bench: DeadLetterBench, name: str = "t.dlq") -> list[bytes]:
    await bench.deliver()
    return [bytes(letter.value or b"") for letter in bench.letters(name)]


@trio_test
async def test_a_letter_that_is_too_large_for_its_topic_arrives_whole_and_blocks_nobody(bench: DeadLetterBench) -> None:
    topic = await bench.create(expiry_policy="dlq", priority_enable="true", max_message_bytes="2000000")
    await bench.create("t.dlq", max_message_bytes="1000")
    large = "x" * 1_500_000
    bench.hold(topic, record("first", ttl=100), record(large, ttl=100), record("last", ttl=100))
    bench.pass_ms(100)
    assert await arrived(bench) == [b"first", large.encode(), b"last"]
    assert bench.staged(topic).stage.state.counters.dead_lettered == 3
    bench.hold(topic, record("later", ttl=100))
    bench.pass_ms(100)
    assert (await arrived(bench))[3:] == [b"later"]


@trio_test
async def test_a_letter_may_be_older_than_its_topic_lets_clients_be(bench: DeadLetterBench) -> None:
    await bench.create("t.dlq", message_timestamp_before_max_ms="1000")
    await with_expired(bench)
    bench.clock.advance_ms(1_001)
    assert await arrived(bench) == [b"v0"]


@pytest.mark.parametrize("enable", ["auto", "true"])
@trio_test
async def test_a_prioritised_topic_of_letters_obeys_nothing_and_keeps_them(bench: DeadLetterBench, enable: str) -> None:
    target = await bench.create("t.dlq", priority_enable=enable, expiry_policy="dlq", message_ttl_ms="1000")
    bench.hold(target, record("a client's own", priority=0))
    await with_expired(bench, 3)
    await bench.deliver()
    bench.pass_ms(10_000)
    bench.restart()
    await bench.controller.replicas.open_all(clean=False)
    await bench.releases.open_all(clean=False)
    bench.pass_ms(10_000_000)
    state = bench.staged(target).stage.state
    assert [(row.lane, row.state) for row in state.table.rows() if row.number not in state.dead_letters] == [
        (2, READY)
    ] * 3


@trio_test
async def test_the_first_letter_of_a_prioritised_topic_waits_in_its_lane_too(bench: DeadLetterBench) -> None:
    target = await bench.create("t.dlq", priority_enable="true")
    await with_expired(bench)
    await bench.deliver()
    partition = bench.partition(target)
    assert (partition.log.end_offset, partition.reported_end) == (0, 1)


@trio_test
async def test_letters_of_a_prioritised_topic_are_there_before_they_are_forgotten(
    bench: DeadLetterBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = await bench.create("t.dlq", priority_enable="true")
    bench.hold(target, record("makes the stage"))
    await with_expired(bench)
    staged, noted = bench.staged(bench.controller.topics.by_name["t"]), list[int]()
    dead_lettered = staged.stage.dead_lettered

    def note(numbers: list[int]) -> int:
        store = bench.staged(target).store
        noted.append(store.log.end_offset - store.high_watermark.offset)
        return dead_lettered(numbers)

    async def sync_late() -> None:
        while True:
            await trio.lowlevel.checkpoint()
            for _ in range(20 if bench.staged(target).store.has_unsynced else 0):
                await trio.lowlevel.checkpoint()
            bench.sync()

    staged.stage.dead_lettered = note  # type: ignore[method-assign, assignment]
    monkeypatch.setattr(DeadLetterBench, "_keep_syncing", lambda _: sync_late())
    await bench.deliver()
    assert noted == [0]


@trio_test
async def test_letters_do_not_go_round_where_topics_name_each_other(bench: DeadLetterBench) -> None:
    configs = {"expiry_policy": "dlq", "priority_enable": "true", "message_ttl_ms": "100"}
    first = await bench.create("a", dead_letter_topic="b", **configs)
    second = await bench.create("b", dead_letter_topic="a", **configs)
    bench.releases.stage_of(bench.partition(second), second)
    bench.hold(first, record("v"))
    for _ in range(5):
        bench.pass_ms(1_000)
        await bench.deliver()
    assert len(bench.staged(second).stage.state.table) == 1
    assert not len(bench.staged(first).stage.state.dead_letters)
    assert bench.staged(first).stage.state.counters.staged == 1


@trio_test
async def test_letters_find_their_topic_again_after_they_went_elsewhere(bench: DeadLetterBench) -> None:
    await with_expired(bench, dead_letter_topic="a")
    topic = bench.controller.topics.by_name["t"]
    resource = ConfigResource(ResourceType.TOPIC, "t")
    await bench.deliver()
    for name in ("b", "a", "b"):
        await bench.controller.alter_configs(
            [(resource, [ConfigAlteration("dead.letter.topic", AlterOperation.SET, name)])]
        )
        bench.hold(topic, record(f"to {name}", ttl=100))
        bench.pass_ms(100)
        await bench.deliver()
    assert [len(bench.letters(name)) for name in "ab"] == [2, 2]


@trio_test
async def test_a_topic_of_letters_has_none_of_its_own_where_that_is_the_default(bench: DeadLetterBench) -> None:
    everywhere = ConfigResource(ResourceType.BROKER, "")
    await bench.controller.alter_configs(
        [(everywhere, [ConfigAlteration("log.expiry.policy", AlterOperation.SET, "dlq")])]
    )
    topic = await bench.create("t" * 245, priority_enable="true")
    bench.hold(topic, record("v", ttl=100))
    bench.pass_ms(100)
    assert await arrived(bench, f"{topic.name}.dlq") == [b"v"]
    assert bench.controller.topics.by_name[f"{topic.name}.dlq"].dead_letter_topic is None


@pytest.fixture
def jumping() -> MockClock:
    return MockClock(autojump_threshold=0)


@trio_test
async def test_letters_that_have_to_wait_say_so_once_a_minute(
    bench: DeadLetterBench, caplog: pytest.LogCaptureFixture, jumping: MockClock
) -> None:
    target = await bench.create("t.dlq", priority_enable="true", stage_max_bytes="1")
    bench.releases.stage_of(bench.partition(target), target)
    await with_expired(bench, 2)
    with trio.move_on_after(150):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bench.background.started.pop())
            while True:
                await trio.sleep(1)
                bench.sync()
                bench.clock.advance_ms(1_000)
    waits = [each for each in caplog.records if "2 dead letters wait" in each.message]
    assert len(waits) == 3
    assert "stage.max.bytes" in waits[0].message


# -- where another node leads the letters' partition


class Carrier:
    """The other node, which may fail to answer; what it was sent is what it has."""

    def __init__(self) -> None:
        self.carried: list[tuple[int, str, int, list[tuple[int, int]]]] = []
        self.answers: list[list[BrokerError | None] | BrokerError] = []

    async def carry(self, leader: int, topic: Topic, index: int, letters: Sequence[bytes]) -> list[BrokerError | None]:
        await trio.lowlevel.checkpoint()
        headers = [parse_header(each) for each in letters]
        identities = [(each.producer_id, each.base_sequence) for each in headers]
        self.carried.append((leader, topic.name, index, identities))
        answer = self.answers.pop(0) if self.answers else [None] * len(letters)
        if isinstance(answer, BrokerError):
            raise answer
        return answer


async def led_elsewhere(bench: DeadLetterBench) -> Carrier:
    """The dead-letter topic, whose partition another node leads."""
    topic = await bench.create("t.dlq")
    place(bench.desk.catalogue, topic, 0, replicas=(2,), isr=(2,), leader=2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.controller.replicas.follow)
        await bench.controller.replicas.in_force(bench.desk.catalogue.revision())
        nursery.cancel_scope.cancel()
    carrier = bench.dead_letters.writing.carrier = Carrier()
    return carrier


@trio_test
async def test_letters_are_carried_to_the_node_that_leads_their_partition(bench: DeadLetterBench) -> None:
    carrier = await led_elsewhere(bench)
    await with_expired(bench, 3)
    await bench.deliver()
    ((leader, name, index, identities),) = carrier.carried
    assert (leader, name, index, [sequence for _, sequence in identities]) == (2, "t.dlq", 0, [0, 1, 2])
    assert not bench.staged(bench.controller.topics.by_name["t"]).stage.state.dead_letters


@trio_test
async def test_letters_whose_arrival_is_not_known_go_again_under_the_same_identity(
    bench: DeadLetterBench, jumping: MockClock
) -> None:
    carrier = await led_elsewhere(bench)
    carrier.answers = [RequestTimedOut("no answer"), [DuplicateSequence("there"), None]]
    await with_expired(bench, 2)
    state = bench.staged(bench.controller.topics.by_name["t"]).stage.state
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bench.background.started.pop())
            while state.dead_letters:
                await trio.sleep(0.1)
                bench.sync()
    first, again = carrier.carried
    assert first == again


@trio_test
async def test_letters_go_under_a_new_identity_where_theirs_has_a_gap(bench: DeadLetterBench) -> None:
    carrier = await led_elsewhere(bench)
    carrier.answers = [[OutOfOrderSequence("a gap"), OutOfOrderSequence("a gap")]]
    await with_expired(bench, 2)
    await bench.deliver()
    first, again = (identities for *_, identities in carrier.carried)
    assert [sequence for _, sequence in again] == [0, 1]
    assert {producer for producer, _ in first}.isdisjoint(producer for producer, _ in again)
