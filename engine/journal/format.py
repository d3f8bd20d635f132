"""What a journal holds: frames, one after the other from the start of a slot, each on a block boundary.

A frame is what one sync round wrote: for each of its logs the directory, the segment, the place in it, and the bytes.
Only whole batches are journaled, so that a log can go on after any of them.

A slot is written over and over. Each lap has a higher sequence number and a new salt, and a frame counts only if it
belongs to the last lap and its checksum is right. The salt is random because a client chooses what its records contain:
without it, a record that looks like a frame could be taken for one where an older lap shows through.
"""

import logging
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Protocol

from crc32c import crc32c
from msgspec import Struct

from engine.files.files import File, Files

logger = logging.getLogger("tidegate.journal")

BLOCK = 4096
"""What a disk writes at once, whatever disk it is."""
SLOT_SUFFIX = ".journal"
_MAGIC = b"tidejrn1"
SALT_BYTES = 16
_FRAME = struct.Struct(f">8sIIQ{SALT_BYTES}sII")
"""Magic, checksum of all that follows, length, the slot's sequence number and salt, the frame's number, entries."""
_CHECKED_FROM = 12
_ENTRY = struct.Struct(">HIqq")
"""Length of the directory's name, bytes, the segment's base offset, the place in it; then the name and the bytes."""


class JournalPiece(Struct, frozen=True):
    """Bytes of a log that a round has to make durable."""

    directory: str
    segment: int
    file: File
    position: int
    size: int


class Journaled(Struct, frozen=True):
    """Bytes of a log that are in the journal."""

    place: int
    """Later ones have a higher one."""
    segment: int
    position: int
    size: int
    file: File
    start: int

    @property
    def end(self) -> int:
        """Where in the segment they end."""
        return self.position + self.size

    def read(self, skip: int) -> bytes:
        """The bytes without the first `skip`."""
        return self.file.pread(self.size - skip, self.start + skip)


class Lap(Struct, frozen=True):
    """Under what a slot is written this time."""

    sequence: int
    salt: bytes


class SlotExtent(Struct, frozen=True):
    """How many frames a slot holds under this lap."""

    path: str
    lap: Lap
    frames: int


class LogJournal(Protocol):
    """What a log asks of the journal."""

    def tail(self, directory: str) -> Sequence[Journaled]:
        """[thread] What it holds of the log there. Raises OSError."""

    @property
    def place(self) -> int:
        """[thread] All that it holds so far has a lower place."""


def place(sequence: int, number: int) -> int:
    """The order of frames over all slots."""
    return sequence << 32 | number


