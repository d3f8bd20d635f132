"""Looks into batches: what is found, what is not opened, and which parts of a batch are delivered."""

import pytest

from coordinators.share.acquiring import ReadSpan
from coordinators.share.log_batches import LogBatch
from coordinators.share.looks import LookedFor, SpanJudge, is_quick, lanes_of, look_at, must_open
from engine.records.compression import GZIP, LZ4, NONE
from engine.records.layout import parse_header
from engine.stage.headers import FOREVER_MS
from tests.engine.stage.world import NOW_MS, Record, client_batch, record

EXPIRY, KEYS, LOW_LANE = LookedFor(expiry=True), LookedFor(keys=True), 3
CRITICAL, NORMAL = 0, 2


def batch_of(*records: Record, codec: int = NONE) -> tuple[LogBatch, bytes]:
    data = client_batch(records, codec=codec)
    return LogBatch(parse_header(data), 0), data


def test_a_plain_batch_is_not_opened_for_expiry() -> None:
    batch, data = batch_of(record("v"), record("w"))
    assert not must_open(EXPIRY, batch.header, data)
    assert must_open(KEYS, batch.header, data)
    assert look_at(EXPIRY, batch.header, data) == ()


@pytest.mark.parametrize("codec", [NONE, GZIP, LZ4])
def test_the_time_of_each_record_is_found(codec: int) -> None:
    batch, data = batch_of(
        record("a", ttl=500), record("b"), record("c", expires_at=7, created_ms=NOW_MS + 10), codec=codec
    )
    looks = look_at(EXPIRY, batch.header, data)
    assert looks is not None
    assert [(look.offset, look.expires_ms) for look in looks] == [(0, NOW_MS + 500), (2, 7)]


def test_keys_and_lanes_are_found() -> None:
    batch, data = batch_of(record("a", key=b"x", priority="low"), record("b", key=None), record("c", priority=0))
    looks = look_at(LookedFor(lanes=frozenset({LOW_LANE}), keys=True), batch.header, data)
    assert looks is not None
    assert [(look.key, look.lane, look.expires_ms) for look in looks] == [
        (b"x", LOW_LANE, FOREVER_MS),
        (None, NORMAL, FOREVER_MS),
        (b"k", CRITICAL, FOREVER_MS),
    ]


def test_a_batch_that_grows_when_it_is_opened_is_left_to_a_thread() -> None:
    batch, data = batch_of(record(bytes(1_000_000)), codec=GZIP)
    assert is_quick(EXPIRY, batch.header)
    assert look_at(EXPIRY, batch.header, data, 100_000) is None
    assert look_at(EXPIRY, batch.header, data) == ()


def test_a_damaged_batch_is_handed_out_unseen() -> None:
    batch, data = batch_of(record("a", ttl=500))
    broken = data[:70] + b"\xff" * (len(data) - 70)
    assert look_at(KEYS, batch.header, broken) == ()


def judged(wanted: LookedFor, *records: Record, now_ms: int = NOW_MS, has_letters: bool = False) -> list[ReadSpan]:
    batch, data = batch_of(*records)
    looks = look_at(wanted, batch.header, data)
    assert looks is not None
    return SpanJudge(wanted, {0: looks}, (), now_ms, has_letters).spans([batch])


def test_what_has_expired_is_cut_out() -> None:
    records = [record("a"), record("b", ttl=100), record("c", ttl=100), record("d", ttl=5000)]
    assert judged(EXPIRY, *records) == [ReadSpan(0, 3)]
    assert judged(EXPIRY, *records, now_ms=NOW_MS + 100) == [
        ReadSpan(0, 0),
        ReadSpan(1, 2, False, True),
        ReadSpan(3, 3),
    ]
    assert judged(EXPIRY, *records, now_ms=NOW_MS + 100, has_letters=True)[1].dead


def test_other_lanes_are_cut_out() -> None:
    wanted = LookedFor(lanes=frozenset({LOW_LANE}))
    records = [record("a", priority="low"), record("b"), record("c", priority="low")]
    assert judged(wanted, *records) == [ReadSpan(0, 0), ReadSpan(1, 1, False), ReadSpan(2, 2)]


def test_records_of_other_lanes_are_remembered_where_they_are_counted() -> None:
    records = (record("a", priority="low"), record("b"), record("c", priority=0), record("d", ttl=500))
    batch, data = batch_of(*records)
    looks = look_at(LookedFor(expiry=True, counts_lanes=True), batch.header, data)
    assert looks is not None
    assert [(look.offset, look.lane) for look in looks] == [(0, LOW_LANE), (2, CRITICAL), (3, NORMAL)]
    without = look_at(EXPIRY, batch.header, data)
    assert without is not None
    assert [look.offset for look in without] == [3]


def test_lanes_of_ranges_are_counted() -> None:
    batch, data = batch_of(record("a", priority="low"), record("b"), record("c", priority=0), record("d", priority=0))
    looks = look_at(LookedFor(counts_lanes=True), batch.header, data)
    assert looks is not None
    assert lanes_of({0: looks}, [(0, 3)]) == [2, 0, 1, 1, 0]
    assert lanes_of({0: looks}, [(0, 0), (3, 9)]) == [1, 0, 6, 1, 0]
    assert lanes_of({}, [(0, 3)]) == [0, 0, 4, 0, 0]
