"""What compaction leaves of a batch."""

import pytest

from engine.cleaner.batch_cleaning import CleaningRules, clean_batch, emptied, note_keys, place_holder
from engine.cleaner.keyed_records import keyed_records
from engine.cleaner.offset_map import OffsetMap
from engine.log.producer_state import ProducerInfo
from engine.records.compression import CODECS, compress
from engine.records.layout import (
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    build_batch,
    checksum,
    pack_record,
    parse_header,
    seal_batch,
)
from tests.engine.cleaner.world import Pair, Seen, open_batch
from tests.engine.logs import NOW_MS

BASE = 100
LATER_MS = NOW_MS + 5000


def batch(*pairs: Pair, codec: str = "uncompressed", **fields: int) -> bytes:
    """Records of which each is a second later than the one before."""
    header = parse_header(build_batch(pairs, timestamp_ms=NOW_MS, base_offset=BASE, **fields))
    section = b"".join(pack_record(n, n * 1000, key, value, [(b"h", b"1")]) for n, (key, value) in enumerate(pairs))
    last_ms = NOW_MS + 1000 * (len(pairs) - 1)
    changed = header._replace(attributes=header.attributes | CODECS[codec], max_timestamp=last_ms, leader_epoch=3)
    return seal_batch(changed, compress(CODECS[codec], section))


def cleaned(data: bytes, later: dict[bytes, int] | None = None, *, now_ms: int = LATER_MS, **last: int) -> bytes | None:
    """What is left where the keys in `later` stand again further on."""
    offsets = OffsetMap()
    header = parse_header(data)
    note_keys(header, data, offsets)
    for key, offset in (later or {}).items():
        offsets.note(offset, [(0, 0, 0, key, True)])
    offsets.end = 10_000
    ids = {int(name.removeprefix("producer")): offset for name, offset in last.items()}
    producers = {key: ProducerInfo(key, 2, 40, NOW_MS, -1, -1, offset) for key, offset in ids.items()}
    return clean_batch(header, data, CleaningRules(offsets, now_ms, 60_000, producers))


@pytest.mark.parametrize("codec", CODECS)
def test_the_latest_of_each_key_stays_with_its_offset_time_and_headers(codec: str) -> None:
    data = batch((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4"), codec=codec)
    left = cleaned(data, {b"c": 500})
    assert left is not None
    assert open_batch(left) == [
        Seen(BASE + 1, b"b", b"2", NOW_MS + 1000),
        Seen(BASE + 2, b"a", b"3", NOW_MS + 2000),
    ]
    before, after = parse_header(data), parse_header(left)
    assert after.codec == CODECS[codec]
    assert after.record_count == 2
    assert after.max_timestamp == NOW_MS + 2000
    assert (after.base_offset, after.last_offset, after.leader_epoch) == (BASE, before.last_offset, 3)
    assert after.crc == checksum(memoryview(left))


def test_a_batch_that_loses_nothing_is_the_same() -> None:
    data = batch((b"a", b"1"), (b"b", b"2"))
    assert cleaned(data) is data


def test_a_batch_that_loses_all_goes() -> None:
    assert cleaned(batch((b"a", b"1")), {b"a": 500}) is None


def test_the_producers_fields_stay() -> None:
    data = batch((b"a", b"1"), (b"b", b"2"), producer_id=7, producer_epoch=2, base_sequence=40)
    left = cleaned(data, {b"a": 500})
    assert left is not None
    header = parse_header(left)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 40)


def test_the_last_batch_of_a_producer_stays_without_records() -> None:
    data = batch((b"a", b"1"), (b"b", b"2"), producer_id=7, producer_epoch=2, base_sequence=40, codec="zstd")
    left = cleaned(data, {b"a": 500, b"b": 501}, producer7=BASE + 1)
    assert left is not None
    header = parse_header(left)
    assert header.record_count == 0
    assert header.codec == 0
    assert (header.base_offset, header.last_offset) == (BASE, BASE + 1)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 40)
    assert header.crc == checksum(memoryview(left))
    assert cleaned(left, producer7=BASE + 1) is left


def test_an_empty_batch_goes_when_its_producer_wrote_on() -> None:
    data = batch((b"a", b"1"), producer_id=7, producer_epoch=2, base_sequence=40)
    left = cleaned(data, {b"a": 500}, producer7=BASE)
    assert left is not None
    assert cleaned(left, producer7=600) is None


