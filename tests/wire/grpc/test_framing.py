"""Messages in the bytes of a call: whatever pieces they come in, and however much they claim to be."""

import gzip
import zlib

import pytest

from wire.grpc.framing import GZIP, IDENTITY, PREFIX, MessageBuffer, entries, framed, unpacked
from wire.grpc.messages.produce_pb2 import SendRequest
from wire.grpc.messages.records_pb2 import NewRecord
from wire.grpc.status import GrpcError, Status


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
def test_messages_come_in_any_pieces(piece: int) -> None:
    buffer, sent = MessageBuffer(1000), framed(b"one") + framed(b"") + framed(b"three" * 50)
    given_back = 0
    for position in range(0, len(sent), piece):
        part = sent[position : position + piece]
        given_back += buffer.add(part, len(part))
    assert buffer.buffered_bytes == len(sent)
    found = []
    while buffer:
        message, owed = buffer.take()
        found.append(message.payload)
        given_back += owed
    assert found == [b"one", b"", b"three" * 50]
    assert given_back == len(sent)
    assert buffer.buffered_bytes == 0


def test_padding_is_given_back_too() -> None:
    buffer = MessageBuffer(1000)
    assert buffer.add(framed(b"one"), len(framed(b"one")) + 100) == 0
    assert buffer.take()[1] == len(framed(b"one")) + 100


def test_the_window_of_a_message_that_is_larger_than_it_opens_again() -> None:
    buffer, sent = MessageBuffer(10_000), framed(bytes(5000))
    assert buffer.add(sent[:3000], 3000) == 3000
    assert buffer.add(sent[3000:], len(sent) - 3000) == 0
    assert buffer.take()[1] == len(sent) - 3000


def test_a_message_that_claims_too_much_is_refused_before_it_has_come() -> None:
    with pytest.raises(GrpcError, match=r"grpc\.max\.message\.bytes=1000") as refused:
        MessageBuffer(1000).add(PREFIX.pack(0, 2**32 - 1), 5)
    assert refused.value.status is Status.RESOURCE_EXHAUSTED


def test_a_message_with_an_unknown_mark_is_refused() -> None:
    with pytest.raises(GrpcError, match="begins with 7"):
        MessageBuffer(1000).add(PREFIX.pack(7, 0), 5)


def test_what_is_forgotten_is_owed() -> None:
    buffer = MessageBuffer(1000)
    buffer.add(framed(b"one"), 8)
    buffer.add(b"\0", 1)
    assert buffer.is_torn
    assert buffer.clear() == 9
    assert not buffer.is_torn


def test_gzip_is_unpacked_within_bounds() -> None:
    assert unpacked(gzip.compress(b"text" * 100), GZIP, 1000) == b"text" * 100
    with pytest.raises(GrpcError, match="once unpacked") as refused:
        unpacked(gzip.compress(bytes(10**7)), GZIP, 1000)
    assert refused.value.status is Status.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("packed", [b"nonsense", gzip.compress(b"text")[:-4], zlib.compress(b"text")])
def test_what_is_no_gzip_is_refused(packed: bytes) -> None:
    with pytest.raises(GrpcError, match="gzip"):
        unpacked(packed, GZIP, 1000)


def test_a_packed_message_in_a_call_without_packing_is_refused() -> None:
    with pytest.raises(GrpcError, match="grpc-encoding"):
        unpacked(b"", IDENTITY, 1000)


def test_the_entries_of_a_message_are_counted_without_reading_it() -> None:
    request = SendRequest(
        topic="t", timeout_ms=70_000, records=[NewRecord(value=b"v" * size) for size in (0, 100, 300)]
    )
    assert entries(request.SerializeToString(), 100) == 5
    assert entries(b"\x12\x00" * 1_000, 100) == 101, "no further than asked"
    assert entries(b"\x09" + bytes(8) + b"\x0d" + bytes(4) + b"\x12\x01x", 100) == 3
    for torn in (b"\x12", b"\x12\xff", b"\x12\x7f", b"\x80", b"\x0b\x12\x00", b"\x12\x00\xff\xff\xff"):
        assert entries(torn, 100) <= 1
