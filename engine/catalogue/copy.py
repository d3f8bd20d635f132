"""The second copy of the catalogue: every change once more, in a file of our own beside the topics' data.

A database can lose its latest changes without a sign: where a bit of its write-ahead log has turned over, it takes the
rest for never written; where one of a page has, it gives out another value. This file tells: it is append-only, every
frame has a checksum that covers the one before it too, and it is enough to build the catalogue anew.

The file: a mark, then frames of checksum, length and JSON. The first frame holds all entries of its revision, those
after it the changes of one revision each. It is written anew, all or nothing, once it is mostly history.
"""

import json
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field
from crc32c import crc32c

from engine.catalogue.catalogue import Delete, Entry, Put
from engine.files.files import File, Files, read_whole, replacing

FILE_NAME = "catalogue.copy"
REWRITE_BYTES = 256 * 1024
"""Below this size nobody minds the history."""
_MARK = b"TGCOPY01"
_FRAME = struct.Struct(">II")

Change = Put | Delete


@define(eq=False)
class CopiedState:
    """What a copy holds, as far as its checksums hold."""

    revision: int = 0
    entries: dict[str, Entry] = field(factory=dict)
    size: int = 0
    checksum: int = 0
    damaged_at: int | None = None
    """Where it stops being readable: a change that was being written when the power went, or damage."""

    def apply(self, revision: int, changes: Sequence[tuple[str, bytes | None]]) -> None:
        """A revision's changes."""
        for key, value in changes:
            if value is None:
                self.entries.pop(key, None)
            else:
                self.entries[key] = Entry(key, value, revision)
        self.revision = revision


def copy_path(data_dir: str) -> str:
    """Where the copy of a data directory's catalogue lies: with the topics, so that who copies them has their names."""
    return os.path.join(data_dir, "topics", FILE_NAME)


def read_copy(files: Files, path: str) -> CopiedState | None:
    """What the file holds; None if there is none. Raises OSError."""
    data = read_whole(files, path)
    if data is None:
        return None
    state = CopiedState(damaged_at=0)
    for end, checksum, body in _frames(data):
        if not _take(state, body):
            break
        state.size, state.checksum = end, checksum
    state.damaged_at = state.size if state.size < max(len(data), len(_MARK)) else None
    return state


def damaged_at(files: Files, path: str) -> int | None:
    """Where the file stops being readable; None if it is sound, or there is none. Raises OSError."""
    data = read_whole(files, path)
    if data is None:
        return None
    end = max((end for end, _, _ in _frames(data)), default=0)
    return end if end < len(data) else None


def _frames(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Every frame as far as checksums hold: where it ends, its checksum, its body."""
    at, chain = len(_MARK), 0
    while data.startswith(_MARK) and len(data) - at >= _FRAME.size:
        checksum, length = _FRAME.unpack_from(data, at)
        body = data[at + _FRAME.size : at + _FRAME.size + length]
        chain = crc32c(body, chain)
        if len(body) != length or chain != checksum:
            return
        at += _FRAME.size + length
        yield at, checksum, body


def _take(state: CopiedState, body: bytes) -> bool:
    fields = json.loads(body)
    if "entries" in fields:
        state.entries = {key: Entry(key, _bytes(value), revision) for key, value, revision in fields["entries"]}
        state.revision = fields["revision"]
    elif fields["revision"] <= state.revision:
        return False
    else:
        changes = [(key, None if value is None else _bytes(value)) for key, value in fields["changes"]]
        state.apply(fields["revision"], changes)
    return True


@define(eq=False)
class CatalogueCopy:
    """Writes the copy. Calls block: they run where the catalogue's own do."""

    files: Files
    path: str
    _file: File | None = None
    _size: int = 0
    _checksum: int = 0
    _rewrite_at: int = 0

    @property
    def is_current(self) -> bool:
        """Whether a change can be appended; if not, all of it has to be written anew."""
        return self._file is not None and self._size < self._rewrite_at

    def resume(self, state: CopiedState) -> None:
        """Go on at the end of what was read."""
        self.close()
        self._file = self.files.open(self.path)
        self._size, self._checksum = state.size, state.checksum
        self._rewrite_at = max(REWRITE_BYTES, 4 * state.size)

    def append(self, revision: int, changes: Sequence[Change]) -> None:
        """A revision's changes; durable when it returns. Raises OSError: then `is_current` no longer holds."""
        assert self._file is not None, "there is something to append to"
        file, self._file = self._file, None
        values = [[change.key, _text(change.value) if isinstance(change, Put) else None] for change in changes]
        body = _encode({"revision": revision, "changes": values})
        checksum = crc32c(body, self._checksum)
        file.write([_FRAME.pack(checksum, len(body)), body], self._size)
        file.sync()
        self._file, self._size, self._checksum = file, self._size + _FRAME.size + len(body), checksum

    def rewrite(self, revision: int, entries: Sequence[Entry]) -> None:
        """All of it, in the place of what there was. Raises OSError."""
        self.close()
        self.files.make_directories(os.path.dirname(self.path))
        rows = [[entry.key, _text(entry.value), entry.revision] for entry in entries]
        body = _encode({"revision": revision, "entries": rows})
        checksum = crc32c(body)
        with replacing(self.files, self.path) as file:
            file.write([_MARK, _FRAME.pack(checksum, len(body)), body], 0)
        # The directory itself may be new.
        self.files.sync_directory(os.path.dirname(os.path.dirname(self.path)))
        self._file = self.files.open(self.path)
        self._size, self._checksum = len(_MARK) + _FRAME.size + len(body), checksum
        self._rewrite_at = max(REWRITE_BYTES, 4 * self._size)

    def close(self) -> None:
        """Nothing more is written."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _encode(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")