def test_an_empty_batch_has_no_time() -> None:
    data = batch((b"a", b"1"))
    header = parse_header(emptied(parse_header(data), data))
    assert (header.base_timestamp, header.max_timestamp) == (-1, -1)


def test_a_tombstone_gets_its_horizon_in_the_first_pass() -> None:
    """KIP-534: the horizon takes the base timestamp's place, the records keep their times."""
    data = batch((b"a", b"1"), (b"b", None), (b"c", b"3"))
    left = cleaned(data)
    assert left is not None
    header = parse_header(left)
    assert header.attributes & DELETE_HORIZON_FLAG
    assert header.base_timestamp == LATER_MS + 60_000
    assert header.max_timestamp == NOW_MS + 2000
    assert open_batch(left) == open_batch(data)


def test_a_tombstone_stays_until_its_horizon() -> None:
    left = cleaned(batch((b"a", None)))
    assert left is not None
    assert cleaned(left, now_ms=LATER_MS + 59_999) is left


def test_a_tombstone_goes_past_its_horizon() -> None:
    left = cleaned(batch((b"a", None), (b"b", b"2")))
    assert left is not None
    again = cleaned(left, now_ms=LATER_MS + 60_000)
    assert again is not None
    assert open_batch(again) == [Seen(BASE + 1, b"b", b"2", NOW_MS + 1000)]
    assert parse_header(again).base_timestamp == LATER_MS + 60_000
    assert parse_header(again).attributes & DELETE_HORIZON_FLAG


def test_a_tombstone_that_is_not_the_latest_goes_at_once() -> None:
    assert cleaned(batch((b"a", None)), {b"a": 500}) is None


def test_the_append_time_of_a_batch_stays() -> None:
    data = batch((b"a", b"1"), (b"b", None), attributes=LOG_APPEND_TIME_FLAG)
    left = cleaned(data, {b"a": 500})
    assert left is not None
    assert open_batch(left) == [Seen(BASE + 1, b"b", None, NOW_MS + 1000)]


def test_records_without_key_go() -> None:
    left = cleaned(batch((None, b"1"), (b"b", b"2")))
    assert left is not None
    assert [record.offset for record in open_batch(left)] == [BASE + 1]


def test_a_place_holder_belongs_to_nobody() -> None:
    data = batch((b"a", b"1"), (b"b", b"2"), producer_id=7, producer_epoch=2, base_sequence=4, attributes=0x10)
    left = place_holder(parse_header(data))
    header = parse_header(left)
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (BASE, BASE + 1, 3)
    assert (header.producer_id, header.base_sequence, header.attributes, header.record_count) == (-1, -1, 0, 0)
    assert header.crc == checksum(memoryview(left))
    assert cleaned(left) is None


@pytest.mark.parametrize("codec", ["uncompressed", "gzip"])
def test_a_damaged_batch_is_left_alone_and_hides_nothing(codec: str) -> None:
    data = bytearray(batch((b"a", b"1"), (b"a", b"2"), codec=codec))
    data[-1] ^= 1
    damaged = bytes(data)
    assert cleaned(damaged, {b"a": 500}) is damaged
    offsets = OffsetMap()
    note_keys(parse_header(damaged), damaged, offsets)
    assert len(offsets) == 0


def test_records_that_cannot_be_opened_are_left_alone() -> None:
    header = parse_header(batch((b"a", b"1")))
    hostile = seal_batch(header, pack_record(7, 0, b"a", b"1"))
    assert cleaned(hostile, {b"a": 500}) is hostile


def test_what_the_map_does_not_cover_is_left_alone() -> None:
    data = batch((b"a", b"1"), (b"a", b"2"))
    cleaning = CleaningRules(OffsetMap(end=BASE), LATER_MS, 60_000, {})
    assert clean_batch(parse_header(data), data, cleaning) is data


def test_rebuilt_records_can_be_walked() -> None:
    left = cleaned(batch((b"a", b"1"), (b"b", None)), {b"a": 500})
    assert left is not None
    assert keyed_records(left[61:], 1, 1)[0][3:] == (b"b", False)
