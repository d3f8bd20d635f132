"""The life of a release: its table, and that nothing is lost or written twice when log or stage fail."""

import errno

import pytest

from engine.errors import (
    RequestTimedOut,
    StorageError,
)
from engine.partition.release_life import TRANSITIONS, WELCOMES, ReleaseEvent, ReleaseState, Welcome
from engine.records.batch import whole
from engine.records.compression import LZ4
from engine.stage.config import ExtensionConfig
from engine.stage.headers import open_records
from tests.engine.logs import NOW_MS
from tests.engine.partition.staging_bench import Bench
from tests.engine.stage.world import client_batch, record

PRIORITISED = ExtensionConfig(priority_enable="true")


def test_every_state_says_what_it_takes_and_can_be_begun_anew() -> None:
    assert set(TRANSITIONS) == set(WELCOMES) == set(ReleaseState)
    for state, ways in TRANSITIONS.items():
        assert ways[ReleaseEvent.RESUMED] is ReleaseState.IDLE
        assert ways[ReleaseEvent.FAILED] is ReleaseState.BLOCKED
        assert (WELCOMES[state] is Welcome.TAKEN) == (state is ReleaseState.IDLE)


def test_the_end_of_the_log_is_spoken_for_from_intent_to_batch() -> None:
    way = [ReleaseState.IDLE]
    for event in (ReleaseEvent.INTENDED, ReleaseEvent.DURABLE, ReleaseEvent.WRITTEN):
        accepted = [state for state in ReleaseState if event in TRANSITIONS[state]]
        assert accepted == [way[-1]], "it can happen nowhere else"
        way.append(TRANSITIONS[way[-1]][event])
    assert way == [ReleaseState.IDLE, ReleaseState.INTENDING, ReleaseState.WRITING, ReleaseState.IDLE]


def test_what_is_not_in_the_table_is_a_bug() -> None:
    bench = Bench()
    bench.produce(record("now"), record("later", delay=500))
    assert bench.staging.life.state is ReleaseState.INTENDING
    (intent,) = bench.staging.stage.state.intents
    with pytest.raises(AssertionError, match="rule 3: INTENDED cannot happen while INTENDING"):
        bench.staging.life.carry_out(intent)


def test_intents_that_are_found_again_and_again_are_carried_out_once() -> None:
    bench = Bench()
    for value in ("first", "second"):
        bench.produce(record(value), record("much later", delay=60_000))
        bench.sync_stage()
    bench.files.crash()
    bench.files.fail_at(1, errno.ENOSPC, times=2, only=frozenset({"write"}))
    bench.open()
    bench.workers.run_held()
    assert len(bench.staging.stage.state.intents) == 2
    assert bench.staging.life.state is ReleaseState.BLOCKED
    bench.pass_ms(1_000)
    bench.pass_ms(1_000)
    assert bench.values() == [b"first", b"second"]
    assert bench.staging.life.queued_count == 0
    assert bench.staging.statistics()["released"] == 2


def test_the_intent_is_durable_before_its_batch_is_written() -> None:
    bench = Bench()
    bench.produce(record("now"), record("later", delay=500))
    assert bench.partition.log.end_offset == 0
    bench.lose_power()
    assert bench.values() == []
    assert bench.staging.stage.is_empty()


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
    bench.staging.store.log.reverify()
    bench.staging.store.bring_online()
    bench.pass_ms(100)
    assert bench.values() == [b"now", b"later"]


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


def test_a_marker_that_waits_behind_a_release_is_refused_at_its_deadline_and_not_written() -> None:
    bench = Bench()
    bench.produce(record("open"), producer_id=7, epoch=0, sequence=0, transactional=True)
    bench.sync()
    bench.produce(record("now"), record("later", delay=60_000))
    late = bench.end(7, committed=True, wait_s=5)
    bench.rounds.start_round()
    bench.files.fail_at(1, errno.ENOSPC, times=20, only=frozenset({"write"}))
    for _ in range(6):
        bench.pass_ms(1_000)
    assert [type(error) for error in late] == [RequestTimedOut]
    bench.files.stop_failing()
    bench.pass_ms(1_000)
    assert bench.partition.last_stable_offset == 0
    assert bench.end(7, committed=True) == []
    bench.sync()
    assert bench.partition.last_stable_offset == bench.partition.high_watermark.offset


def test_a_large_release_is_compressed_in_a_thread_and_what_comes_meanwhile_follows() -> None:
    bench = Bench()
    large = [record(f"{number}" * 20_000, delay=100) for number in range(5)]
    batch = whole(client_batch(large, codec=LZ4))
    batch.asked, batch.hold = open_records(batch.section(), 5, bench.config.header_rules, NOW_MS), True
    bench.append(batch, lambda _: None)
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
