"""Released records and batches: what clients read of them, and that nothing but their place and names changed."""

import warnings

import pytest
from aiokafka.record.control_record import ABORT_MARKER, COMMIT_MARKER, ControlRecord
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidRecord
from engine.log.transactions import parse_marker
from engine.records.layout import (
    HEADER_SIZE,
    NO_TIMESTAMP,
    RecordSpan,
    checksum,
    pack_record,
    parse_header,
    record_section,
    split_batches,
    varint,
    walk_records,
)
from engine.stage.repack import hole_batch, released_batch, released_record

with warnings.catch_warnings():
    # kafka-python reads its schemas by a function that the standard library has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch

NOW_MS = 1_800_000_000_000
Headers = list[tuple[bytes, bytes | None]]
HEADERS: Headers = [
    (b"tide-delay", b"5000"),
    (b"trace", None),
    (b"tide-deliver-at", b"1"),
    (b"tide-priority", b"high"),
    (b"tide-schedule-id", b"job"),
    (b"tide-ttl", b"9"),
    (b"tide-delays", b"tide-delay"),
    (b"__tide-delay", b"1"),
    (b"tide-delay", b""),
]
RENAMED: Headers = [
    (b"__tide-delay", b"5000"),
    (b"trace", None),
    (b"__tide-deliver-at", b"1"),
    (b"tide-priority", b"high"),
    (b"__tide-schedule-id", b"job"),
    (b"tide-ttl", b"9"),
    (b"tide-delays", b"tide-delay"),
    (b"__tide-delay", b"1"),
    (b"__tide-delay", b""),
]


def _only(section: bytes) -> RecordSpan:
    (record,) = walk_records(section, 1)
    return record


def _content(value: memoryview | None) -> bytes | None:
    return None if value is None else bytes(value)


def test_one_shot_headers_are_renamed_and_all_else_is_kept() -> None:
    released = released_record(pack_record(5, 100, b"k", b"tide-delay", HEADERS), 2, -7)
    assert released == pack_record(2, -7, b"k", b"tide-delay", RENAMED)


def test_the_attributes_of_a_record_are_kept() -> None:
    record = bytearray(pack_record(0, 0, b"k", b"v"))
    record[1] = 0x81
    assert released_record(record, 0, 0) == record


def test_a_name_behind_a_length_of_more_bytes_than_needed_is_renamed_too() -> None:
    body = b"\0\0\0" + varint(-1) + varint(-1) + varint(1) + b"\x94\x00tide-delay" + varint(-1)
    assert released_record(varint(len(body)) + body, 0, 0) == pack_record(0, 0, None, None, [(b"__tide-delay", None)])


FIELDS = st.none() | st.binary(max_size=80) | st.just(b"v" * 9000)
NAMES = st.sampled_from([name for name, _ in HEADERS]) | st.binary(max_size=90)
LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-100, 10_000)
HEADER_LISTS = st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=80)), max_size=70)


@given(LONGS, LONGS, FIELDS, FIELDS, HEADER_LISTS, st.integers(0, 2**31 - 1), LONGS)
def test_any_record_comes_back_in_its_new_place(
    old_offset: int,
    old_timestamp: int,
    key: bytes | None,
    value: bytes | None,
    headers: Headers,
    offset_delta: int,
    timestamp_delta: int,
) -> None:
    staged = pack_record(old_offset, old_timestamp, key, value, headers)
    released = released_record(memoryview(staged), offset_delta, timestamp_delta)
    one_shot = (b"tide-delay", b"tide-deliver-at", b"tide-schedule-id")
    renamed = [(b"__" + name if name in one_shot else name, content) for name, content in headers]
    assert released == pack_record(offset_delta, timestamp_delta, key, value, renamed)
    # A second release, as after a crash, finds nothing more to rename.
    assert released_record(released, offset_delta, timestamp_delta) == released


@given(st.binary(max_size=60))
def test_hostile_bytes_are_refused_or_become_a_record(data: bytes) -> None:
    try:
        released = released_record(data, 1, 2)
    except InvalidRecord:
        return
    record = _only(released)
    assert (record.offset_delta, record.timestamp_delta) == (1, 2)


