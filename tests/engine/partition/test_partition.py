"""A partition as its clients use it: one face for log and stage."""

import math

import pytest
from attrs import evolve

from engine.errors import BrokerError, FencedLeaderEpoch, OffsetOutOfRange, RequestTimedOut, UnknownLeaderEpoch
from engine.log.types import Receipt
from engine.records.batch import whole
from engine.stage.config import ExtensionConfig
from tests.engine.logs import batch
from tests.engine.partition.staging_bench import Bench as StagingBench
from tests.engine.partition.test_durable_log import Bench, bench
from tests.engine.stage.world import record

__all__ = ["bench"]

PRIORITISED = ExtensionConfig(priority_enable="true")


def test_without_a_stage_a_batch_is_in_the_log_at_once(bench: Bench) -> None:
    receipt = bench.partition.append(whole(batch(3)), deadline=0)
    assert receipt == Receipt(0, 2, -1, 0)
    told: list[BrokerError | None] = []
    bench.partition.when_durable(receipt, math.inf, told.append)
    assert told == []
    bench.sync()
    assert told == [None]


def test_a_receipt_of_staged_records_is_good_once_stage_and_log_are_durable() -> None:
    bench = StagingBench()
    (receipt,) = bench.produce(record("now"), record("later", delay=60_000))
    assert isinstance(receipt, Receipt)
    told: list[BrokerError | None] = []
    bench.partition.when_durable(receipt, math.inf, told.append)
    bench.sync_stage()
    assert bench.partition.log.end_offset == receipt.last_offset + 1
    assert told == [], "its immediate record is in the log and not synced"
    bench.sync(1)
    assert told == [None]


def test_records_are_deleted_and_the_answer_is_the_new_start(bench: Bench) -> None:
    bench.partition.write(batch(3))
    bench.sync()
    starts: list[int] = []
    bench.partition.delete_records(2).when_settled(starts.append, starts.append)
    bench.partition.delete_records(1).when_settled(starts.append, starts.append)
    assert starts == [2, 2]
    with pytest.raises(OffsetOutOfRange):
        bench.partition.delete_records(4)


def test_what_is_promised_is_put_in_order_before_it_is_deleted() -> None:
    bench = StagingBench(evolve(PRIORITISED, priority_fetch_max_records=2))
    bench.produce(*(record(str(number)) for number in range(5)))
    bench.sync()
    starts: list[object] = []
    bench.partition.delete_records(bench.partition.reported_end).when_settled(starts.append, starts.append)
    assert starts == []
    bench.sync(10)
    assert starts == [5]
    assert bench.partition.log.start_offset == bench.partition.reported_end == 5


def test_who_gives_up_a_deletion_that_still_waits_for_an_order_keeps_the_start() -> None:
    bench = StagingBench(PRIORITISED)
    bench.produce(record("a"))
    bench.sync()
    ended: list[object] = []
    deletion = bench.partition.delete_records(1)
    deletion.when_settled(ended.append, ended.append)
    deletion.abandon()
    assert isinstance(ended[0], RequestTimedOut)
    bench.sync(10)
    assert bench.partition.high_watermark.offset == 1
    assert bench.partition.log.start_offset == 0


def test_a_deletion_ends_with_its_partition() -> None:
    bench = StagingBench(PRIORITISED)
    bench.produce(record("a"))
    bench.sync()
    ended: list[object] = []
    bench.partition.delete_records(1).when_settled(ended.append, ended.append)
    bench.partition.remove()
    assert ended == [bench.partition.offline]


def test_clients_with_another_leader_epoch_are_refused(bench: Bench) -> None:
    partition = bench.open(leader_epoch=3)
    partition.check_leader_epoch(-1)
    partition.check_leader_epoch(3)
    with pytest.raises(FencedLeaderEpoch):
        partition.check_leader_epoch(2)
    with pytest.raises(UnknownLeaderEpoch):
        partition.check_leader_epoch(4)


def test_the_current_epoch_ends_at_the_high_watermark(bench: Bench) -> None:
    bench.partition.write(batch(2))
    bench.sync()
    bench.partition.write(batch(2))
    assert bench.partition.end_of_epoch(0) == (0, 2)
    assert bench.partition.end_of_epoch(7) == (-1, -1)


def test_what_is_sent_is_counted_by_offsets(bench: Bench) -> None:
    bench.partition.write(batch(3))
    bench.partition.write(batch(2))
    bench.sync()
    partition = bench.partition
    for offset, max_bytes, records in ((1, 1_000_000, 4), (0, 1, 3)):
        before = partition.traffic.sent_records
        read = partition.read(offset, max_bytes, at_least_one=True)
        assert read.log_read is not None
        partition.count_sent(offset, read.log_read, committed=False)
        assert partition.traffic.sent_records - before in (records, 5), "to the next index entry at most"
    assert partition.traffic.sent_records >= 7
