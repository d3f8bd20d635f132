"""The end of a consumer group leaves nothing but offsets."""

from coordinators.group.consumer.removal import group_tombstones
from coordinators.runtime import Outcome
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard
from tests.coordinators.group.shard import read_all


def test_a_group_is_forgotten_wholly() -> None:
    shard = ConsumerShard()
    shard.topic("t", 2)
    Consumer(shard, "a", options={"regex": "t", "instance_id": "i"}).join()
    written = {record.key for _, records in read_all(shard.partition) for record in records}
    tombstones = group_tombstones(shard.group)
    assert {record.key for record in tombstones} == written
    shard.ask(lambda _: Outcome(tombstones))
    assert shard.machine.consumers.groups == {}
    assert shard.replayed().hard_state() == shard.machine.hard_state()
