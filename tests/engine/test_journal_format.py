"""Frames and slots: what is written is read, and of anything else nothing is believed."""

from hypothesis import given
from hypothesis import strategies as st

from engine.journal_format import (
    BLOCK,
    SALT_BYTES,
    JournalPiece,
    Lap,
    frame_size,
    padded,
    place,
    read_journal,
    slot_sequence,
    write_frame,
)
from engine.memory_files import MemoryFiles
from tests.engine.logs import memory_files

SLOT = "/data/journal/0.journal"
LOGS = ("/data/topics/0a/0", "/data/topics/0a/1", "/data/topics/0a/1/stage")

contents = st.lists(st.tuples(st.sampled_from(LOGS), st.binary(min_size=1, max_size=9000)), max_size=4)


def slot_of(frames: list[list[tuple[str, bytes]]], sequence: int = 7) -> MemoryFiles:
    """A slot with these frames; the n-th piece of all lies at position n of its segment, whose offset is n too."""
    files = memory_files()
    files.make_directories("/data/journal")
    source = files.open("/data/source", create=True)
    slot = files.open(SLOT, create=True)
    at = count = 0
    for number, frame in enumerate(frames):
        pieces = []
        for directory, content in frame:
            source.write([content], count)
            pieces.append(JournalPiece(directory, count, source, count, len(content)))
            count += len(content)
        buffer = memoryview(bytearray(padded(frame_size("/data", pieces))))
        assert write_frame(buffer, "/data", pieces, Lap(sequence, b"s" * SALT_BYTES), number) == frame_size(
            "/data", pieces
        )
        slot.write([buffer], at)
        at += len(buffer)
    slot.write([bytes(BLOCK)], at)
    return files


@given(frames=st.lists(contents, max_size=4))
def test_what_is_written_is_read(frames: list[list[tuple[str, bytes]]]) -> None:
    files = slot_of(frames)
    found = read_journal(files, "/data/journal", "/data")
    for directory in LOGS:
        expected = [
            (place(7, number), content)
            for number, frame in enumerate(frames)
            for log, content in frame
            if log == directory
        ]
        entries = found.get(directory, [])
        assert [(entry.place, entry.read(0)) for entry in entries] == expected
        assert all(entry.segment == entry.position == entry.end - entry.size for entry in entries)


@given(frames=st.lists(contents.filter(bool), min_size=1, max_size=4), at=st.floats(0, 1), bit=st.integers(0, 7))
def test_a_damaged_frame_ends_a_slot(frames: list[list[tuple[str, bytes]]], at: float, bit: int) -> None:
    files = slot_of(frames)
    whole = [entry.read(0) for log in LOGS for entry in read_journal(files, "/data/journal", "/data").get(log, [])]
    files.flip_bit(SLOT, int(at * (files.list("/data/journal")["0.journal"] - 1)), bit)
    found = [entry for entries in read_journal(files, "/data/journal", "/data").values() for entry in entries]
    assert all(entry.read(0) in whole for entry in found)
    assert {entry.place for entry in found} == {place(7, number) for number in range(len({e.place for e in found}))}


@given(content=st.binary(max_size=2 * BLOCK))
def test_anything_else_is_no_journal(content: bytes) -> None:
    files = memory_files()
    files.make_directories("/data/journal")
    slot = files.open(SLOT, create=True)
    slot.write([content], 0)
    assert read_journal(files, "/data/journal", "/data") == {}
    assert slot_sequence(slot) == 0


def test_slots_are_read_in_the_order_of_their_sequence() -> None:
    files = slot_of([[(LOGS[0], b"late")]], sequence=9)
    early = slot_of([[(LOGS[0], b"early")]], sequence=8).open(SLOT)
    files.open("/data/journal/1.journal", create=True).write([early.pread(early.size(), 0)], 0)
    entries = read_journal(files, "/data/journal", "/data")[LOGS[0]]
    assert [entry.read(0) for entry in entries] == [b"early", b"late"]


def test_whole_blocks() -> None:
    assert [padded(size) for size in (0, 1, BLOCK, BLOCK + 1)] == [0, BLOCK, BLOCK, 2 * BLOCK]
