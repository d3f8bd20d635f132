"""Prioritised topics: a record overtakes whatever nobody has read yet, and all readers see one order."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from compat_tests.clients import CLIENTS, confluent
from compat_tests.clients.base import Record
from compat_tests.extensions.holding import batch, end_offset, fetched_bytes, tide, tidegate_only, watching
from compat_tests.java.tool import tool
from compat_tests.waiting import eventually
from compat_tests.wire.batches import parse
from compat_tests.wire.requests import batches, fetched, produce, produced

pytestmark = tidegate_only
MakeTopic = Callable[..., str]
PRIORITIES = ("critical", "high", "normal", "low", "background")


def send(bootstrap: str, topic: str, *records: Record) -> None:
    answer = produced(bootstrap, produce(topic, batch(records)))
    assert answer.error_code == 0, answer.error_message


def fill(bootstrap: str, topic: str, count: int) -> None:
    """Plain records that nobody reads."""
    producer = confluent.producer_for(bootstrap, queue_buffering_max_messages=200_000, log_level=0)
    reports = confluent.send(producer, topic, [Record(b"normal %d" % number) for number in range(count)])
    assert producer.flush(60) == 0
    assert not any(error for error, _ in reports)


def first_value(data: bytes) -> bytes | None:
    return parse(data)[0].values[0]


def test_a_critical_record_is_the_next_of_the_next_fetch(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true")
    fill(bootstrap, topic, 100_000)
    send(bootstrap, topic, Record(b"critical 1", b"k", tide(priority="critical")))
    assert end_offset(bootstrap, topic) == 100_001
    answer = fetched(bootstrap, topic)
    assert (answer.high_watermark, answer.last_stable_offset) == (100_001, 100_001)
    read = parse(bytes(answer.records))
    assert read[0].values[0] == b"critical 1"
    position = read[-1].last_offset + 1
    assert position <= 500
    send(bootstrap, topic, Record(b"critical 2", b"k", tide(priority=0)))
    assert first_value(fetched_bytes(bootstrap, topic, position)) == b"critical 2"
    assert end_offset(bootstrap, topic) == 100_002


def test_the_first_record_with_a_priority_makes_the_partition_prioritised(
    bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    for value in (b"a", b"b"):
        send(bootstrap, topic, Record(value))
    send(bootstrap, topic, Record(b"low", b"k", tide(priority="low")))
    for value in (b"c", b"d"):
        send(bootstrap, topic, Record(value))
    send(bootstrap, topic, Record(b"high", b"k", tide(priority="high")))
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"low")
    assert watcher.values == [b"a", b"b", b"high", b"c", b"d", b"low"]


def test_with_priority_off_the_header_is_plain_data(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="false")
    send(bootstrap, topic, Record(b"a"), Record(b"b", b"k", tide(priority="whatever")))
    send(bootstrap, topic, Record(b"c", b"k", tide(priority="critical")))
    found = CLIENTS["confluent"].consume(bootstrap, topic, 3)
    assert [record.value for record in found] == [b"a", b"b", b"c"]
    assert found[2].headers == tide(priority="critical")


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_reads_by_priority_and_whoever_comes_later_the_same(
    bootstrap: str, make_topic: MakeTopic, name: str
) -> None:
    topic = make_topic(priority_enable="true")
    records = [
        Record(f"{priority} {number}".encode(), b"k", tide(priority=priority))
        for number in range(3)
        for priority in reversed(PRIORITIES)
    ]
    send(bootstrap, topic, *records[:8])
    send(bootstrap, topic, *records[8:])
    found = CLIENTS[name].consume(bootstrap, topic, len(records))
    wanted = [f"{priority} {number}".encode() for priority in PRIORITIES for number in range(3)]
    assert [record.value for record in found] == wanted
    assert [record.offset for record in found] == list(range(15))
    assert [record.value for record in CLIENTS["confluent"].consume(bootstrap, topic, 15)] == wanted


def test_readers_at_the_same_time_see_one_order(bootstrap: str, make_topic: MakeTopic) -> None:
    """Whoever comes first fixes the order for all, while more arrives."""
    topic = make_topic(priority_enable="true")
    records = [Record(b"%d" % number, b"k", tide(priority=number % 5)) for number in range(3000)]
    names = ("confluent", "kafkapython", "aio", "confluent")
    with ThreadPoolExecutor(len(names)) as pool:
        readers = [pool.submit(CLIENTS[name].consume, bootstrap, topic, len(records)) for name in names]
        for start in range(0, len(records), 60):
            send(bootstrap, topic, *records[start : start + 60])
        first, *others = [[record.value for record in reader.result(60)] for reader in readers]
    assert sorted(first, key=lambda value: int(value or b"")) == [record.value for record in records]
    for priority in range(5):
        lane = [value for value in first if int(value or b"") % 5 == priority]
        assert lane == [record.value for record in records[priority::5]]
    assert [other == first for other in others] == [True] * 3


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_asks_for_a_priority(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    topic = make_topic(priority_enable="true")
    records = [Record(b"plain %d" % number, b"k") for number in range(20)]
    CLIENTS[name].produce(bootstrap, topic, [*records, Record(b"urgent", b"k", tide(priority="critical"))])
    assert first_value(fetched_bytes(bootstrap, topic, 0)) == b"urgent"


def test_a_delayed_record_enters_its_lane_when_it_is_due(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true")
    send(bootstrap, topic, Record(b"late", b"k", tide(delay=500, priority="critical")), Record(b"a"), Record(b"b"))
    assert end_offset(bootstrap, topic) == 2
    with watching(bootstrap, topic) as watcher:
        assert watcher.arrival(b"late").waited_ms >= 500
    assert watcher.values == [b"a", b"b", b"late"]


def test_strict_serves_the_highest_lane_alone(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true", priority_policy="strict")
    urgent = [Record(b"critical %d" % number, b"k", tide(priority="critical")) for number in range(200)]
    send(bootstrap, topic, Record(b"background", b"k", tide(priority="background")), *urgent)
    read = [value for each in batches(bootstrap, topic) for value in each.values]
    assert read == [record.value for record in urgent] + [b"background"]


def test_weights_are_shares_of_records(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true")
    for priority in PRIORITIES:
        send(bootstrap, topic, *(Record(priority.encode(), b"k", tide(priority=priority)) for _ in range(300)))
    read = [value for each in batches(bootstrap, topic) for value in each.values]
    assert len(read) == 1500
    # As long as no lane is empty, that is until the first has given its 300 at a share of a half.
    saturated = read[:500]
    shares = [saturated.count(priority.encode()) / 500 for priority in PRIORITIES]
    assert shares == pytest.approx([0.50, 0.25, 0.15, 0.07, 0.03], abs=0.02)


def test_lag_counts_what_is_ready_and_disturbs_nothing(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true")
    send(bootstrap, topic, *(Record(b"normal %d" % number) for number in range(50)))
    consumer = confluent.consumer_for(
        bootstrap, group_id=topic, auto_offset_reset="earliest", message_max_bytes=1000, fetch_message_max_bytes=1000
    )
    consumer.subscribe([topic])
    found = confluent.read(consumer, 10)
    consumer.commit(offsets=_place(topic, found[-1].offset + 1), asynchronous=False)
    consumer.close()
    held = Record(b"held", b"k", tide(delay=3_600_000))
    send(bootstrap, topic, *(Record(b"low %d" % number, b"k", tide(priority="low")) for number in range(50)), held)
    line = next(
        line.split()
        for line in tool(
            "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", bootstrap, "--describe", "--group", topic
        ).splitlines()
        if topic in line.split()[1:2]
    )
    current, end, lag = (int(word) for word in line[3:6])
    assert (current, end, lag) == (10, 100, 90)
    send(bootstrap, topic, Record(b"critical", b"k", tide(priority="critical")))
    with watching(bootstrap, topic) as watcher:
        place = watcher.arrival(b"critical").record.offset
    assert place <= 50, "the tool had the order of what nobody has read fixed"


def _place(topic: str, offset: int) -> list[confluent.TopicPartition]:
    return [confluent.TopicPartition(topic, 0, offset)]


def test_priority_is_switched_on_and_off_by_kafkas_own_tool(bootstrap: str, make_topic: MakeTopic) -> None:
    """What is in the lanes comes out of them first, so that nothing overtakes it by being plain."""
    topic = make_topic(priority_enable="false")

    def switch(value: str) -> None:
        entity = ("--entity-type", "topics", "--entity-name", topic)
        tool("ConfigCommand", bootstrap, "--alter", *entity, "--add-config", f"priority.enable={value}")

    send(bootstrap, topic, Record(b"a"))
    switch("true")
    send(bootstrap, topic, Record(b"b"), Record(b"c", b"k", tide(priority="high")))
    switch("false")
    send(bootstrap, topic, Record(b"d"))
    found = CLIENTS["confluent"].consume(bootstrap, topic, 4)
    assert [record.value for record in found] == [b"a", b"c", b"b", b"d"]

    def offset_of_another() -> bool:
        return bool(produced(bootstrap, produce(topic, batch([Record(b"e")]))).base_offset >= 0)

    # Once the lanes are empty, producers are told offsets again.
    CLIENTS["confluent"].consume(bootstrap, topic, 4)
    eventually(lambda: len(CLIENTS["confluent"].consume(bootstrap, topic, 4)) == 4 and offset_of_another(), True)
