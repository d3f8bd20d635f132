"""Frames are cut whatever the pieces they arrive in; answers leave in the order of requests."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.kafka.codec import WireError
from wire.kafka.connection import FIRST_ALLOCATION_BYTES, FrameBuffer, Outbox

MAX_FRAME_BYTES = 1_000_000


def feed(buffer: FrameBuffer, data: bytes, piece_sizes: list[int]) -> list[bytes]:
    """What comes out when `data` arrives in pieces of about these sizes, through a small shared buffer."""
    shared = memoryview(bytearray(200))
    frames: list[bytes] = []
    position = 0
    while position < len(data):
        size = piece_sizes[len(frames) % len(piece_sizes)] if piece_sizes else 1
        space = buffer.space(shared)
        count = min(size, len(space), len(data) - position)
        space[:count] = data[position : position + count]
        frames += [bytes(frame) for frame in buffer.received(space, count)]
        position += count
    return frames


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


@given(
    payloads=st.lists(st.binary(max_size=600), max_size=8),
    piece_sizes=st.lists(st.integers(1, 300), min_size=1, max_size=5),
)
def test_frames_come_out_whole_whatever_the_pieces(payloads: list[bytes], piece_sizes: list[int]) -> None:
    data = b"".join(map(framed, payloads))
    assert feed(FrameBuffer(MAX_FRAME_BYTES), data, piece_sizes) == payloads


def test_a_frame_larger_than_the_first_allocation_comes_out_whole() -> None:
    payload = bytes(range(256)) * (FIRST_ALLOCATION_BYTES // 64)
    assert feed(FrameBuffer(MAX_FRAME_BYTES), framed(payload), [150]) == [payload]


@pytest.mark.parametrize("length", [-1, -(2**31), 2**31 - 1, MAX_FRAME_BYTES + 1])
@pytest.mark.parametrize("piece", [1, 200])
def test_an_impossible_length_is_refused(length: int, piece: int) -> None:
    with pytest.raises(WireError, match=r"length|larger than socket\.request\.max\.bytes"):
        feed(FrameBuffer(MAX_FRAME_BYTES), struct.pack(">i", length) + b"xx", [piece])


def test_memory_grows_with_what_arrived_not_with_what_was_announced() -> None:
    buffer = FrameBuffer(100 * 1024 * 1024)
    assert feed(buffer, struct.pack(">i", 90 * 1024 * 1024) + b"x" * 100, [150]) == []
    assert buffer.buffered_bytes <= FIRST_ALLOCATION_BYTES


@pytest.mark.parametrize("piece", [1, 5, 6, 200])
def test_a_large_frame_must_be_a_produce_request(piece: int) -> None:
    produce, metadata = struct.pack(">h", 0) + bytes(300), struct.pack(">h", 3) + bytes(300)
    assert feed(FrameBuffer(MAX_FRAME_BYTES, 200), framed(produce), [piece]) == [produce]
    with pytest.raises(WireError, match=r"API key 3 is larger than socket\.control\.request\.max\.bytes=200"):
        feed(FrameBuffer(MAX_FRAME_BYTES, 200), framed(metadata), [piece])


def test_what_a_begun_frame_will_take_is_known_before_it_is_taken() -> None:
    buffer = FrameBuffer(MAX_FRAME_BYTES)
    feed(buffer, struct.pack(">i", 300_000) + bytes(FIRST_ALLOCATION_BYTES - 4), [200])
    assert buffer.is_larger_than(FIRST_ALLOCATION_BYTES)
    assert not buffer.is_larger_than(300_004)
    expected = buffer.next_buffered_bytes
    assert expected > buffer.buffered_bytes
    buffer.space(memoryview(bytearray(200)))
    assert buffer.buffered_bytes == expected == buffer.next_buffered_bytes


def test_answers_are_sent_in_the_order_of_requests() -> None:
    outbox = Outbox()
    first, second, third = outbox.reserve(), outbox.reserve(), outbox.reserve()
    outbox.fulfil(second, [b"2"], 1)
    assert outbox.pop_ready() == []
    outbox.fulfil(first, [b"1"], 1)
    assert outbox.pop_ready() == [b"1", b"2"]
    outbox.fulfil(third, [b"3"], 1)
    assert outbox.pop_ready() == [b"3"]
    assert outbox.ready_bytes == 0


def test_whoever_prepares_an_answer_is_told_that_the_client_has_gone() -> None:
    outbox = Outbox()
    told = []
    outbox.reserve().abandon = lambda: told.append("gone")
    outbox.abandon()
    assert told == ["gone"]
