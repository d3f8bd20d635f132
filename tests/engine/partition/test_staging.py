"""A partition with a stage: one after the other, write-ahead, nothing lost when log or stage fail."""

import errno
import secrets
from typing import Any

import pytest
from attrs import evolve

from engine.errors import (
    InvalidProducerEpoch,
    PolicyViolation,
    RecordListTooLarge,
    RecordTooLarge,
)
from engine.log.log import LogConfig
from engine.log.types import Receipt
from engine.stage.config import ExtensionConfig
from tests.engine.partition.staging_bench import Bench, Outcome
from tests.engine.stage.world import record

PRIORITISED = ExtensionConfig(priority_enable="true")


def is_staged(outcome: Outcome) -> bool:
    return isinstance(outcome, Receipt) and outcome.is_staged


def is_in_log(outcome: Outcome) -> bool:
    return isinstance(outcome, Receipt) and not outcome.is_staged


def test_a_delayed_record_is_read_when_its_time_has_come_and_not_before() -> None:
    bench = Bench()
    (outcome,) = bench.produce(record("later", delay=1000))
    assert outcome == Receipt(-1, -1, -1, 0, staged_number=0)
    bench.sync()
    bench.pass_ms(999)
    assert bench.values() == []
    bench.pass_ms(1)
    assert bench.log_values() == [(0, b"later")]


def test_records_due_at_once_keep_their_order_of_arrival() -> None:
    bench = Bench()
    bench.produce(record("b", delay=100), record("a", delay=100), record("first", delay=50))
    bench.produce(record("c", delay=100))
    bench.pass_ms(100)
    assert bench.values() == [b"first", b"b", b"a", b"c"]


def test_immediate_records_of_a_mixed_batch_are_released_and_what_comes_later_follows() -> None:
    bench = Bench()
    (mixed,) = bench.produce(record("now"), record("later", delay=500))
    plain = bench.produce(record("plain"))
    assert plain == []  # the log's end is spoken for
    assert bench.values() == []
    bench.sync()
    assert isinstance(mixed, Receipt)
    assert (mixed.is_staged, mixed.last_offset) == (True, 0)
    assert bench.log_values() == [(0, b"now"), (1, b"plain")]
    assert isinstance(plain[0], Receipt)
    assert (plain[0].is_staged, plain[0].base_offset) == (False, 1)


def test_a_retry_of_a_staged_batch_is_answered_like_the_original() -> None:
    bench = Bench()
    one = record("once", delay=100)
    bench.produce(one, producer_id=7, epoch=0, sequence=0)
    bench.produce(record("plain"), producer_id=7, epoch=0, sequence=1)
    assert is_staged(bench.produce(one, producer_id=7, epoch=0, sequence=0)[0])
    bench.sync()
    bench.open()
    assert is_staged(bench.produce(one, producer_id=7, epoch=0, sequence=0)[0])
    bench.pass_ms(100)
    assert bench.values() == [b"plain", b"once"]


def test_a_topic_takes_no_more_than_its_room() -> None:
    bench = Bench(room=10)
    (outcome,) = bench.produce(record("x" * 100, delay=5))
    assert isinstance(outcome, PolicyViolation)
    assert "stage.max.bytes" in str(outcome)
    assert bench.staging.stage.is_empty()


def test_a_transaction_releases_at_commit() -> None:
    bench = Bench()
    producer = {"producer_id": 7, "epoch": 0, "transactional": True}
    bench.produce(record("now"), record("later", delay=50), sequence=0, **producer)  # type: ignore[arg-type]
    bench.pass_ms(100)
    assert bench.values() == []
    answers = bench.end(7, committed=True)
    assert answers == []
    bench.sync()
    assert answers == [None]
    assert bench.values() == [b"now"]
    bench.pass_ms(0)
    assert bench.values() == [b"now", b"later"]


def test_an_aborted_transaction_leaves_nothing() -> None:
    bench = Bench()
    bench.produce(record("kept", delay=50, schedule_id="a"))
    producer = {"producer_id": 7, "epoch": 0, "transactional": True}
    bench.produce(record("x", delay=50), record("", cancel="a"), sequence=0, **producer)  # type: ignore[arg-type]
    bench.pass_ms(100)
    assert bench.values() == []  # the uncommitted cancel holds it
    bench.end(7, committed=False)
    bench.pass_ms(1)
    assert bench.values() == [b"kept"]


def test_a_marker_of_an_older_epoch_is_refused() -> None:
    bench = Bench()
    producer = {"producer_id": 7, "epoch": 3, "transactional": True}
    bench.produce(record("x", delay=50), sequence=0, **producer)  # type: ignore[arg-type]
    (error,) = bench.end(7, committed=True, epoch=2)
    assert isinstance(error, InvalidProducerEpoch)


def test_a_first_record_with_a_priority_makes_the_partition_prioritised() -> None:
    bench = Bench()
    bench.produce(record("plain"))
    bench.sync()
    told: list[int] = []
    bench.partition.watch(told.append)
    bench.produce(record("urgent", priority="high"))
    bench.sync()
    assert bench.staging.stage.prioritised
    assert told == [0]  # whoever waits for the log to grow asks anew
    assert is_staged(bench.produce(record("after"))[0])


def test_switched_off_it_stages_until_the_lanes_are_empty() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("a"))
    bench.sync()
    bench.configure(evolve(PRIORITISED, priority_enable="false"))
    assert bench.staging.stage.prioritised
    bench.produce(record("b"))
    bench.sync()
    bench.partition.linearise(0, 2**20)
    bench.sync()
    assert not bench.staging.stage.prioritised
    assert is_in_log(bench.produce(record("c"))[0])
    bench.sync()
    assert bench.values() == [b"a", b"b", b"c"]


