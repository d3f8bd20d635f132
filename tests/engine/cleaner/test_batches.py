"""Reading whole batches from a sealed segment."""

import pytest

from engine.cleaner.batch_cleaning import CHUNK_BYTES, is_intact, read_batches
from engine.errors import CorruptMessage
from engine.log.log import LogConfig
from engine.log.segment import Segment
from tests.engine.logs import batch, memory_files, open_log, read_all, sync

LARGE = LogConfig(max_message_bytes=4 * CHUNK_BYTES)


def sealed(*sizes: int) -> tuple[Segment, list[bytes]]:
    log = open_log(memory_files(), config=LARGE)
    for size in sizes:
        log.append(batch(size=size), 0)
    log.roll()
    sync(log)
    return log.segments[0], read_all(log)


@pytest.mark.parametrize(
    "sizes", [(10,), (10, CHUNK_BYTES, 20), (CHUNK_BYTES * 2,), (CHUNK_BYTES - 150, 10, 10), (1000,) * 600]
)
def test_every_batch_comes_whole(sizes: tuple[int, ...]) -> None:
    segment, expected = sealed(*sizes)
    found = list(read_batches(segment))
    assert [data for _, data in found] == expected
    assert all(is_intact(header, data) for header, data in found)


def test_a_segment_that_is_cut_short_is_damaged() -> None:
    segment, _ = sealed(10, 10)
    segment.file().truncate(segment.size - 1)
    with pytest.raises(CorruptMessage):
        list(read_batches(segment))


@pytest.mark.parametrize("position", [0, 8, 16])
def test_broken_framing_is_damage(position: int) -> None:
    """The offset, the length and the format of the second batch."""
    segment, (first, _) = sealed(10, 10)
    segment.files.flip_bit(segment.path, len(first) + position, 7)  # type: ignore[attr-defined]
    with pytest.raises(CorruptMessage):
        list(read_batches(segment))


def test_a_wrong_checksum_is_told() -> None:
    segment, _ = sealed(10)
    segment.files.flip_bit(segment.path, segment.size - 1)  # type: ignore[attr-defined]
    assert [is_intact(header, data) for header, data in read_batches(segment)] == [False]
