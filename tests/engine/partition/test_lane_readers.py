"""Readers of a prioritised partition: what they are promised, and the order that they get it in."""

import errno

from attrs import evolve

from engine.stage.config import ExtensionConfig
from tests.engine.partition.staging_bench import Bench
from tests.engine.stage.world import record

PRIORITISED = ExtensionConfig(priority_enable="true")


def test_the_promised_end_counts_what_is_ready_and_durable() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("a"), record("b"))
    assert bench.partition.reported_end == 0
    bench.sync()
    assert bench.partition.reported_end == 2
    assert bench.partition.high_watermark.offset == 0
    assert bench.partition.reported_end == 2


def test_a_reader_gets_the_critical_record_first() -> None:
    bench = Bench(PRIORITISED)
    for number in range(20):
        bench.produce(record(f"n{number}"))
    bench.produce(record("critical", priority="critical"))
    bench.sync()
    assert bench.partition.linearise(0, 2**20)
    bench.sync()
    assert bench.values()[0] == b"critical"
    assert len(bench.values()) == 21
    assert bench.partition.reported_end == 21


def test_who_starts_at_the_promised_end_misses_nothing_that_came_later() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("old"), record("older"))
    bench.sync()
    start = bench.partition.reported_end
    bench.produce(record("new", priority="critical"))
    bench.sync()
    for _ in range(3):
        bench.partition.linearise(start, 2**20)
        bench.sync()
    assert dict(bench.log_values())[start] == b"new"


def test_watchers_are_told_of_what_became_ready() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("first"))
    bench.sync()
    told: list[int] = []
    bench.partition.watch_promises(lambda: told.append(1))
    bench.produce(record("a", delay=50))
    bench.sync()
    before = len(told)
    bench.pass_ms(50)
    assert len(told) > before


def test_an_expired_record_leaves_its_promised_offset_empty() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("gone", ttl=100), record("kept"))
    bench.pass_ms(100)
    assert bench.partition.reported_end == 2
    bench.partition.linearise(0, 2**20)
    bench.sync()
    assert bench.log_values() == [(1, b"kept")]


def test_readers_go_on_after_the_log_was_offline() -> None:
    bench = Bench(PRIORITISED)
    bench.produce(record("a"), record("b"))
    bench.sync()
    bench.partition.linearise(0, 2**20)
    bench.files.fail_at(2, errno.EIO, only=frozenset({"sync"}))  # the intent's is the first
    bench.sync()
    assert bench.partition.offline is not None
    bench.partition.log.reverify()
    bench.partition.bring_online()
    bench.sync()
    assert bench.values() == [b"a", b"b"]
    bench.produce(record("c"))
    bench.sync()
    assert bench.partition.linearise(2, 2**20)
    bench.sync()
    assert bench.values() == [b"a", b"b", b"c"]


def test_lanes_are_read_on_a_full_disk_out_of_the_reserve() -> None:
    bench = Bench(PRIORITISED, reserves=1)
    bench.produce(*(record(str(number)) for number in range(300)))
    bench.sync()
    bench.files.fail_at(1, errno.ENOSPC, times=1_000, only=frozenset({"write"}))
    bench.partition.linearise(0, 2**20)
    bench.pass_ms(0)
    assert bench.rooms_made == 1
    assert len(bench.values()) == 300


def test_everything_promised_is_put_in_order_if_asked_for_though_it_takes_many_releases() -> None:
    bench = Bench(evolve(PRIORITISED, priority_fetch_max_records=10))
    for number in range(95):
        bench.produce(record(str(number), priority=number % 5))
    bench.sync()
    bench.staging.readers.order_up_to(90)
    bench.produce(record("critical", priority=0))
    bench.sync(50)
    assert bench.partition.high_watermark.offset == 90
    assert b"critical" not in bench.values()
    assert bench.partition.reported_end == 96


def test_what_is_put_in_order_at_a_time_has_a_bound_in_bytes() -> None:
    bench = Bench(PRIORITISED)
    for _ in range(10):
        bench.produce(record("x" * 1_000))
    bench.sync()
    bench.partition.linearise(8, 2_500)
    bench.sync(2)
    assert bench.partition.log.end_offset == 2


def test_order_goes_on_after_the_log_was_offline() -> None:
    bench = Bench(evolve(PRIORITISED, priority_fetch_max_records=1))
    bench.produce(record("a"), record("b"), record("c"))
    bench.sync()
    bench.staging.readers.order_up_to(3)
    bench.files.fail_at(2, errno.EIO, only=frozenset({"sync"}))
    bench.sync()
    assert bench.partition.offline is not None
    bench.partition.log.reverify()
    bench.partition.bring_online()
    bench.sync(10)
    assert bench.values() == [b"a", b"b", b"c"]
