"""Replaying records of groups, whatever their kind: what makes a group, what ends it, and what makes way."""

import random
from typing import Any

import pytest

from coordinators.group.classic.group import ClassicGroup
from coordinators.group.offsets import Offsets
from coordinators.group.record_formats import OffsetKey, OffsetValue
from coordinators.group.share.replay import ShareReplay
from coordinators.group.streams.replay import StreamsReplay
from coordinators.state_machine import Record
from tests.coordinators.group.shard import read_all
from tests.coordinators.group.share_shard import ShareConsumer, ShareShard
from tests.coordinators.group.streams_shard import StreamsShard, StreamThread


def apply(made: Any, records: list[Record]) -> None:
    by_key = made.by_key()
    for record in records:
        by_key[int.from_bytes(record.key[:2], "big")](record, -1)


def of_shares() -> tuple[Any, Any, list[Record]]:
    """What replays, the group as it should be, and its records."""
    shard = ShareShard()
    shard.topic("t", 4)
    for name in "ab":
        ShareConsumer(shard, name).join()
    return ShareReplay({}), shard.shared, _records(shard)


def of_streams() -> tuple[Any, Any, list[Record]]:
    shard = StreamsShard()
    shard.topic("in", 4)
    for name in ("a1", "b1"):
        StreamThread(shard, name).join()
    return StreamsReplay({}, {}, Offsets()), shard.machine.streams.groups["g"], _records(shard)


def _records(shard: Any) -> list[Record]:
    return [record for _, records in read_all(shard.partition) for record in records]


@pytest.mark.parametrize("kind", [of_shares, of_streams])
def test_the_last_record_of_each_key_is_enough_and_their_order_does_not_matter(kind: Any) -> None:
    for seed in range(10):
        made, expected, records = kind()
        living = [each for each in {each.key: each for each in records}.values() if each.value is not None]
        apply(made, random.Random(seed).sample(living, len(living)))
        assert made.groups["g"].hard_state() == expected.hard_state()


@pytest.mark.parametrize("kind", [of_shares, of_streams])
def test_what_is_gone_makes_no_group_and_without_an_epoch_there_is_none(kind: Any) -> None:
    made, _, records = kind()
    gone = [Record(each.key, None) for each in records]
    apply(made, gone)
    assert made.groups == {}
    apply(made, [*records, *gone])
    assert made.groups == {}


def test_a_classic_group_makes_way_and_has_the_offsets_that_remain() -> None:
    made, _, records = of_streams()
    made.classic["g"] = ClassicGroup("g")
    apply(made, records)
    assert (list(made.groups), made.classic) == (["g"], {})
    made.offsets.commit(OffsetKey("g", "in", 0), OffsetValue(1, -1, "", 0))
    apply(made, [Record(each.key, None) for each in records])
    assert (made.groups, list(made.classic)) == ({}, ["g"])
