"""Records that a share group gives up: in the dead-letter topic whole, with the reason, exactly once."""

import logging
from collections.abc import Awaitable, Callable

import pytest
import trio
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, trio_test

from coordinators.configs import AlterOperation, ConfigAlteration, ConfigResource, ResourceType
from coordinators.share.acks import AckBatch, AckType
from coordinators.share.ports import DeliveryState, LetterProducer, SharePlace
from engine.errors import StorageError
from engine.records.compression import GZIP
from tests.coordinators.conftest import Desk
from tests.coordinators.share.letter_bench import GROUP, Ended, LetterBench, Steps, told

REJECT, RELEASE, ACCEPT = AckType.REJECT, AckType.RELEASE, AckType.ACCEPT


@pytest.fixture
def bench(desk: Desk) -> LetterBench:
    return LetterBench(desk)


async def with_records(bench: LetterBench, count: int = 5, **configs: str) -> None:
    await bench.create(**configs)
    bench.write(*(f"v{number}" for number in range(count)))


@trio_test
async def test_a_rejected_record_arrives_whole_and_says_why(bench: LetterBench) -> None:
    await with_records(bench)
    bench.take()
    created_ms = bench.clock.now_ms() + 2
    bench.clock.advance_ms(250)
    bench.acknowledge(REJECT, 2)
    await bench.deliver()
    (letter,) = bench.arrived()
    assert (bytes(letter.key or b""), bytes(letter.value or b"")) == (b"k", b"v2")
    assert (b"own", b"1") in [(bytes(name), bytes(value or b"")) for name, value in letter.headers]
    assert told(letter) == {
        "topic": "t",
        "partition": "0",
        "offset": "2",
        "group": GROUP,
        "delivery.count": "1",
        "message": "Offset rejected by client.",
        "member": "m",
        "first.delivery": str(created_ms - 2),
        "last.delivery": str(created_ms - 2),
        "timestamp": str(created_ms),
    }
    assert bench.durable(DeliveryState.ARCHIVED) == {2}
    assert not bench.durable(DeliveryState.ARCHIVING)
    assert bench.letters.waiting == 0


@trio_test
async def test_one_that_was_delivered_too_often_says_so(bench: LetterBench) -> None:
    await with_records(bench, 1)
    for member in ("a", "b"):
        assert bench.take(member=member) == [0]
        bench.acknowledge(RELEASE, 0, member=member)
    await bench.deliver()
    (letter,) = bench.arrived()
    said = told(letter)
    assert (said["message"], said["delivery.count"]) == ("Offset delivery count exceeded the threshold.", "2")
    assert said["member"] == "b"
    assert bench.letters.counts == {"Offset delivery count exceeded the threshold.": 1}


@trio_test
async def test_one_that_nobody_was_given_says_nothing_of_members(bench: LetterBench) -> None:
    await with_records(bench)
    window = bench.share().window
    assert window is not None
    window.skip(0, 1, expired=True, dead=True)
    bench.take(1)
    await bench.deliver()
    said = [told(letter) for letter in bench.arrived()]
    assert [each["offset"] for each in said] == ["0", "1"]
    assert {each["message"] for each in said} == {"The record expired before it could be delivered."}
    assert not {"member", "first.delivery", "last.delivery"} & set(said[0])


@trio_test
async def test_the_topic_has_as_many_partitions_as_the_source(bench: LetterBench) -> None:
    await bench.create(partitions=3)
    bench.write("v")
    bench.take()
    bench.acknowledge(REJECT, 0)
    await bench.deliver()
    assert len(bench.controller.topics.by_name["t.dlq"].partitions) == 3


@pytest.mark.parametrize(
    ("group_topic", "topic_topic", "expected"),
    [("own", "", "own"), ("", "morgue", "morgue"), ("t", "", "t.dlq"), ("own", "morgue", "own")],
)
def test_where_letters_go(desk: Desk, group_topic: str, topic_topic: str, expected: str) -> None:
    @trio_test
    async def work() -> None:
        bench = LetterBench(desk)
        bench.settings = evolve(bench.settings, dead_letter_topic=group_topic)
        await with_records(bench, 1, **({"dead_letter_topic": topic_topic} if topic_topic else {}))
        bench.take()
        bench.acknowledge(REJECT, 0)
        await bench.deliver()
        assert len(bench.arrived(expected)) == 1

    work()


@trio_test
async def test_without_copies_a_letter_says_only_where_its_record_is(bench: LetterBench) -> None:
    bench.settings = evolve(bench.settings, copies_dead_letters=False)
    await with_records(bench)
    bench.take()
    bench.acknowledge(REJECT, 3)
    await bench.deliver()
    (letter,) = bench.arrived()
    assert (letter.key, letter.value) == (None, None)
    assert all(bytes(name).startswith(b"__dlq.errors.") for name, _ in letter.headers)
    assert told(letter)["offset"] == "3"