def padded(size: int) -> int:
    """The same in whole blocks."""
    return -(-size // BLOCK) * BLOCK


def frame_size(root: str, pieces: Sequence[JournalPiece]) -> int:
    """How many bytes the frame of these pieces takes."""
    skipped = len(root) + 1
    return _FRAME.size + sum(_ENTRY.size + len(piece.directory) - skipped + piece.size for piece in pieces)


def write_frame(buffer: memoryview, root: str, pieces: Sequence[JournalPiece], lap: Lap, number: int) -> int:
    """Put a frame into `buffer`, reading the bytes from their files; its length. Raises OSError."""
    at, skipped = _FRAME.size, len(root) + 1
    for piece in pieces:
        name, size = piece.directory[skipped:].encode(), piece.size
        _ENTRY.pack_into(buffer, at, len(name), size, piece.segment, piece.position)
        at += _ENTRY.size
        buffer[at : at + len(name)] = name
        at += len(name)
        if piece.file.read_into(buffer[at : at + size], piece.position) != size:
            raise OSError(f"{piece.file.path} is shorter than what was written to it")
        at += size
    _FRAME.pack_into(buffer, 0, _MAGIC, 0, at, lap.sequence, lap.salt, number, len(pieces))
    struct.pack_into(">I", buffer, 8, crc32c(buffer[_CHECKED_FROM:at]))
    return at


def slot_paths(files: Files, directory: str) -> list[str]:
    """The slots that there are."""
    return [os.path.join(directory, name) for name in sorted(files.list(directory)) if name.endswith(SLOT_SUFFIX)]


def slot_sequence(file: File) -> int:
    """The sequence number under which a slot was last written; 0 if never."""
    frame = _frame_at(file, 0, file.size())
    return 0 if frame is None else frame.lap.sequence


def read_journal(files: Files, directory: str, root: str) -> dict[str, list[Journaled]]:
    """All entries by the directory of their log, in the order in which they were written. Raises OSError."""
    found: dict[str, list[Journaled]] = {}
    for path in slot_paths(files, directory):
        for name, entry in _entries(files.open(path)):
            found.setdefault(f"{root}/{name}", []).append(entry)
    for entries in found.values():
        entries.sort(key=lambda entry: entry.place)
    return found


class _Frame(Struct, frozen=True):
    lap: Lap
    number: int
    count: int
    content: bytes


def _lap_of(file: File) -> Lap | None:
    """Under what a slot was last written, as the start of its first frame says, be the rest of it whole or not."""
    header = file.pread(_FRAME.size, 0)
    if len(header) < _FRAME.size or header[: len(_MAGIC)] != _MAGIC:
        return None
    _, _, _, sequence, salt, _, _ = _FRAME.unpack(header)
    return Lap(sequence, salt)


def _frame_at(file: File, at: int, size: int, lap: Lap | None = None) -> _Frame | None:
    """The whole frame there, if there is one (of this lap)."""
    header = file.pread(_FRAME.size, at)
    if len(header) < _FRAME.size:
        return None
    magic, checksum, length, sequence, salt, number, count = _FRAME.unpack(header)
    if magic != _MAGIC or not _FRAME.size <= length <= size - at:
        return None
    if lap is not None and (sequence, salt) != (lap.sequence, lap.salt):
        return None
    content = file.pread(length, at)
    if len(content) < length or crc32c(memoryview(content)[_CHECKED_FROM:]) != checksum:
        return None
    return _Frame(Lap(sequence, salt), number, count, content)


def damaged_at(files: Files, extent: SlotExtent) -> int | None:
    """[thread] Where a slot does not hold the frame that was written there; None if it holds all. Raises OSError."""
    file = files.open(extent.path)
    try:
        at, size = 0, file.size()
        for number in range(extent.frames):
            frame = _frame_at(file, at, size)
            if frame is None or (frame.lap, frame.number) != (extent.lap, number):
                return at
            at += padded(len(frame.content))
    finally:
        file.close()
    return None


def _entries(file: File) -> Iterator[tuple[str, Journaled]]:
    """What a slot holds of its last lap. A frame is written once the one before it is durable: so the last one may be
    torn, but where others follow a broken one, that is damage, and what they hold counts all the same."""
    at, size, number = 0, file.size(), 0
    lap = _lap_of(file)
    while lap is not None and at < size:
        frame = _frame_at(file, at, size, lap)
        if frame is None or frame.number < number:
            at += BLOCK
            continue
        if frame.number > number:
            text = "%s is damaged before byte %d: %d rounds are missing of what it made durable"
            logger.error(text, file.path, at, frame.number - number)
        yield from _frame_entries(file, at, frame)
        at += padded(len(frame.content))
        number = frame.number + 1


def _frame_entries(file: File, frame_at: int, frame: _Frame) -> Iterator[tuple[str, Journaled]]:
    at, content = _FRAME.size, frame.content
    frames_place = place(frame.lap.sequence, frame.number)
    for _ in range(frame.count):
        name_length, size, segment, position = _ENTRY.unpack_from(content, at)
        start = at + _ENTRY.size + name_length
        name = content[start - name_length : start].decode()
        yield name, Journaled(frames_place, segment, position, size, file, frame_at + start)
        at = start + size
