"""A partition with a stage: one after the other, write-ahead, nothing lost when log or stage fail."""

import errno
import secrets
from typing import Any

import pytest
from attrs import evolve

from coordinators.release.client_batch import Staged
from engine.errors import (
    InvalidProducerEpoch,
    PolicyViolation,
    RecordListTooLarge,
    RecordTooLarge,
    RequestTimedOut,
    StorageError,
)
from engine.log.log import AppendResult, LogConfig
from engine.records.batch import whole
from engine.records.compression import LZ4
from engine.stage.config import ExtensionConfig
from engine.stage.headers import open_records
from tests.coordinators.release.bench import Bench
from tests.engine.logs import NOW_MS
from tests.engine.stage.world import client_batch, record

PRIORITISED = ExtensionConfig(priority_enable="true")


def test_a_delayed_record_is_read_when_its_time_has_come_and_not_before() -> None:
    bench = Bench()
    (outcome,) = bench.produce(record("later", delay=1000))
    assert outcome == Staged(0, None)
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
    assert isinstance(mixed, Staged)
    assert mixed.log_end_offset == 1
    assert bench.log_values() == [(0, b"now"), (1, b"plain")]
    assert isinstance(plain[0], AppendResult)
    assert plain[0].base_offset == 1


def test_the_intent_is_durable_before_its_batch_is_written() -> None:
    bench = Bench()
    bench.produce(record("now"), record("later", delay=500))
    assert bench.partition.log.end_offset == 0
    bench.lose_power()
    assert bench.values() == []
    assert bench.staged.stage.is_empty()


def test_after_a_power_cut_what_was_intended_is_written_and_only_once() -> None:
    bench = Bench()
    bench.produce(record("now"), record("later", delay=500))
    bench.sync(1)  # the intent is durable, its batch written and not synced
    assert bench.partition.log.end_offset == 1
    bench.lose_power()
    bench.sync()
    assert bench.values() == [b"now"]
    bench.lose_power()
    bench.pass_ms(500)
    assert bench.values() == [b"now", b"later"]


def test_a_retry_of_a_staged_batch_is_answered_like_the_original() -> None:
    bench = Bench()
    one = record("once", delay=100)
    bench.produce(one, producer_id=7, epoch=0, sequence=0)
    bench.produce(record("plain"), producer_id=7, epoch=0, sequence=1)
    assert isinstance(bench.produce(one, producer_id=7, epoch=0, sequence=0)[0], Staged)
    bench.sync()
    bench.open()
    assert isinstance(bench.produce(one, producer_id=7, epoch=0, sequence=0)[0], Staged)
    bench.pass_ms(100)
    assert bench.values() == [b"plain", b"once"]


def test_a_topic_takes_no_more_than_its_room() -> None:
    bench = Bench(room=10)
    (outcome,) = bench.produce(record("x" * 100, delay=5))
    assert isinstance(outcome, PolicyViolation)
    assert "stage.max.bytes" in str(outcome)
    assert bench.staged.stage.is_empty()


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


def test_the_promised_end_counts_what_is_ready_and_durable() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("a"), record("b"))
    assert bench.staged.promised_end == 0
    bench.sync()
    assert bench.staged.promised_end == 2
    assert bench.partition.high_watermark.offset == 0
    assert bench.partition.reported_end == 2


def test_a_reader_gets_the_critical_record_first() -> None:
    bench = Bench(PRIORITISED)
    for number in range(20):
        bench.produce(record(f"n{number}"))
    bench.produce(record("critical", priority="critical"))
    bench.sync()
    assert bench.staged.linearise(0, 2**20)
    bench.sync()
    assert bench.values()[0] == b"critical"
    assert len(bench.values()) == 21
    assert bench.staged.promised_end == 21


def test_who_starts_at_the_promised_end_misses_nothing_that_came_later() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("old"), record("older"))
    bench.sync()
    start = bench.staged.promised_end
    bench.produce(record("new", priority="critical"))
    bench.sync()
    for _ in range(3):
        bench.staged.linearise(start, 2**20)
        bench.sync()
    assert dict(bench.log_values())[start] == b"new"


def test_a_first_record_with_a_priority_makes_the_partition_prioritised() -> None:
    bench = Bench()
    bench.produce(record("plain"))
    bench.sync()
    told: list[int] = []
    bench.partition.watch(told.append)
    bench.produce(record("urgent", priority="high"))
    bench.sync()
    assert bench.staged.stage.prioritised
    assert told == [0]  # whoever waits for the log to grow asks anew
    assert isinstance(bench.produce(record("after"))[0], Staged)