@trio_test
async def test_without_dead_letters_a_rejected_record_is_done(bench: LetterBench) -> None:
    bench.settings = evolve(bench.settings, dead_letters_enabled=False)
    await with_records(bench)
    bench.take()
    bench.acknowledge(REJECT, 1)
    await bench.deliver()
    assert "t.dlq" not in bench.controller.topics.by_name


@trio_test
async def test_records_of_compressed_batches_are_copied_too(bench: LetterBench) -> None:
    await bench.create()
    bench.write(*(f"v{number}" for number in range(50)), codec=GZIP)
    bench.write("last")
    bench.take()
    bench.acknowledge(REJECT, 7, 31, 50)
    await bench.deliver()
    assert [bytes(letter.value or b"") for letter in bench.arrived()] == [b"v7", b"v31", b"last"]


@trio_test
async def test_a_record_that_is_gone_is_told_and_done(bench: LetterBench, caplog: pytest.LogCaptureFixture) -> None:
    await with_records(bench)
    bench.take()
    bench.acknowledge(REJECT, 0, 4)
    bench.partition(bench.topic).delete_records(3)
    with caplog.at_level(logging.WARNING):
        await bench.deliver()
    gone, there = bench.arrived()
    assert (gone.value, bytes(there.value or b"")) == (None, b"v4")
    assert "gone" in told(gone)["record"]
    assert "record" not in told(there)
    assert bench.letters.gone == 1
    assert "1 records for dead letters of mail are gone" in caplog.text
    assert not bench.durable(DeliveryState.ARCHIVING)


@trio_test
async def test_a_topic_for_letters_with_priorities_takes_each_once_too(bench: LetterBench) -> None:
    await with_records(bench)
    target = await bench.create("t.dlq", priority_enable="true")
    bench.take()
    bench.acknowledge(REJECT, 1, 2, 3)
    # Two writes of the producer, the letters, and then the one that tells of them is not made.
    bench.steps.end_at = bench.steps.count + 2 * (2 + 1) + 1
    with pytest.raises(ExceptionGroup):
        await bench.deliver()
    assert bench.partition(target).reported_end == 3
    await bench.crash()
    bench.share()
    await bench.deliver()
    assert bench.partition(bench.controller.topics.by_name["t.dlq"]).reported_end == 3
    assert not bench.durable(DeliveryState.ARCHIVING)


@trio_test
async def test_many_go_in_portions(bench: LetterBench) -> None:
    await bench.create()
    bench.write(*(f"v{number}" for number in range(700)))
    taken = bench.take(700)
    bench.share().acknowledge("m", [AckBatch(taken[0], taken[-1], [REJECT])])
    writes = bench.states.writes
    await bench.deliver()
    assert bench.arrived_offsets() == list(range(700))
    producer = bench.share().letter_producer
    assert producer is not None
    assert (producer.sent, producer.intended) == (700, ())
    assert bench.states.writes - writes == 5  # a producer; what is intended and what has arrived, twice


# -- nothing is lost, nothing is there twice


async def rejected(bench: LetterBench) -> None:
    """Four letters, in two goes, one with a smaller offset than what went before."""
    await with_records(bench, 6)
    bench.take()
    bench.acknowledge(REJECT, 3, 4)
    await bench.deliver()
    bench.acknowledge(REJECT, 1, 5)
    bench.acknowledge(ACCEPT, 0, 2)
    await bench.deliver()


async def steps_of_all() -> int:
    bench = LetterBench(Desk())
    await rejected(bench)
    return bench.steps.count


async def killed_at(number: int) -> LetterBench:
    bench = LetterBench(Desk(), steps=Steps(number))
    try:
        await rejected(bench)
    except* Ended:
        pass
    await bench.crash()
    bench.share()
    await bench.deliver()
    # Whoever comes next is given what was not settled, and gives it up, too.
    while left := bench.take():
        bench.acknowledge(REJECT, *[offset for offset in left if offset not in (0, 2)])
        bench.acknowledge(ACCEPT, *[offset for offset in left if offset in (0, 2)])
        await bench.deliver()
    return bench


@trio_test
async def test_killed_at_each_step_there_is_neither_none_nor_two() -> None:
    count = await steps_of_all()
    assert count > 20
    for number in range(1, count + 1):
        bench = await killed_at(number)
        assert sorted(bench.arrived_offsets()) == [1, 3, 4, 5], number
        assert not bench.durable(DeliveryState.ARCHIVING), number
        assert bench.share().window is not None
        await trio.lowlevel.checkpoint()


