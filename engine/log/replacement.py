"""Replacing segments by cleaned ones, all or nothing, whenever the power goes.

The cleaner writes `<base>.log.cleaned` files and syncs them. The commit point is the file `replacement`,
which names what goes and what comes; from then on the renames and removals are repeated until done, also by
recovery. Files named `.cleaned` without it never happened.
"""

import json
import os

from attrs import frozen
from crc32c import crc32c

from engine.errors import StorageError
from engine.files.files import Files, read_whole, write_atomically

FILE_NAME = "replacement"
GAPS_FILE = "has-gaps"
CLEANED_SUFFIX = ".cleaned"
_LEFTOVERS = (CLEANED_SUFFIX, ".tmp")


@frozen
class Replacement:
    """File names inside the directory: what is removed, and what loses its `.cleaned` suffix."""

    removed: tuple[str, ...]
    renamed: tuple[str, ...]

    def encode(self) -> bytes:
        body = json.dumps({"removed": self.removed, "renamed": self.renamed}).encode()
        return f"{crc32c(body):08x}\n".encode() + body

    @classmethod
    def decode(cls, data: bytes) -> "Replacement | None":
        checksum, _, body = data.partition(b"\n")
        if checksum != f"{crc32c(body):08x}".encode():
            return None
        content = json.loads(body)
        return cls(tuple(content["removed"]), tuple(content["renamed"]))


def commit_replacement(files: Files, directory: str, replacement: Replacement) -> None:
    """Makes the replacement certain, then carries it out."""
    mark_gaps(files, directory)
    files.sync_directory(directory)
    write_atomically(files, os.path.join(directory, FILE_NAME), replacement.encode())
    _carry_out(files, directory, replacement)


def mark_gaps(files: Files, directory: str) -> None:
    """Notes, for recovery, that offsets may be missing between batches; the directory is to be synced."""
    files.open(os.path.join(directory, GAPS_FILE), create=True).close()


def finish_replacement(files: Files, directory: str) -> None:
    """At opening: repeats a replacement that was certain, clears away what was not."""
    names = files.list(directory)
    if FILE_NAME in names:
        replacement = Replacement.decode(read_whole(files, os.path.join(directory, FILE_NAME)) or b"")
        if replacement is None:
            raise StorageError(f"{os.path.join(directory, FILE_NAME)} is damaged")
        # It may have been seen before it was durable.
        files.sync_directory(directory)
        _carry_out(files, directory, replacement)
        names = files.list(directory)
    for name in names:
        if name.endswith(_LEFTOVERS):
            files.unlink(os.path.join(directory, name))


def _carry_out(files: Files, directory: str, replacement: Replacement) -> None:
    present = files.list(directory)
    for name in replacement.renamed:
        if name + CLEANED_SUFFIX in present:
            files.rename(os.path.join(directory, name + CLEANED_SUFFIX), os.path.join(directory, name))
    for name in replacement.removed:
        if name not in replacement.renamed:
            files.unlink(os.path.join(directory, name))
    files.sync_directory(directory)
    files.unlink(os.path.join(directory, FILE_NAME))
    files.sync_directory(directory)
