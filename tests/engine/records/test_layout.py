"""Batches and records: aiokafka's own builder and reader are the reference; hostile bytes are refused."""

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BrokerError, CorruptMessage, InvalidRecord, UnsupportedMessageFormat
from engine.records.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD, compress
from engine.records.layout import (
    HEADER_SIZE,
    MAGIC_POSITION,
    build_batch,
    checksum,
    pack_record,
    parse_header,
    read_varint,
    record_section,
    seal_batch,
    split_batches,
    varint,
    walk_records,
)

RECORDS = [
    (b"k1", b"v1", [("h", b"x"), ("null", None)]),
    (None, b"v2", []),
    (b"k3", None, [("é", b"")]),
]


def _foreign(codec: int) -> bytes:
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
    for number, (key, value, headers) in enumerate(RECORDS):
        builder.append(number, 1000 + number * 10, key, value, headers)
    return bytes(builder.build())


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
def test_a_clients_batch_is_opened(codec: int) -> None:
    ((header, batch),) = split_batches(_foreign(codec))
    assert (header.record_count, header.last_offset_delta, header.codec) == (3, 2, codec)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 1020)
    assert checksum(batch) == header.crc
    records = list(walk_records(record_section(header, batch), header.record_count))
    assert [r.offset_delta for r in records] == [0, 1, 2]
    assert [r.timestamp_delta for r in records] == [0, 10, 20]
    assert [r.key and bytes(r.key) for r in records] == [b"k1", None, b"k3"]
    assert [r.value and bytes(r.value) for r in records] == [b"v1", b"v2", None]
    assert [[(bytes(n).decode(), v and bytes(v)) for n, v in r.headers] for r in records] == [
        [("h", b"x"), ("null", None)],
        [],
        [("é", b"")],
    ]


def test_a_client_reads_what_is_built_here() -> None:
    batch = build_batch([(b"k", b"v"), (None, None)], timestamp_ms=77, base_offset=5, producer_id=9, base_sequence=3)
    opened = DefaultRecordBatch(batch)
    assert opened.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value) for r in opened] == [(5, 77, b"k", b"v"), (6, 77, None, None)]


def test_a_batch_sealed_again_with_another_codec_is_the_same_to_a_client() -> None:
    ((header, batch),) = split_batches(_foreign(NONE))
    section = compress(ZSTD, record_section(header, batch))
    sealed = seal_batch(header._replace(attributes=ZSTD), section)
    opened = DefaultRecordBatch(sealed)
    assert opened.validate_crc()
    assert [r.value for r in opened] == [b"v1", b"v2", None]


def test_several_batches_are_split() -> None:
    data = build_batch([(b"a", b"1")], timestamp_ms=1) + build_batch([(b"b", b"2")] * 2, timestamp_ms=2)
    assert [header.record_count for header, _ in split_batches(data)] == [1, 2]
    assert b"".join(bytes(batch) for _, batch in split_batches(data)) == data


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_unsupported(magic: int) -> None:
    data = bytearray(build_batch([(b"a", b"1")], timestamp_ms=1))
    data[MAGIC_POSITION] = magic
    with pytest.raises(UnsupportedMessageFormat):
        split_batches(data)


def test_an_old_message_shorter_than_a_header_is_unsupported_too() -> None:
    with pytest.raises(UnsupportedMessageFormat):
        split_batches(bytes(16) + b"\x01" + bytes(20))


@pytest.mark.parametrize("length", [-1, 0, 48, 2**31 - 1])
def test_a_length_is_not_trusted(length: int) -> None:
    header = parse_header(build_batch([(b"a", b"1")], timestamp_ms=1))
    with pytest.raises(CorruptMessage):
        split_batches(header._replace(length=length).pack() + bytes(10))


def test_every_truncation_is_refused() -> None:
    data = build_batch([(b"a", b"1")], timestamp_ms=1)
    for size in range(1, len(data)):
        with pytest.raises(CorruptMessage):
            split_batches(data[:size])


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_come_back(value: int) -> None:
    data = varint(value)
    assert read_varint(memoryview(data), 0, len(data)) == (value, len(data))


def test_a_number_without_end_is_refused() -> None:
    with pytest.raises(InvalidRecord):
        read_varint(memoryview(b"\xff" * 100), 0, 100)


@pytest.mark.parametrize(
    "section",
    [
        varint(-1),
        varint(2**31 - 1) + b"\0",
        varint(4) + b"\0\0\0" + varint(2**20),
        pack_record(0, 0, b"k", b"v")[:-1],
        pack_record(0, 0, b"k", b"v") + b"\0",
        varint(7) + b"\0\0\0" + varint(-1) + varint(-1) + varint(1) + varint(-1),
        varint(6) + b"\0\0\0" + varint(-1) + varint(-1) + varint(60),
        varint(6) + b"\0\0\0" + varint(-2) + varint(-1) + varint(0),
    ],
)
def test_a_malformed_record_is_refused(section: bytes) -> None:
    with pytest.raises(InvalidRecord):
        list(walk_records(section, 1))


def test_a_count_beyond_the_records_is_refused() -> None:
    with pytest.raises(InvalidRecord):
        list(walk_records(pack_record(0, 0, None, b"v"), 2**31 - 1))


@given(st.binary(max_size=100), st.integers(0, 5))
def test_hostile_sections_are_refused_or_walked(section: bytes, count: int) -> None:
    try:
        for record in walk_records(section, count):
            assert 0 <= record.start < record.end <= len(section)
    except BrokerError:
        pass


@given(st.data())
def test_a_flipped_bit_in_a_batch_is_noticed_by_its_checksum(data: st.DataObject) -> None:
    batch = bytearray(build_batch([(b"key", b"value")] * 3, timestamp_ms=1))
    position = data.draw(st.integers(17, len(batch) - 1))
    batch[position] ^= 1 << data.draw(st.integers(0, 7))
    header = parse_header(batch)
    assert len(batch) >= HEADER_SIZE
    assert checksum(memoryview(batch)) != header.crc