@trio_test
async def test_what_dies_after_a_kill_does_not_take_the_number_of_what_was_sent(bench: LetterBench) -> None:
    """Offset 4 was sent under the first number and not yet told; then 1 dies, which comes before it."""
    await with_records(bench)
    bench.take()
    bench.acknowledge(REJECT, 4)
    writes = bench.states.writes
    bench.steps.end_at = bench.steps.count + 2 * (2 + 1) + 1  # two writes of the producer, the letter, the next write
    with pytest.raises(ExceptionGroup):
        await bench.deliver()
    assert bench.states.writes == writes + 3
    assert bench.arrived_offsets() == [4]
    await bench.crash()
    bench.take()
    bench.acknowledge(REJECT, 1)
    await bench.deliver()
    assert bench.arrived_offsets() == [4, 1]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([REJECT, RELEASE, ACCEPT]), st.integers(0, 11), st.integers(0, 14)),
        min_size=1,
        max_size=12,
    )
)
def test_whatever_happens_each_dead_record_is_there_once(plan: list[tuple[AckType, int, int]]) -> None:
    """Members say this and that; after each of them the broker may be killed, some steps further on (0: it is not)."""

    async def work() -> None:
        bench = LetterBench(Desk())
        await with_records(bench, 12)
        accepted: set[int] = set()
        for kind, offset, after in plan:
            bench.steps.end_at = bench.steps.count + after if after else -1
            try:
                bench.take(12)
                held = {at for run in bench.share().in_flight() for at in range(run.first, run.last + 1)}
                if offset in held:
                    # Perhaps: it may be durable when the broker is killed, and it may not be.
                    accepted |= {offset} if kind is ACCEPT else set()
                    bench.acknowledge(kind, offset)
                await bench.deliver()
            except (Ended, ExceptionGroup):
                await bench.crash()
        bench.steps.end_at = -1
        bench.share()
        await bench.deliver()
        while left := bench.take(12):
            bench.acknowledge(REJECT, *left)
            await bench.deliver()
        held = {at for run in bench.share().in_flight() for at in range(run.first, run.last + 1)}
        bench.acknowledge(REJECT, *sorted(held))
        await bench.deliver()
        arrived = bench.arrived_offsets()
        assert len(arrived) == len(set(arrived))
        assert set(range(12)) - accepted <= set(arrived)
        assert not bench.durable(DeliveryState.ARCHIVING)

    trio.run(work)


# -- what is in the way


