"""What is handed out, to whom, how often and in what pieces."""

import time

import pytest
from attrs import define, field

from compat_tests.share.asking import ask, prepare_group, set_group
from compat_tests.share.conftest import MakeMember, MakeTopic, make_known
from compat_tests.share.member import ACCEPT, BATCH_OPTIMIZED, GAP, RECORD_LIMIT, REJECT, RELEASE, ShareMember
from compat_tests.share.sending import fill
from compat_tests.transactions.writers import PATIENCE_S, confluent, confluent_producer
from compat_tests.waiting import eventually
from compat_tests.wire.batches import CODEC_NUMBERS, build
from compat_tests.wire.requests import batches, produce, produced
from wire.kafka.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic

INVALID_CONFIG, INVALID_RECORD_STATE = 40, 121


# -- pieces


@pytest.mark.parametrize(
    ("mode", "first", "second"),
    [(BATCH_OPTIMIZED, list(range(10)), list(range(10, 20))), (RECORD_LIMIT, [0, 1, 2, 3], [4, 5, 6, 7])],
)
def test_modes_of_acquiring(
    bootstrap: str, make_queue: MakeTopic, make_member: MakeMember, mode: int, first: list[int], second: list[int]
) -> None:
    """Whole batches, though more than was asked for; or never more than that."""
    topic = make_queue()
    fill(bootstrap, topic, 20, together=10)
    one, two = make_member(), make_member()
    for member, expected in ((one, first), (two, second)):
        assert member.fetch(topic, max_records=4, share_acquire_mode=mode).offsets == expected


def test_a_large_batch_is_cut_into_ranges(bootstrap: str, make_queue: MakeTopic, make_member: MakeMember) -> None:
    topic = make_queue()
    fill(bootstrap, topic, 30, together=10)
    found = make_member().fetch(topic, max_records=30, batch_size=10)
    assert found.ranges == ((0, 9, 1), (10, 19, 1), (20, 29, 1))


@pytest.mark.parametrize("codec", [codec for codec in CODEC_NUMBERS if codec != "none"])
def test_compressed_batches(bootstrap: str, make_queue: MakeTopic, make_member: MakeMember, codec: str) -> None:
    topic = make_queue()
    sent = fill(bootstrap, topic, 10, codec=codec)
    found = make_member().fetch(topic, max_records=3, share_acquire_mode=RECORD_LIMIT)
    assert found.values == dict(enumerate(sent[:3]))


def test_several_partitions(bootstrap: str, make_queue: MakeTopic, make_member: MakeMember) -> None:
    topic = make_queue(4)
    member = make_member()
    for partition in range(4):
        fill(bootstrap, topic, 5, partition=partition)
    for partition in range(4):
        assert member.collect(topic, 5, partition) == dict.fromkeys(range(5), 1)
        assert member.acknowledge(topic, (0, 4, ACCEPT), partition=partition) == 0


def test_two_members_never_have_the_same_record(bootstrap: str, make_queue: MakeTopic, make_member: MakeMember) -> None:
    topic = make_queue()
    fill(bootstrap, topic, 100, together=10)
    one, two = make_member(), make_member()
    had: list[int] = []
    while len(had) < 100:
        for member in (one, two):
            had += member.fetch(topic, max_records=10).offsets
    assert sorted(had) == list(range(100))


# -- again


def test_the_limit_of_deliveries(bootstrap: str, group: str, make_queue: MakeTopic, make_member: MakeMember) -> None:
    prepare_group(bootstrap, group, **{"share.delivery.count.limit": 3})
    topic = make_queue()
    fill(bootstrap, topic, 1)
    member = make_member()
    for count in (1, 2, 3):
        assert member.collect(topic, 1) == {0: count}
        assert member.acknowledge(topic, (0, 0, RELEASE)) == 0
    fill(bootstrap, topic, 1)
    assert member.collect(topic, 1) == {1: 1}


