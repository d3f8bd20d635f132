"""Records out of the bytes of a fetch, whatever is in them."""

import struct

import pytest

from engine.errors import CorruptMessage
from engine.records.compression import GZIP, TooLargeDecompressed, compress
from engine.records.layout import CONTROL_FLAG, HEADER_SIZE, TRANSACTIONAL_FLAG, build_batch, parse_header, seal_batch
from wire.inner.opening import Opened, WantedRecords, is_soon_opened, opened
from wire.kafka.messages.fetch import AbortedTransaction

EVERYTHING = WantedRecords(0, 1_000, 2**30, 2**20)
ABORT = struct.pack(">hh", 0, 0)


def plain(*values: bytes, base_offset: int = 0) -> bytes:
    return build_batch([(None, value) for value in values], timestamp_ms=5, base_offset=base_offset)


def of_producer(value: bytes, offset: int, producer_id: int) -> bytes:
    return build_batch(
        [(None, value)],
        timestamp_ms=5,
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        attributes=TRANSACTIONAL_FLAG,
    )


def abort(offset: int, producer_id: int) -> bytes:
    return build_batch(
        [(ABORT, b"\0\0\0\0\0\0")],
        timestamp_ms=5,
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        attributes=TRANSACTIONAL_FLAG | CONTROL_FLAG,
    )


def values(found: Opened) -> list[bytes | None]:
    return [record.value for record in found.records]


def test_a_batch_that_is_cut_off_is_left_for_the_next_read() -> None:
    second = plain(b"b", base_offset=1)
    found = opened(plain(b"a") + second[:-1], EVERYTHING, None)
    assert (values(found), found.next_offset) == ([b"a"], 1)


def test_a_length_that_cannot_be_ends_the_reading() -> None:
    wrong = bytearray(plain(b"b", base_offset=1))
    wrong[8:12] = struct.pack(">i", -5)
    assert values(opened(plain(b"a") + bytes(wrong), EVERYTHING, None)) == [b"a"]


def test_a_bomb_is_opened_no_further_than_the_bound() -> None:
    whole = plain(b"\0" * 2_000_000)
    bomb = seal_batch(parse_header(whole)._replace(attributes=GZIP), compress(GZIP, whole[HEADER_SIZE:]))
    assert not is_soon_opened(bomb, 2**20)
    with pytest.raises(TooLargeDecompressed):
        opened(bomb, EVERYTHING, None)


def test_records_that_are_not_what_they_say_are_told() -> None:
    wrong = bytearray(plain(b"value"))
    wrong[HEADER_SIZE] = 0xFE
    with pytest.raises(CorruptMessage, match="offset 0"):
        opened(bytes(wrong), EVERYTHING, None)


def test_of_two_producers_only_the_one_that_aborted_is_left_out() -> None:
    data = b"".join(
        (
            of_producer(b"gone", 0, 7),
            of_producer(b"kept", 1, 8),
            abort(2, 7),
            of_producer(b"again", 3, 7),
        )
    )
    found = opened(data, EVERYTHING, [AbortedTransaction(7, 0)])
    assert (values(found), found.next_offset) == ([b"kept", b"again"], 4)


def test_a_read_within_an_aborted_transaction_knows_of_it() -> None:
    data = of_producer(b"one", 0, 7) + of_producer(b"two", 1, 7) + abort(2, 7) + plain(b"after", base_offset=3)
    wanted = WantedRecords(1, 1_000, 2**30, 2**20)
    assert values(opened(data, wanted, [AbortedTransaction(7, 0)])) == [b"after"]


def test_the_first_record_is_given_whatever_its_size() -> None:
    found = opened(plain(b"x" * 5_000, b"y"), WantedRecords(0, 10, 100, 2**20), None)
    assert (len(found.records), found.next_offset) == (1, 1)
