"""A file system in memory that forgets what was not synced and fails when told to.

It is stricter than a disk: every write and every change of a directory that was not synced may be lost on its own,
in any order, and of a lost write any part may remain. A rename happens whole or not at all.
"""

import contextlib
import errno as error_numbers
import os
import random
from collections.abc import Callable, MutableSequence, Sequence
from typing import Union

from attrs import define, field

from engine.files.files import Buffer, File, Room


@define(eq=False, repr=False)
class _Content:
    """What a file holds: now, on disk, and the changes in between (position, bytes or a truncation)."""

    data: bytearray = field(factory=bytearray)
    durable: bytearray = field(factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(factory=list)

    def write(self, position: int, piece: bytes) -> None:
        _apply(self.data, position, piece)
        self.pending.append((position, piece))

    def truncate(self, size: int) -> None:
        _apply(self.data, size, None)
        self.pending.append((size, None))

    def sync(self) -> None:
        for position, piece in self.pending:
            _apply(self.durable, position, piece)
        self.pending.clear()

    def crash(self, chance: random.Random | None) -> None:
        for position, piece in self.pending if chance else ():
            assert chance is not None
            fate = chance.randrange(3)
            if fate == 1:
                _apply(self.durable, position, piece)
            elif fate == 2 and piece:
                _apply(self.durable, position, piece[: chance.randrange(len(piece))])
        self.pending.clear()
        self.data = bytearray(self.durable)


def _apply(target: bytearray, position: int, piece: bytes | None) -> None:
    if position > len(target):
        target.extend(bytes(position - len(target)))
    if piece is None:
        del target[position:]
    else:
        target[position : position + len(piece)] = piece


_Entry = Union["_Content", "_Directory"]


@define(eq=False, repr=False)
class _Directory:
    """Entries now, on disk, and the changes in between: each sets or removes names, as a whole or not at all."""

    entries: dict[str, _Entry] = field(factory=dict)
    durable: dict[str, _Entry] = field(factory=dict)
    pending: list[dict[str, _Entry | None]] = field(factory=list)

    def change(self, names: dict[str, _Entry | None]) -> None:
        _set(self.entries, names)
        self.pending.append(names)

    def sync(self) -> None:
        self.durable = dict(self.entries)
        self.pending.clear()

    def crash(self, chance: random.Random | None) -> None:
        for names in self.pending:
            if chance is not None and chance.randrange(2):
                _set(self.durable, names)
        self.pending.clear()
        self.entries = dict(self.durable)
        for entry in self.entries.values():
            entry.crash(chance)


def _set(entries: dict[str, _Entry], names: dict[str, _Entry | None]) -> None:
    for name, entry in names.items():
        if entry is None:
            entries.pop(name, None)
        else:
            entries[name] = entry


@define(eq=False, weakref_slot=True)
class MemoryFile:
    """An open file of `MemoryFiles`."""

    path: str
    _owner: "MemoryFiles"
    _content: _Content
    _sync_failed: bool = False

    def write(self, buffers: Sequence[Buffer], position: int) -> None:
        whole = b"".join(buffers)
        try:
            self._owner.count("write")
            self._owner.take_room(self._content, position + len(whole))
        except OSError:
            self._content.write(position, whole[: len(whole) // 2])
            raise
        self._content.write(position, whole)

    def pread(self, size: int, position: int) -> bytes:
        self._owner.count("pread")
        return bytes(self._content.data[position : position + size])

    def read_into(self, buffer: memoryview, position: int) -> int:
        piece = self.pread(len(buffer), position)
        buffer[: len(piece)] = piece
        return len(piece)

    def truncate(self, size: int) -> None:
        self._owner.count("truncate")
        self._content.truncate(size)

    def sync(self) -> None:
        try:
            if self._sync_failed:
                raise OSError(error_numbers.EIO, "an earlier sync of this file failed", self.path)
            self._owner.count("sync")
        except OSError:
            self._sync_failed = True
            # What the failed sync was to write counts as clean from now on, yet is not on disk.
            self._content.pending.clear()
            raise
        self._content.sync()

    def begin_sync(self) -> int | None:
        return None

    def end_sync(self, error: OSError | None) -> None:
        raise AssertionError("a sync that was never begun") from error

    def size(self) -> int:
        return len(self._content.data)

    def fileno(self) -> int | None:
        return None

    def close(self) -> None:
        pass


@define(eq=False, repr=False)
class MemoryFiles:
    """See the module."""

    calls: int = field(default=0, init=False)
    capacity_bytes: int | None = None
    room_makers: MutableSequence[Callable[[], bool]] = field(factory=list)
    _fail: tuple[int, int, int, frozenset[str] | None] | None = field(default=None, init=False)
    _root: _Directory = field(factory=_Directory, init=False)

    def fail_at(self, call: int, errno: int, *, times: int = 1, only: frozenset[str] | None = None) -> None:
        """The `call`-th call from now (1 is the next; only calls named in `only` count) and the
        `times - 1` after it raise `OSError(errno)`."""
        self.calls = 0
        self._fail = (call, call + times, errno, only)

    def stop_failing(self) -> None:
        self._fail = None

    def count(self, name: str) -> None:
        if self._fail is None:
            self.calls += 1
            return
        first, end, errno, only = self._fail
        if only is not None and name not in only:
            return
        self.calls += 1
        if first <= self.calls < end:
            raise OSError(errno, os.strerror(errno), name)

    def take_room(self, content: _Content, end: int) -> None:
        growth = end - len(content.data)
        if self.capacity_bytes is not None and self.used_bytes() + growth > self.capacity_bytes:
            raise OSError(error_numbers.ENOSPC, "no space left")

    def used_bytes(self) -> int:
        return _used(self._root)

    def sync_all(self) -> None:
        """Everything that was written becomes durable, as by `syncfs`."""
        self.count("sync_all")
        _sync_below(self._root)

    def crash(self, chance: random.Random | None = None) -> None:
        """Power loss: nothing unsynced remains, or what `chance` lets remain. Open files are void."""
        self._fail = None
        self._root.crash(chance)

    def open(self, path: str, *, create: bool = False) -> File:
        self.count("open")
        directory, name = self._parent(path)
        entry = directory.entries.get(name)
        if entry is None and create:
            entry = _Content()
            directory.change({name: entry})
        if not isinstance(entry, _Content):
            raise FileNotFoundError(error_numbers.ENOENT, "no such file", path)
        return MemoryFile(path, self, entry)

    def list(self, directory: str) -> dict[str, int]:
        self.count("list")
        try:
            entries = self._directory(directory).entries
        except FileNotFoundError:
            return {}
        return {name: len(entry.data) for name, entry in entries.items() if isinstance(entry, _Content)}

    def list_directories(self, directory: str) -> tuple[str, ...]:
        self.count("list_directories")
        try:
            entries = self._directory(directory).entries
        except FileNotFoundError:
            return ()
        return tuple(sorted(name for name, entry in entries.items() if isinstance(entry, _Directory)))

    def make_directories(self, path: str) -> None:
        self.count("make_directories")
        directory = self._root
        for name in _parts(path):
            entry = directory.entries.get(name)
            if entry is None:
                entry = _Directory()
                directory.change({name: entry})
            assert isinstance(entry, _Directory), path
            directory = entry

    def rename(self, source: str, target: str) -> None:
        self.count("rename")
        source_directory, source_name = self._parent(source)
        target_directory, target_name = self._parent(target)
        if source_name not in source_directory.entries:
            raise FileNotFoundError(error_numbers.ENOENT, "no such file", source)
        assert source_directory is target_directory, "a rename stays in its directory"
        target_directory.change({source_name: None, target_name: source_directory.entries[source_name]})

    def unlink(self, path: str) -> None:
        self.count("unlink")
        with contextlib.suppress(FileNotFoundError):
            directory, name = self._parent(path)
            directory.change({name: None})

    def sync_directory(self, path: str) -> None:
        self.count("sync_directory")
        self._directory(path).sync()

    def remove_tree(self, path: str) -> None:
        self.count("remove_tree")
        with contextlib.suppress(FileNotFoundError):
            directory, name = self._parent(path)
            directory.change({name: None})

    def room(self, path: str) -> Room:
        self.count("room")
        self._parent(path)
        size = 1 << 40 if self.capacity_bytes is None else self.capacity_bytes
        return Room(size, max(size - self.used_bytes(), 0))

    def make_room(self) -> bool:
        return any(make_room() for make_room in self.room_makers)

    def keep_open(self, file: File) -> None:
        pass

    def forget(self, file: File) -> None:
        pass

    def flip_bit(self, path: str, position: int, bit: int = 0) -> None:
        """Damages a file, in memory and on disk."""
        directory, name = self._parent(path)
        entry = directory.entries[name]
        assert isinstance(entry, _Content)
        entry.sync()
        entry.data[position] ^= 1 << bit
        entry.durable[position] ^= 1 << bit

    def _parent(self, path: str) -> tuple[_Directory, str]:
        return self._directory(os.path.dirname(path)), os.path.basename(path)

    def _directory(self, path: str) -> _Directory:
        directory = self._root
        for name in _parts(path):
            entry = directory.entries.get(name)
            if not isinstance(entry, _Directory):
                raise FileNotFoundError(error_numbers.ENOENT, "no such directory", path)
            directory = entry
        return directory


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _used(entry: _Entry) -> int:
    if isinstance(entry, _Content):
        return len(entry.data)
    return sum(_used(child) for child in entry.entries.values())


def _sync_below(entry: _Entry) -> None:
    entry.sync()
    if isinstance(entry, _Directory):
        for child in entry.entries.values():
            _sync_below(child)