def test_a_lock_that_runs_out(bootstrap: str, group: str, make_queue: MakeTopic, make_member: MakeMember) -> None:
    prepare_group(bootstrap, group, **{"share.record.lock.duration.ms": 1000})
    topic = make_queue()
    fill(bootstrap, topic, 3)
    slow, other = make_member(), make_member()
    began = time.monotonic()
    assert slow.collect(topic, 3) == dict.fromkeys(range(3), 1)
    assert other.collect(topic, 3) == dict.fromkeys(range(3), 2)
    assert time.monotonic() - began > 0.9
    assert slow.acknowledge(topic, (0, 2, ACCEPT)) == INVALID_RECORD_STATE
    assert other.acknowledge(topic, (0, 2, ACCEPT)) == 0


def test_a_waiting_fetch_is_woken(bootstrap: str, make_queue: MakeTopic, make_member: MakeMember) -> None:
    """By records that come."""
    topic = make_queue()
    two = make_member()
    two.fetch(topic, max_wait_ms=0)
    waiting = two.send_fetch(topic, max_wait_ms=15_000)
    began = time.monotonic()
    fill(bootstrap, topic, 2)
    assert two.receive_fetch(waiting).responses[0].partitions[0].acquired_records
    assert time.monotonic() - began < 10


def test_poison_is_isolated(bootstrap: str, group: str, make_queue: MakeTopic, make_member: MakeMember) -> None:
    """A batch that comes again and again comes in smaller pieces, and on its last attempt each record alone."""
    prepare_group(bootstrap, group, **{"share.delivery.count.limit": 5})
    topic = make_queue()
    fill(bootstrap, topic, 16)
    member = make_member()
    sizes: dict[int, list[int]] = {}
    done: set[int] = set()
    deadline = time.monotonic() + 20
    while len(done) < 16:
        assert time.monotonic() < deadline, sizes
        for first, last, count in member.fetch(topic).ranges:
            sizes.setdefault(count, []).append(last - first + 1)
            done |= set(range(first, last + 1)) if count == 5 else set()
            assert member.acknowledge(topic, (first, last, RELEASE)) == 0
    assert sizes[1] == [16]
    assert sizes[5] == [1] * 16
    assert max(sizes[4]) < 16


def test_the_window_is_bounded(bootstrap: str, group: str, make_queue: MakeTopic, make_member: MakeMember) -> None:
    """One that is not settled holds back what lies further than the window behind it."""
    prepare_group(bootstrap, group, **{"share.partition.max.record.locks": 100})
    topic = make_queue()
    fill(bootstrap, topic, 300, together=10)
    one, two = make_member(), make_member()
    assert one.fetch(topic, max_records=1, share_acquire_mode=RECORD_LIMIT).offsets == [0]
    had = []
    while found := two.fetch(topic, max_wait_ms=200).offsets:
        had += found
        assert two.acknowledge(topic, (found[0], found[-1], ACCEPT)) == 0
    assert had == list(range(1, had[-1] + 1))
    assert 99 <= had[-1] < 120
    assert one.acknowledge(topic, (0, 0, ACCEPT)) == 0
    assert two.fetch(topic).offsets[0] == had[-1] + 1


# -- where to begin


@pytest.mark.parametrize(
    ("reset", "expected"), [("earliest", [0, 1, 2, 3]), ("latest", [3]), ("by_duration:PT1H", [2, 3])]
)
def test_where_a_group_begins(
    bootstrap: str, group: str, make_topic: MakeTopic, make_member: MakeMember, reset: str, expected: list[int]
) -> None:
    prepare_group(bootstrap, group, **{"share.auto.offset.reset": reset})
    topic = make_topic()
    now = int(time.time() * 1000)
    for age_h in (3, 2, 0):
        batch = build([b"x"], timestamps_ms=[now - age_h * 3_600_000])
        assert produced(bootstrap, produce(topic, batch)).error_code == 0
    make_known(bootstrap, group, topic)
    member = make_member()
    found = member.fetch(topic, max_wait_ms=0).offsets
    assert produced(bootstrap, produce(topic, build([b"x"]))).error_code == 0
    while 3 not in found:
        found += member.fetch(topic).offsets
    assert found == expected


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("share.auto.offset.reset", "soon"),
        ("share.auto.offset.reset", "by_duration:-PT1S"),
        ("share.isolation.level", "dirty"),
        ("share.record.lock.duration.ms", "1"),
        ("share.delivery.count.limit", "1"),
        ("share.partition.max.record.locks", "10"),
        ("share.renew.acknowledge.enable", "perhaps"),
        ("share.no.such.key", "1"),
    ],
)
def test_values_that_are_refused(bootstrap: str, group: str, key: str, value: str) -> None:
    assert set_group(bootstrap, group, {key: value}) == INVALID_CONFIG