def test_switched_off_it_stages_until_the_lanes_are_empty() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("a"))
    bench.sync()
    bench.staged.stage.config = evolve(PRIORITISED, priority_enable="false")
    bench.staged.configured()
    assert bench.staged.stage.prioritised
    bench.produce(record("b"))
    bench.sync()
    bench.staged.linearise(0, 2**20)
    bench.sync()
    assert not bench.staged.stage.prioritised
    assert isinstance(bench.produce(record("c"))[0], AppendResult)
    bench.sync()
    assert bench.values() == [b"a", b"b", b"c"]


def test_watchers_are_told_of_what_became_ready() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("first"))
    bench.sync()
    told: list[int] = []
    bench.staged.watch(lambda: told.append(1))
    bench.produce(record("a", delay=50))
    bench.sync()
    before = len(told)
    bench.pass_ms(50)
    assert len(told) > before


def test_an_expired_record_leaves_its_promised_offset_empty() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("gone", ttl=100), record("kept"))
    bench.pass_ms(100)
    assert bench.staged.promised_end == 2
    bench.staged.linearise(0, 2**20)
    bench.sync()
    assert bench.log_values() == [(1, b"kept")]


def test_the_topic_s_own_time_to_live_is_kept_though_nobody_reads() -> None:
    bench = Bench(evolve(PRIORITISED, message_ttl_ms=5_000))
    bench.produce(record("gone"), record("too"))
    bench.sync()
    bench.pass_ms(4_999)
    assert bench.staged.statistics()["expired"] == 0
    bench.pass_ms(1_000)
    assert bench.staged.statistics()["expired"] == 2
    assert bench.staged.promised_end == 2
    bench.staged.linearise(0, 2**20)
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


def test_a_full_disk_between_intent_and_batch_keeps_others_out_until_there_is_room() -> None:
    bench = Bench()
    bench.produce(record("now"), record("later", delay=60_000))
    bench.rounds.start_round()
    bench.files.fail_at(1, errno.ENOSPC, only=frozenset({"write"}))
    bench.workers.run_held()
    (refused,) = bench.produce(record("plain"))
    assert isinstance(refused, StorageError)
    bench.pass_ms(1_000)
    assert bench.values() == [b"now"]
    bench.produce(record("plain"))
    bench.sync()
    assert bench.values() == [b"now", b"plain"]


def test_a_failed_sync_of_the_stage_stops_it_until_it_was_verified() -> None:
    bench = Bench()
    bench.produce(record("now"), record("later", delay=100))
    bench.files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
    bench.sync(1)
    assert isinstance(bench.produce(record("plain"))[0], StorageError)
    bench.staged.store.log.reverify()
    bench.staged.store.bring_online()
    bench.pass_ms(100)
    assert bench.values() == [b"now", b"later"]


def test_readers_go_on_after_the_log_was_offline() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("a"), record("b"))
    bench.sync()
    bench.staged.linearise(0, 2**20)
    bench.files.fail_at(2, errno.EIO, only=frozenset({"sync"}))  # the intent's is the first
    bench.sync()
    assert bench.partition.offline is not None
    bench.partition.log.reverify()
    bench.partition.bring_online()
    bench.sync()
    assert bench.values() == [b"a", b"b"]
    bench.produce(record("c"))
    bench.sync()
    assert bench.staged.linearise(2, 2**20)
    bench.sync()
    assert bench.values() == [b"a", b"b", b"c"]


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
    bench.staged.linearise(0, 2**20)
    bench.sync()
    assert bench.partition.high_watermark.offset == 6
    assert not bench.staged.stage.state.intents


def test_a_batch_too_large_for_the_stage_is_refused_and_nothing_waits_for_it() -> None:
    bench = Bench()
    store = bench.staged.store.log
    store.config = evolve(store.config, segment_bytes=5_000)
    (outcome,) = bench.produce(record("x" * 5_000, delay=5))
    assert isinstance(outcome, RecordListTooLarge)
    bench.produce(record("after", delay=5))
    bench.pass_ms(5)
    assert bench.values() == [b"after"]


def test_a_batch_that_waits_behind_a_release_is_refused_at_its_deadline_and_not_stored() -> None:
    bench = Bench()
    bench.produce(record("now"), record("later", delay=60_000))
    in_time, late = bench.produce(record("in time"), wait_s=30), bench.produce(record("late"), wait_s=5)
    bench.rounds.start_round()
    bench.files.fail_at(1, errno.ENOSPC, times=20, only=frozenset({"write"}))
    for _ in range(6):
        bench.pass_ms(1_000)
    (error,) = late
    assert isinstance(error, RequestTimedOut)
    assert "was not stored: the partition's releases wait" in str(error)
    assert in_time == []
    bench.files.stop_failing()
    bench.pass_ms(1_000)
    assert bench.values() == [b"now", b"in time"]
    bench.pass_ms(60_000)
    assert (len(late), len(in_time)) == (1, 1)
    assert bench.values() == [b"now", b"in time", b"later"]


