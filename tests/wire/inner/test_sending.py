"""Records that a door writes for its caller."""

from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from coordinators.tracing.tracing import Tracing
from engine.errors import InvalidRecord, TopicAuthorizationFailed, UnknownTopicOrPartition
from engine.trace.kinds import EventKind
from tests.wire.inner.house import House, open_house, user
from tests.wire.kafka.guarded import Guarded, allow
from tests.wire.kafka.quotas import bind
from tests.wire.kafka.requests import create_topic, fetched
from wire.inner.records import MOST_HEADERS, NewRecord, SentRecord, asking_headers
from wire.inner.sending import LEADER, NONE, Outcome

TOPIC_KIND, READ, WRITE, DESCRIBE = 2, 3, 4, 8


async def made(house: House, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
    await create_topic(await house.door.connect(), "t", partitions, configs)


async def sent(house: House, *records: NewRecord, caller: str | None = None, **options: object) -> list[Outcome]:
    with house.guest(*(() if caller is None else (user(caller),))) as guest:
        return await house.sending.send(guest, "t", records, **options)  # type: ignore[arg-type]


def places(outcomes: list[Outcome]) -> list[tuple[int, int]]:
    assert all(isinstance(each, SentRecord) for each in outcomes), outcomes
    return [(each.partition, each.offset) for each in outcomes if isinstance(each, SentRecord)]


@trio_test
async def test_a_record_written_by_a_door_is_read_by_a_kafka_client(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await made(house)
        outcomes = await sent(house, NewRecord(key=b"k", value=b"one"), NewRecord(value=b"two"))
        assert places(outcomes) == [(0, 0), (0, 1)]
        client = await house.door.connect()
        held = bytes((await fetched(client, "t")).records)
        assert b"one" in held
        assert b"two" in held


@trio_test
async def test_keys_go_where_the_java_client_puts_them(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await made(house, 3)
        by_murmur2 = await sent(house, NewRecord(key=b"user123"))
        by_fnv = await sent(house, NewRecord(key=b"user123"), partitioner="fnv1a")
        assert (places(by_murmur2)[0][0], places(by_fnv)[0][0]) == (0, 1)
        in_turn = await sent(house, *[NewRecord(value=b"v")] * 6, partitioner="round_robin")
        assert sorted(partition for partition, _ in places(in_turn)) == [0, 0, 1, 1, 2, 2]


@trio_test
async def test_a_partition_that_is_named_is_taken_and_one_that_there_is_not_is_refused_alone(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await made(house, 2)
        right, wrong = await sent(house, NewRecord(partition=1), NewRecord(partition=2))
        assert places([right]) == [(1, 0)]
        assert isinstance(wrong, UnknownTopicOrPartition)
        assert "0 to 1" in str(wrong)


@trio_test
async def test_what_is_delayed_has_no_offset_and_what_is_not_has_one(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await made(house)
        delayed = NewRecord(value=b"later", headers=asking_headers(delay_ms=200))
        outcomes = await sent(house, delayed, NewRecord(value=b"now"))
        assert places(outcomes) == [(0, -1), (0, 0)]
        with house.guest() as guest, trio.fail_after(10):
            found = await house.reading.read(guest, "t", 0, 1, wait_s=8)
        assert [record.value for record in found.records] == [b"later"]
        assert ("__tide-delay", b"200") in found.records[0].headers


@trio_test
async def test_a_header_that_cannot_be_obeyed_names_its_record(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await made(house)
        wrong = NewRecord(headers=(("tide-delay", b"soon"),))
        outcomes = await sent(house, NewRecord(headers=asking_headers(ttl_ms=5_000)), wrong, NewRecord(value=b"plain"))
        beside, blamed, plain = outcomes
        assert isinstance(blamed, InvalidRecord)
        assert "soon" in str(blamed)
        assert isinstance(beside, InvalidRecord)
        assert "another record" in str(beside)
        assert isinstance(plain, SentRecord)


@trio_test
async def test_acks_are_obeyed(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await made(house)
        assert places(await sent(house, NewRecord(), acks=LEADER)) == [(0, 0)]
        assert places(await sent(house, NewRecord(), acks=NONE)) == [(0, -1)]
        assert places(await sent(house, NewRecord())) == [(0, 2)]


@trio_test
async def test_many_records_are_several_batches_in_order(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await made(house)
        outcomes = await sent(house, *[NewRecord(value=b"%d" % n + b"x" * 4_000) for n in range(300)])
        assert places(outcomes) == [(0, offset) for offset in range(300)]


@trio_test
async def test_a_missing_topic_is_made_where_the_broker_makes_such(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        assert places(await sent(house, NewRecord())) == [(0, 0)]
    async with open_house(tmp_path / "other", {"auto.create.topics.enable": False}) as house:
        with pytest.raises(UnknownTopicOrPartition):
            await sent(house, NewRecord())


@trio_test
async def test_who_may_not_write_is_refused_as_a_client_is(tmp_path: Path) -> None:
    settings = {"authorizer.enable": "true", "super.users": "User:root"}
    async with open_house(tmp_path, settings) as house:
        guarded = Guarded(house.door)
        await create_topic(await guarded.client("root"), "t")
        with pytest.raises(TopicAuthorizationFailed):
            await sent(house, NewRecord(), caller="eve")
        guarded.rule(allow("eve", DESCRIBE, TOPIC_KIND, "t"))
        (denied,) = await sent(house, NewRecord(), caller="eve")
        assert isinstance(denied, TopicAuthorizationFailed)
        guarded.rule(allow("eve", WRITE, TOPIC_KIND, "t"))
        assert places(await sent(house, NewRecord(), caller="eve")) == [(0, 0)]


@trio_test
async def test_who_has_used_up_its_quota_is_answered_later(tmp_path: Path) -> None:
    async with open_house(tmp_path, {"quota.window.num": 2}) as house:
        await made(house)
        client = await house.door.connect()
        await bind(client, {"client-id": "http"}, producer_byte_rate=40_000.0)
        began = trio.current_time()
        for _ in range(12):
            await sent(house, NewRecord(value=b"x" * 10_000))
        assert trio.current_time() - began > 0.5
        with house.guest() as guest:
            found = await house.reading.read(guest, "t", 0, 0)
        assert len(found.records) == 12


@trio_test
async def test_the_trace_of_a_record_says_which_door_chose_its_partition(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await made(house)
        await sent(house, NewRecord(value=b"v"), NewRecord(value=b"d", headers=asking_headers(delay_ms=60_000)))
        traces = list(house.service(Tracing).store.newest_first())
        doors = [
            event.attributes["door"]
            for trace in traces
            for event in trace.events
            if event.kind is EventKind.PUBLISH_PARTITIONED
        ]
        assert doors == ["http", "http"]


@trio_test
async def test_nobody_chose_the_partition_of_a_record_that_names_it(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await made(house)
        await sent(house, NewRecord(value=b"v", partition=0))
        (trace,) = house.service(Tracing).store.newest_first()
        assert EventKind.PUBLISH_PARTITIONED not in [event.kind for event in trace.events]


@trio_test
async def test_a_record_of_too_many_headers_is_refused_alone(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await made(house)
        most = NewRecord(headers=[("h", b"")] * MOST_HEADERS)
        outcomes = await sent(house, most, NewRecord(headers=[("h", b"")] * (MOST_HEADERS + 1)), NewRecord(value=b"v"))
        assert isinstance(outcomes[1], InvalidRecord)
        assert places([outcomes[0], outcomes[2]]) == [(0, 0), (0, 1)]
