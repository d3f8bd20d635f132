"""Frames counted before anybody works on them, in whatever pieces they arrive."""

import pytest
from hyperframe.frame import ContinuationFrame, DataFrame, HeadersFrame

from tests.wire.grpc.peer import FakeTime
from wire.grpc.frame_meter import HEADERS_ROOM_BYTES, PREFACE_BYTES, FrameMeter, TooManyFrames

MOST = 1000


def meter() -> FrameMeter:
    found = FrameMeter(10, 10, MOST - HEADERS_ROOM_BYTES, FakeTime())
    found.count(memoryview(bytes(PREFACE_BYTES)))
    return found


def count(found: FrameMeter, data: bytes, piece: int) -> None:
    for position in range(0, len(data), piece):
        found.count(memoryview(data[position : position + piece]))


@pytest.mark.parametrize("piece", [1, 7, 5000])
def test_headers_are_counted_over_all_their_frames_and_for_each_call_anew(piece: int) -> None:
    call = HeadersFrame(1, b"x" * 600).serialize() + ContinuationFrame(1, b"x" * 400).serialize()
    found = meter()
    count(found, call * 3, piece)
    with pytest.raises(TooManyFrames, match=r"grpc\.max\.header\.bytes"):
        count(found, call + ContinuationFrame(1, b"x").serialize(), piece)


def test_data_is_not_counted_but_where_there_is_none() -> None:
    found = meter()
    found.count(memoryview(DataFrame(1, b"x" * 5000).serialize() * 1000))
    with pytest.raises(TooManyFrames, match="empty"):
        found.count(memoryview(DataFrame(1, b"").serialize() * 100))
