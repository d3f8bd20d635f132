"""Frames and slots: what is written is read, and of anything else nothing is believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.files.memory import MemoryFiles
from engine.journal.format import (
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
def test_a_damaged_frame_costs_no_other(frames: list[list[tuple[str, bytes]]], at: float, bit: int) -> None:
    files = slot_of(frames)
    before = read_journal(files, "/data/journal", "/data")
    whole = {(entry.place, entry.position): entry.read(0) for log in LOGS for entry in before.get(log, [])}
    # Of the first frame's start the lap is read, without which nothing can be told from what was there before.
    flipped = 40 + int(at * (files.list("/data/journal")["0.journal"] - 41))
    files.flip_bit(SLOT, flipped, bit)
    after = read_journal(files, "/data/journal", "/data")
    found = {(entry.place, entry.position): entry.read(0) for entries in after.values() for entry in entries}
    assert found.items() <= whole.items()
    assert len({number for number, _ in whole} - {number for number, _ in found}) <= 1


def test_damage_is_told_and_a_torn_end_is_not(caplog: pytest.LogCaptureFixture) -> None:
    files = slot_of([[(LOGS[0], b"first")], [(LOGS[1], b"second")], [(LOGS[0], b"third")]])
    files.flip_bit(SLOT, 2 * BLOCK + 70)
    assert len(read_journal(files, "/data/journal", "/data")) == 2
    assert not caplog.records
    files.flip_bit(SLOT, 2 * BLOCK + 70)
    files.flip_bit(SLOT, BLOCK + 70)
    (entries,) = read_journal(files, "/data/journal", "/data").values()
    assert [entry.read(0) for entry in entries] == [b"first", b"third"]
    assert "0.journal is damaged before byte 8192: 1 rounds are missing" in caplog.text


def test_frames_of_an_older_lap_do_not_count() -> None:
    files = slot_of([[(LOGS[0], b"old")], [(LOGS[0], b"older")], [(LOGS[0], b"oldest")]], sequence=7)
    newer = slot_of([[(LOGS[0], b"new")]], sequence=8).open(SLOT)
    files.open(SLOT).write([newer.pread(BLOCK, 0)], 0)
    (entries,) = read_journal(files, "/data/journal", "/data").values()
    assert [entry.read(0) for entry in entries] == [b"new"]


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
