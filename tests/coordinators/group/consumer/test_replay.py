"""Replaying records of consumer groups, also as compaction leaves them."""

import random

from coordinators.group.classic.group import ClassicGroup
from coordinators.group.consumer.group import ConsumerGroup
from coordinators.group.consumer.record_formats import EpochValue, epoch_record, group_key
from coordinators.group.consumer.replay import ConsumerReplay
from coordinators.group.offsets import Offsets
from coordinators.group.record_formats import OffsetKey, OffsetValue
from coordinators.state_machine import Record
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard, settle
from tests.coordinators.group.shard import read_all


def replay(records: list[Record]) -> ConsumerReplay:
    made = ConsumerReplay({}, {}, Offsets())
    for record in records:
        made.by_key()[int.from_bytes(record.key[:2], "big")](record, -1)
    return made


def test_the_last_record_of_each_key_is_enough_and_their_order_does_not_matter() -> None:
    shard = ConsumerShard()
    shard.topic("t", 6)
    members = [Consumer(shard, name, options={"regex": "t.*"}) for name in "abc"]
    for each in members:
        each.join()
    settle(*members)
    members.pop().leave()
    settle(*members)
    compacted = {record.key: record for _, records in read_all(shard.partition) for record in records}
    living = [record for record in compacted.values() if record.value is not None]
    for seed in range(20):
        shuffled = random.Random(seed).sample(living, len(living))
        (group,) = replay(shuffled).groups.values()
        assert group.hard_state() == shard.group.hard_state()


def test_a_group_takes_the_place_of_a_classic_one_and_leaves_its_offsets_to_one() -> None:
    made = replay([])
    made.classic["g"] = ClassicGroup("g")
    made.by_key()[3](epoch_record("g", EpochValue(1)), -1)
    assert (list(made.groups), made.classic) == (["g"], {})
    made.offsets.commit(OffsetKey("g", "t", 0), OffsetValue(1, -1, "", 0))
    made.by_key()[3](epoch_record("g", None), -1)
    assert (made.groups, list(made.classic)) == ({}, ["g"])


def test_the_end_of_something_unknown_makes_nothing() -> None:
    for kind in (3, 6):
        assert replay([Record(group_key(kind, "g"), None)]).groups == {}
    for kind in (5, 7, 8, 16):
        assert replay([Record(group_key(kind, "g", "m"), None)]).groups == {}


def test_what_older_brokers_wrote_about_partitions_is_passed_over() -> None:
    made = replay([epoch_record("g", EpochValue(2)), Record(group_key(4, "g"), b"\0\0\1\0")])
    assert isinstance(made.groups["g"], ConsumerGroup)