def test_while_the_topic_cannot_be_written_letters_wait(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        bench = LetterBench(desk)
        await with_records(bench)
        bench.take()
        bench.acknowledge(REJECT, 1, 2)
        publishing = bench.letters.writing.publishing
        deliver, attempts = publishing.deliver, 0

        async def failing(*arguments: object, **named: object) -> object:
            nonlocal attempts
            attempts += 1
            assert bench.letters.waiting == 2
            if attempts < 4:
                raise StorageError("the disk is full")
            return await deliver(*arguments, **named)  # type: ignore[arg-type]

        publishing.deliver = failing  # type: ignore[method-assign, assignment]
        with caplog.at_level(logging.ERROR):
            await bench.deliver()
        assert bench.arrived_offsets() == [1, 2]

    trio.run(work, clock=MockClock(rate=200))
    assert [record.getMessage() for record in caplog.records] == [
        "t-0, share group mail: 2 dead letters wait: the disk is full"
    ]


def test_a_state_that_cannot_be_written_for_a_while_does_no_harm(desk: Desk) -> None:
    async def work() -> None:
        bench = LetterBench(desk)
        await with_records(bench)
        bench.take()
        bench.acknowledge(REJECT, 1)
        # The producer, the intent and what tells of the letter each fail at first.
        bench.states.refuses_first, bench.states.writes = True, 0
        await bench.deliver()
        assert bench.arrived_offsets() == [1]
        assert not bench.durable(DeliveryState.ARCHIVING)
        assert bench.states.writes == 6
        bench.states.refuses_first = False
        await bench.crash()
        bench.share()
        await bench.deliver()
        assert bench.arrived_offsets() == [1]

    trio.run(work, clock=MockClock(rate=200))


@trio_test
async def test_a_write_that_failed_is_not_told_by_the_next(bench: LetterBench) -> None:
    """Else the letters would count as sent, and their offsets as not, and after a crash they would go again."""
    await with_records(bench)
    bench.take()
    bench.acknowledge(REJECT, 1)
    share, place = bench.share(), SharePlace(GROUP, bench.topic.topic_id, 0)
    intent = LetterProducer(77, 0, "t.dlq", ((1, 1),))
    share.note_letters(intent)
    bench.states.refuses_first, bench.states.writes = True, 0
    share.note_letters(LetterProducer(77, 1, "t.dlq"), [(1, 1)])
    bench.states.refuses_first = False
    bench.acknowledge(ACCEPT, 0)
    assert bench.states.states[place].letter_producer == intent
    assert bench.durable(DeliveryState.ARCHIVING) == {1}


@trio_test
async def test_a_topic_for_letters_that_was_made_again_knows_no_numbers(bench: LetterBench) -> None:
    await with_records(bench)
    bench.take()
    bench.acknowledge(REJECT, 0)
    await bench.deliver()
    bench.settings = evolve(bench.settings, dead_letter_topic="other")
    bench.acknowledge(REJECT, 1)
    await bench.deliver()
    bench.settings = evolve(bench.settings, dead_letter_topic="")
    bench.acknowledge(REJECT, 2)
    await bench.deliver()
    assert bench.arrived_offsets() == [0, 2]
    assert [told(letter)["offset"] for letter in bench.arrived("other")] == ["1"]


@trio_test
async def test_a_state_that_began_anew_forgets_what_was_intended(bench: LetterBench) -> None:
    await with_records(bench)
    bench.take()
    bench.acknowledge(REJECT, 1)
    bench.steps.end_at = bench.steps.count + 2 * 2 + 1  # the intent is durable, the letter is not sent
    with pytest.raises(ExceptionGroup):
        await bench.deliver()
    place = SharePlace(GROUP, bench.topic.topic_id, 0)
    producer = bench.states.states[place].letter_producer
    assert producer is not None
    assert producer.intended == ((1, 1),)
    await bench.crash()
    bench.states.initialize(place, 1, 3)
    bench.take()
    bench.acknowledge(REJECT, 3)
    await bench.deliver()
    assert bench.arrived_offsets() == [3]


# -- KIP-1191's keys

ENABLE = "errors.deadletterqueue.group.enable"
Prepare = Callable[[LetterBench], Awaitable[None]]


def set_enable(bench: LetterBench, topic: str, value: str) -> None:
    alteration = ConfigAlteration(ENABLE, AlterOperation.SET, value)
    bench.desk.run(bench.desk.topics.plan_alter_configs([(ConfigResource(ResourceType.TOPIC, topic), [alteration])]))


def waits_until(desk: Desk, target: str, prepare: Prepare, allow: Prepare, **settings: str) -> None:
    """A letter cannot go where it should, and stays where it is; then it is allowed to."""

    async def work() -> None:
        bench = LetterBench(desk)
        bench.settings = evolve(bench.settings, **settings)
        await with_records(bench, 1)
        await prepare(bench)
        bench.take()
        bench.acknowledge(REJECT, 0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bench.deliver)
            await trio.sleep(5)
            assert (bench.durable(DeliveryState.ARCHIVING), bench.arrived(target)) == ({0}, [])
            await allow(bench)
        assert len(bench.arrived(target)) == 1

    trio.run(work, clock=MockClock(rate=200))


def test_a_topic_that_a_group_names_has_to_take_letters(desk: Desk) -> None:
    async def prepare(bench: LetterBench) -> None:
        await bench.create("business")

    async def allow(bench: LetterBench) -> None:
        set_enable(bench, "business", "true")

    waits_until(desk, "business", prepare, allow, dead_letter_topic="business")


def test_a_dead_letter_topic_may_refuse_letters_of_groups(desk: Desk) -> None:
    async def prepare(bench: LetterBench) -> None:
        await bench.create("t.dlq")
        set_enable(bench, "t.dlq", "false")

    async def allow(bench: LetterBench) -> None:
        set_enable(bench, "t.dlq", "true")

    waits_until(desk, "t.dlq", prepare, allow)


def test_dead_letter_topics_are_made_unless_that_is_switched_off(desk: Desk) -> None:
    async def prepare(bench: LetterBench) -> None:
        name = "errors.deadletterqueue.auto.create.topics.enable"
        alteration = ConfigAlteration(name, AlterOperation.SET, "false")
        all_nodes = ConfigResource(ResourceType.BROKER, "")
        bench.desk.run(bench.desk.topics.plan_alter_configs([(all_nodes, [alteration])]))

    async def allow(bench: LetterBench) -> None:
        assert "t.dlq" not in bench.controller.topics.by_name
        await bench.create("t.dlq")

    waits_until(desk, "t.dlq", prepare, allow)


@trio_test
async def test_topics_that_are_made_for_letters_take_them(bench: LetterBench) -> None:
    await with_records(bench, 1)
    bench.take()
    bench.acknowledge(REJECT, 0)
    await bench.deliver()
    assert bench.controller.topics.by_name["t.dlq"].config[ENABLE] is True