def test_lanes_are_read_on_a_full_disk_out_of_the_reserve() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(*(record(str(number)) for number in range(300)))
    bench.sync()
    bench.files.fail_at(1, errno.ENOSPC, times=1_000, only=frozenset({"write"}))
    reserve = [True]

    def make_room() -> bool:
        bench.files.stop_failing()
        return reserve.pop() if reserve else False

    bench.staged.on_full = make_room
    bench.staged.linearise(0, 2**20)
    bench.pass_ms(0)
    assert not reserve
    assert len(bench.values()) == 300


def test_everything_promised_is_put_in_order_if_asked_for_though_it_takes_many_releases() -> None:
    bench = Bench(evolve(PRIORITISED, priority_fetch_max_records=10))
    for number in range(95):
        bench.produce(record(str(number), priority=number % 5))
    bench.sync()
    bench.staged.order_up_to(90)
    bench.produce(record("critical", priority=0))
    bench.sync(50)
    assert bench.partition.high_watermark.offset == 90
    assert b"critical" not in bench.values()
    assert bench.staged.promised_end == 96


def test_what_is_put_in_order_at_a_time_has_a_bound_in_bytes() -> None:
    bench = Bench(PRIORITISED)
    for _ in range(10):
        bench.produce(record("x" * 1_000))
    bench.sync()
    bench.staged.linearise(8, 2_500)
    bench.sync(2)
    assert bench.partition.log.end_offset == 2


def test_order_goes_on_after_the_log_was_offline() -> None:
    bench = Bench(evolve(PRIORITISED, priority_fetch_max_records=1))
    bench.produce(record("a"), record("b"), record("c"))
    bench.sync()
    bench.staged.order_up_to(3)
    bench.files.fail_at(2, errno.EIO, only=frozenset({"sync"}))
    bench.sync()
    assert bench.partition.offline is not None
    bench.partition.log.reverify()
    bench.partition.bring_online()
    bench.sync(10)
    assert bench.values() == [b"a", b"b", b"c"]


def test_a_topic_that_becomes_compacted_leaves_its_lanes_once_they_are_empty() -> None:
    bench = Bench()
    bench.produce(record("urgent", priority="high"))
    bench.sync()
    bench.staged.stage.config = evolve(bench.config, cleanup_compact=True)
    bench.staged.configured()
    bench.sync()
    assert bench.staged.stage.prioritised
    bench.staged.linearise(0, 2**20)
    bench.sync()
    assert not bench.staged.stage.prioritised
    assert isinstance(bench.produce(record("plain"))[0], AppendResult)


def test_what_is_due_while_a_release_is_under_way_is_asked_for_once() -> None:
    bench = Bench()
    bench.produce(*(record(str(number), delay=100) for number in range(1_000)))
    bench.sync()
    bench.clock.advance_ms(100)
    for _ in range(50):
        bench.timers.run_due(bench.clock.monotonic())
    assert bench.staged.statistics()["queued"] <= 1
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
    bench.staged.linearise(0, 1)
    bench.produce(record("waits", priority=4), record("none"))
    bench.configure(evolve(bench.config, priority_enable=after))
    bench.sync()
    for offset in range(1, 4):
        assert bench.staged.linearise(offset, 1)
        bench.sync()
        bench.open()
    assert bench.values() == [b"first", b"none", b"background", b"waits"]


def test_statistics_tell_what_happened() -> None:
    bench = Bench()
    bench.produce(record("a", delay=50, schedule_id="a"), record("b", delay=10))
    bench.produce(record("", cancel="a"))
    bench.produce(record("", cancel="never heard of"))
    bench.pass_ms(10)
    statistics = bench.staged.statistics()
    assert (statistics["cancelled"], statistics["cancelled_unknown"], statistics["released"]) == (1, 1, 1)
    bench.produce(record("", cancel="a"))
    assert bench.staged.statistics()["cancelled_late"] == 1


def test_a_large_release_is_compressed_in_a_thread_and_what_comes_meanwhile_follows() -> None:
    bench = Bench()
    large = [record(f"{number}" * 20_000, delay=100) for number in range(5)]
    batch = whole(client_batch(large, codec=LZ4))
    batch.asked, batch.hold = open_records(batch.section(), 5, bench.config.header_rules, NOW_MS), True
    bench.staged.append(batch, lambda _: None)
    bench.sync()
    bench.clock.advance_ms(100)
    bench.timers.run_due(bench.clock.monotonic())
    bench.rounds.start_round()
    bench.workers.run_held(1)
    later = bench.produce(record("later"))
    assert not later, "it waits behind the release"
    bench.sync()
    assert later
    headers = [header for header, _ in bench._batches()]
    assert [header.codec for header in headers] == [LZ4] * (len(headers) - 1) + [0]
    assert headers[-1].base_offset == 5