# -- offsets without records


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_transactions(
    bootstrap: str, group: str, make_queue: MakeTopic, make_member: MakeMember, isolation: str
) -> None:
    prepare_group(bootstrap, group, **{"share.isolation.level": isolation})
    topic = make_queue()
    transactions = [(["lost"], False), (["kept"], True)]
    confluent(bootstrap, topic, group, transactions)
    writer = confluent_producer(bootstrap, group)
    writer.begin_transaction()
    writer.produce(topic, "open", partition=0)
    writer.flush(PATIENCE_S)
    expected = {b"kept"} if isolation == "read_committed" else {b"lost", b"kept", b"open"}
    worked = Working(make_member(), topic)
    eventually(worked.look, expected)
    writer.commit_transaction(PATIENCE_S)
    eventually(worked.look, expected | {b"open"})


@define(eq=False)
class Working:
    """A member that accepts what there is, and says of the other offsets that there is nothing."""

    member: ShareMember
    topic: str
    values: set[bytes | None] = field(factory=set)

    def look(self) -> set[bytes | None]:
        """One more fetch; all that it has seen so far."""
        found = self.member.fetch(self.topic, max_wait_ms=100)
        self.values.update(found.values.values())
        for first, last, _ in found.ranges:
            kinds = [ACCEPT if offset in found.values else GAP for offset in range(first, last + 1)]
            assert self.member.acknowledge(self.topic, (first, last, kinds)) == 0
        return self.values


def test_compacted_offsets(bootstrap: str, make_queue: MakeTopic, make_member: MakeMember) -> None:
    """Records that vanish after they were released are not in the way of those behind them."""
    topic = make_queue(cleanup_policy="compact", segment_ms=1, min_cleanable_dirty_ratio=0.01)
    now = int(time.time() * 1000)
    for number in range(6):
        batch = build([b"%d" % number], timestamps_ms=[now + 100 * number])
        assert produced(bootstrap, produce(topic, batch)).error_code == 0
    member = make_member()
    assert member.collect(topic, 6) == dict.fromkeys(range(6), 1)
    eventually(lambda: [batch.values for batch in batches(bootstrap, topic)][-2:], [(b"4",), (b"5",)], seconds=20)
    eventually(lambda: sum(len(batch.values) for batch in batches(bootstrap, topic)), 2, seconds=20)
    assert member.acknowledge(topic, (0, 5, RELEASE)) == 0
    worked = Working(member, topic)
    eventually(worked.look, {b"4", b"5"})
    fill(bootstrap, topic, 1)
    eventually(worked.look, {b"4", b"5", b"0-0"})


def test_records_deleted_before_they_were_handed_out(
    bootstrap: str, make_queue: MakeTopic, make_member: MakeMember
) -> None:
    topic = make_queue()
    fill(bootstrap, topic, 6, together=2)
    member = make_member()
    assert member.fetch(topic, max_records=2).offsets == [0, 1]
    delete_before(member, topic, 4)
    other = make_member()
    assert other.collect(topic, 2) == {4: 1, 5: 1}
    assert member.acknowledge(topic, (0, 1, REJECT)) == 0
    assert other.acknowledge(topic, (4, 5, ACCEPT)) == 0


def delete_before(member: ShareMember, topic: str, offset: int) -> None:
    wanted = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])
    answer = ask(member.wire, DeleteRecordsRequest(topics=[wanted], timeout_ms=10_000), 2)
    assert answer.topics[0].partitions[0].error_code == 0