def test_the_topic_s_own_time_to_live_is_kept_though_nobody_reads() -> None:
    bench = Bench(evolve(PRIORITISED, message_ttl_ms=5_000))
    bench.produce(record("gone"), record("too"))
    bench.sync()
    bench.pass_ms(4_999)
    assert bench.staging.statistics()["expired"] == 0
    bench.pass_ms(1_000)
    assert bench.staging.statistics()["expired"] == 2
    assert bench.partition.reported_end == 2
    bench.partition.linearise(0, 2**20)
    bench.sync()
    assert bench.values() == []
    assert bench.partition.high_watermark.offset == 2


def test_a_full_disk_holds_releases_back_and_loses_none() -> None:
    bench = Bench()
    bench.produce(record("later", delay=100))
    bench.sync()
    bench.files.fail_at(1, errno.ENOSPC, only=frozenset({"write"}))
    bench.pass_ms(100)
    assert bench.values() == []
    bench.pass_ms(1_000)
    assert bench.values() == [b"later"]


def test_a_record_that_no_segment_can_hold_is_refused() -> None:
    bench = Bench(log_config=LogConfig(segment_bytes=10_000, timestamp_after_max_ms=2**60))
    (outcome,) = bench.produce(record("x" * 9_900, delay=5))
    assert isinstance(outcome, RecordTooLarge)
    bench.produce(*(record("x" * 4_000, delay=5) for _ in range(5)))
    bench.pass_ms(5)
    assert bench.partition.high_watermark.offset == 5


@pytest.mark.parametrize(
    "changed",
    [
        {"segment_bytes": 1_000},
        {"max_message_bytes": 0},
        {"segment_bytes": 1_000, "max_message_bytes": 0, "compression_type": "gzip"},
        {"compression_type": "zstd"},
        {"timestamp_type": "LogAppendTime"},
        {"timestamp_before_max_ms": 0, "timestamp_after_max_ms": 0},
        {"cleanup_compact": True, "cleanup_delete": False},
        {"retention_ms": 0, "retention_bytes": 0, "segment_ms": 1},
    ],
)
@pytest.mark.parametrize("config", [ExtensionConfig(), PRIORITISED])
def test_no_key_that_is_changed_later_keeps_a_pending_record_from_its_release(
    config: ExtensionConfig, changed: dict[str, Any]
) -> None:
    bench = Bench(config)
    values = [secrets.token_bytes(3_000), b"one", b"two"]
    bench.produce(*(record(value, key=None, delay=100) for value in values))
    bench.produce(*(record(value, key=None) for value in values))
    bench.sync()
    bench.log_config = evolve(bench.log_config, **changed)
    bench.open()
    bench.pass_ms(100)
    bench.partition.linearise(0, 2**20)
    bench.sync()
    assert bench.partition.high_watermark.offset == 6
    assert not bench.staging.stage.state.intents


def test_a_batch_too_large_for_the_stage_is_refused_and_nothing_waits_for_it() -> None:
    bench = Bench()
    store = bench.staging.store.log
    store.config = evolve(store.config, segment_bytes=5_000)
    (outcome,) = bench.produce(record("x" * 5_000, delay=5))
    assert isinstance(outcome, RecordListTooLarge)
    bench.produce(record("after", delay=5))
    bench.pass_ms(5)
    assert bench.values() == [b"after"]


def test_a_topic_that_becomes_compacted_leaves_its_lanes_once_they_are_empty() -> None:
    bench = Bench()
    bench.produce(record("urgent", priority="high"))
    bench.sync()
    bench.configure(evolve(bench.config, cleanup_compact=True))
    bench.sync()
    assert bench.staging.stage.prioritised
    bench.partition.linearise(0, 2**20)
    bench.sync()
    assert not bench.staging.stage.prioritised
    assert is_in_log(bench.produce(record("plain"))[0])


def test_what_is_due_while_a_release_is_under_way_is_asked_for_once() -> None:
    bench = Bench()
    bench.produce(*(record(str(number), delay=100) for number in range(1_000)))
    bench.sync()
    bench.clock.advance_ms(100)
    for _ in range(50):
        bench.timers.run_due(bench.clock.monotonic())
    assert bench.staging.statistics()["queued"] <= 1
    bench.pass_ms(0)
    bench.pass_ms(0)
    assert bench.partition.high_watermark.offset == 1_000


@pytest.mark.parametrize(("before", "after"), [("false", "true"), ("true", "false"), ("auto", "false")])
def test_priorities_switched_while_a_batch_waits_for_its_turn_are_the_same_after_a_restart(
    before: str, after: str
) -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("first"))
    bench.produce(record("background", priority=4))
    bench.sync()
    bench.configure(evolve(bench.config, priority_enable=before))
    bench.partition.linearise(0, 1)
    bench.produce(record("waits", priority=4), record("none"))
    bench.configure(evolve(bench.config, priority_enable=after))
    bench.sync()
    for offset in range(1, 4):
        assert bench.partition.linearise(offset, 1)
        bench.sync()
        bench.open()
    assert bench.values() == [b"first", b"none", b"background", b"waits"]


def test_statistics_tell_what_happened() -> None:
    bench = Bench()
    bench.produce(record("a", delay=50, schedule_id="a"), record("b", delay=10))
    bench.produce(record("", cancel="a"))
    bench.produce(record("", cancel="never heard of"))
    bench.pass_ms(10)
    statistics = bench.staging.statistics()
    assert (statistics["cancelled"], statistics["cancelled_unknown"], statistics["released"]) == (1, 1, 1)
    bench.produce(record("", cancel="a"))
    assert bench.staging.statistics()["cancelled_late"] == 1
