"""Frames are cut whatever the pieces they arrive in; answers leave in the order of requests."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.deferred import Deferred
from wire.kafka.codec import WireError
from wire.kafka.connection import FIRST_ALLOCATION_BYTES, LEAST_PROGRESS_BYTES, FrameBuffer, Outbox

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
    assert outbox.held_bytes == 0


def test_requests_are_held_until_they_are_answered_and_answers_until_they_are_sent() -> None:
    outbox = Outbox()
    first, second = outbox.reserve(cost_bytes=100), outbox.reserve(cost_bytes=50)
    assert (outbox.held_bytes, outbox.unsent_bytes) == (150, 0)
    outbox.fulfil(second, [b"2" * 7], 7)
    assert (outbox.held_bytes, outbox.unsent_bytes) == (107, 7)
    outbox.fulfil(first, [b"1" * 9], 9)
    outbox.pop_ready()
    assert outbox.held_bytes == 0
    outbox.reserve(cost_bytes=5)
    outbox.abandon()
    assert outbox.held_bytes == 0


def test_frames_that_are_not_yet_taken_can_be_kept() -> None:
    shared = memoryview(bytearray(200))
    buffer, data = (
        FrameBuffer(MAX_FRAME_BYTES),
        framed(b"one") + framed(b"two") + framed(b"three") + framed(b"4" * 50)[:9],
    )
    shared[: len(data)] = data
    frames = buffer.received(shared, len(data))
    assert bytes(next(frames)) == b"one"
    buffer.keep_rest()
    shared[:] = b"x" * len(shared)
    assert [bytes(frame) for frame in frames] == [b"two", b"three"]
    assert feed(buffer, framed(b"4" * 50)[9:], [60]) == [b"4" * 50]


def test_a_frame_that_has_begun_has_to_go_on() -> None:
    buffer = FrameBuffer(MAX_FRAME_BYTES)
    assert not buffer.is_stuck(0, 10)
    feed(buffer, struct.pack(">i", 300_000) + bytes(100), [200])
    assert not buffer.is_stuck(1, 10)
    feed(buffer, bytes(100), [200])
    assert not buffer.is_stuck(11, 10)
    assert buffer.is_stuck(11.5, 10), "a trickle is no progress"
    feed(buffer, bytes(LEAST_PROGRESS_BYTES), [200])
    assert not buffer.is_stuck(12, 10)
    buffer.reset_progress()
    assert not buffer.is_stuck(100, 10), "nobody read meanwhile"
    feed(buffer, bytes(300_000 - 200 - LEAST_PROGRESS_BYTES), [200])
    assert not buffer.is_stuck(1000, 10), "it has arrived"


def test_whoever_prepares_an_answer_is_told_that_the_client_has_gone() -> None:
    outbox = Outbox()
    told: list[str] = []
    answer: Deferred[None] = Deferred()
    answer.on_abandoned(lambda: told.append("gone"))
    outbox.reserve().waits_for = answer
    outbox.abandon()
    assert told == ["gone"]