@given(st.data())
def test_damaged_records_are_refused_or_become_a_record(data: st.DataObject) -> None:
    staged = bytearray(pack_record(500, 70_000, b"key", b"value" * 20, HEADERS))
    for _ in range(data.draw(st.integers(1, 3))):
        staged[data.draw(st.integers(0, len(staged) - 1))] = data.draw(st.integers(0, 255))
    try:
        released = released_record(staged, 1, 2)
    except InvalidRecord:
        return
    assert _only(released).end == len(released)


def test_a_cut_record_is_refused() -> None:
    staged = pack_record(0, 0, b"key", b"value", HEADERS)
    for size in range(len(staged)):
        with pytest.raises(InvalidRecord):
            released_record(staged[:size], 0, 0)
    with pytest.raises(InvalidRecord):
        released_record(staged + b"\0", 0, 0)


RECORDS: list[tuple[bytes | None, bytes | None, Headers, int]] = [
    (b"k1", b"v1", HEADERS, NOW_MS - 3_600_000),
    (None, b"v2", [], NOW_MS),
    (b"k3", None, [(b"h", b"")], NOW_MS - 1),
    (b"k4", b"v" * 5000, [], NO_TIMESTAMP),
]


def _batch() -> bytes:
    staged = [pack_record(i + 3, i, key, value, headers) for i, (key, value, headers, _) in enumerate(RECORDS)]
    return released_batch(
        [(record, created) for record, (*_, created) in zip(staged, RECORDS, strict=True)], NOW_MS + 5
    )


def test_a_released_batch_counts_from_its_release() -> None:
    data = _batch()
    ((header, batch),) = split_batches(data)
    assert (header.base_timestamp, header.max_timestamp) == (NOW_MS + 5, NOW_MS)
    assert (header.base_offset, header.last_offset_delta, header.record_count) == (0, 3, 4)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert (header.attributes, header.leader_epoch) == (0, -1)
    assert checksum(batch) == header.crc
    records = list(walk_records(record_section(header, batch), 4))
    assert [record.offset_delta for record in records] == [0, 1, 2, 3]
    assert [header.base_timestamp + record.timestamp_delta for record in records] == [each[3] for each in RECORDS]
    assert [(_content(name), _content(value)) for name, value in records[0].headers] == RENAMED


@pytest.mark.parametrize("reader", [DefaultRecordBatch, KafkaPythonBatch])
def test_clients_read_a_released_batch(reader: type) -> None:
    opened = reader(_batch())
    assert opened.validate_crc()
    records = list(opened)
    assert [(r.offset, r.timestamp, r.key, r.value) for r in records] == [
        (number, created, key, value) for number, (key, value, _, created) in enumerate(RECORDS)
    ]
    assert records[0].headers == [(name.decode(), value) for name, value in RENAMED]


@given(st.lists(LONGS, min_size=1, max_size=5), st.integers(0, 2**62))
def test_any_create_time_survives_as_a_client_computes_it(created: list[int], released_ms: int) -> None:
    data = released_batch([(pack_record(0, 0, b"k", b"v"), each) for each in created], released_ms)
    ((header, batch),) = split_batches(data)
    assert (header.base_timestamp, header.max_timestamp) == (released_ms, max(created))
    records = walk_records(record_section(header, batch), header.record_count)
    # Java and C add with 64 bits.
    assert [(released_ms + r.timestamp_delta + 2**63) % 2**64 - 2**63 for r in records] == created


def test_create_times_beyond_64_bits_wrap_around() -> None:
    data = released_batch([(pack_record(0, 0, b"k", b"v"), 2**63 + 1)], 0)
    assert parse_header(data).max_timestamp == -(2**63) + 1


@pytest.mark.parametrize("count", [1, 500])
def test_a_hole_uses_up_offsets_and_looks_like_a_marker_to_clients(count: int) -> None:
    data = hole_batch(count, NOW_MS)
    ((header, batch),) = split_batches(data)
    assert (header.is_control, header.is_transactional, header.next_offset) == (True, False, count)
    assert (header.base_timestamp, header.max_timestamp) == (NOW_MS, NO_TIMESTAMP)
    assert checksum(batch) == header.crc
    assert parse_marker(header, batch[HEADER_SIZE:]) is None, "no transaction ends here"
    theirs = DefaultRecordBatch(data)
    assert theirs.is_control_batch
    assert theirs.next_offset == count
    (only,) = theirs
    assert ControlRecord.parse(only.key) not in (ABORT_MARKER, COMMIT_MARKER)
