"""New segments, none larger than allowed, that tile the offsets."""

from engine.cleaner.output import NewSegments
from engine.files.memory import MemoryFiles
from engine.log.aborted_index import AbortedTransaction
from engine.log.replacement import CLEANED_SUFFIX
from engine.log.segment import Segment
from engine.records.layout import HEADER_SIZE, build_batch
from tests.engine.logs import DIRECTORY, NOW_MS, memory_files

BATCH_BYTES = len(build_batch([(b"k", b"v")], timestamp_ms=NOW_MS))


def batch(offset: int) -> bytes:
    return build_batch([(b"k", b"v")], timestamp_ms=NOW_MS, base_offset=offset)


def output(segment_bytes: int, base_offset: int = 0) -> tuple[MemoryFiles, NewSegments]:
    files = memory_files()
    files.make_directories(DIRECTORY)
    return files, NewSegments(files, DIRECTORY, base_offset, NOW_MS, segment_bytes, 100)


def test_it_begins_a_segment_when_one_is_full() -> None:
    _, out = output(2 * BATCH_BYTES)
    for offset in range(5):
        out.append(batch(offset))
    segments = out.finish()
    assert [segment.size // BATCH_BYTES for segment in segments] == [2, 2, 1]
    assert out.size == 5 * BATCH_BYTES


def test_a_segment_begins_where_the_one_before_ends_whatever_the_gap() -> None:
    _, out = output(BATCH_BYTES, base_offset=3)
    out.append(batch(7))
    out.append(batch(50))
    assert [segment.base_offset for segment in out.finish()] == [3, 8]
    assert out.end == 51


def test_a_batch_larger_than_a_segment_has_one_for_itself() -> None:
    _, out = output(HEADER_SIZE)
    out.append(batch(0))
    out.append(batch(1))
    assert len(out.finish()) == 2


def test_an_entry_goes_into_the_segment_of_its_marker() -> None:
    _, out = output(BATCH_BYTES)
    entry = AbortedTransaction(7, 0, 1, 2)
    out.append(batch(0))
    out.append(batch(1), entry)
    out.append(batch(2))
    assert [list(opened(segment).aborted or ()) for segment in out.finish()] == [[], [entry], []]


def test_a_segment_knows_up_to_where_all_was_decided() -> None:
    """By the old segments that it replaces, not by one that it holds only a part of."""
    _, out = output(BATCH_BYTES)
    out.append(batch(0))
    out.append(batch(1))
    out.stable_offset = 1
    out.append(batch(2))
    out.stable_offset = 3
    assert [opened(segment).stable_offset for segment in out.finish()] == [-1, 1, 3]


def opened(segment: Segment) -> Segment:
    for path in (segment.path, segment.index_path):
        segment.files.rename(path + CLEANED_SUFFIX, path)
    segment.loaded_index()
    return segment


def test_what_is_abandoned_leaves_nothing() -> None:
    files, out = output(BATCH_BYTES)
    for offset in range(3):
        out.append(batch(offset))
    out.abandon()
    assert files.list(DIRECTORY) == {}
