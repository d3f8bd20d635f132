"""Bytes that a log cannot take in, and that are not known to be worthless: they are kept under another name.

Recovery removes what is empty, and the torn end of a write that nobody was told is durable. Whatever else does not
fit (a segment that overlaps the one before or begins past its end, bytes behind a damaged batch, records that only
the journal holds and that continue nothing) may hold what was acknowledged. It is renamed or copied, beside the log,
to a name that ends in `.set-aside`; the log says so, and the operator sees it in the metrics and in `/health` for as
long as the files are there.
"""

import logging
import os

from attrs import define, field

from engine.files.files import Buffer, Files
from engine.log.segment import LOG_SUFFIX, Segment, segment_name
from engine.records.layout import CHECKSUM_END, HEADER_SIZE, MAGIC, MAGIC_POSITION, checksum, is_framed, parse_header

logger = logging.getLogger("tidegate.recovery")

SUFFIX = ".set-aside"
MOST_TRIES = 1_000_000
"""How many places in the rest of a segment are looked at for a batch: data of a client's choice could have one
everywhere."""
_MAGIC_BYTE = bytes([MAGIC])
_MOST_RECORDS = 2**31


def set_aside_sizes(names: dict[str, int]) -> list[int]:
    """The sizes of what was set aside, from a directory's listing."""
    return [size for name, size in names.items() if name.endswith(SUFFIX)]


@define
class SetAside:
    """Keeps what does not belong to the log in `directory`."""

    files: Files
    directory: str
    sizes: list[int] = field(factory=list)

    def segment(self, segment: Segment, size: int, why: str) -> None:
        """Give a segment's file another name; an empty one is removed."""
        segment.close()
        if size == 0:
            self.files.unlink(segment.path)
            return
        self._rename(segment.path, size, why)

    def unknown(self, path: str) -> None:
        """Should there be a file where one is to be made: it is somebody's, unless it is empty."""
        try:
            file = self.files.open(path)
        except FileNotFoundError:
            return
        size = file.size()
        file.close()
        if size:
            self._rename(path, size, "it is not known to the log")

    def copy(self, base_offset: int, position: int, content: Buffer, why: str) -> None:
        """Keep bytes that are about to be cut off, durably before that."""
        target = self._free(f"{segment_name(base_offset)}{LOG_SUFFIX}.at-{position}")
        file = self.files.open(target, create=True)
        try:
            file.write([content], 0)
            file.sync()
        finally:
            file.close()
        self.files.sync_directory(self.directory)
        self._tell(target, len(content), why)

    def _rename(self, path: str, size: int, why: str) -> None:
        target = self._free(os.path.basename(path))
        self.files.rename(path, target)
        self.files.sync_directory(self.directory)
        self._tell(target, size, why)

    def _free(self, name: str) -> str:
        """A path that nothing lies at."""
        names, number = self.files.list(self.directory), 1
        found = name + SUFFIX
        while found in names:
            number += 1
            found = f"{name}.{number}{SUFFIX}"
        return os.path.join(self.directory, found)

    def _tell(self, path: str, size: int, why: str) -> None:
        self.sizes.append(size)
        logger.error("%d bytes do not fit into their log and were set aside as %s: %s", size, path, why)


def is_torn(rest: bytes, expected_offset: int) -> bool:
    """Whether these last bytes of a log are surely the beginning of a write that never ended: nobody was told that it
    is durable. Nothing, zeros, or the first part of one batch; and no whole batch anywhere in it."""
    if not rest.strip(b"\0"):
        return True
    if len(rest) >= HEADER_SIZE:
        header = parse_header(rest)
        if not is_framed(header) or header.base_offset != expected_offset or header.size <= len(rest):
            return False
        # The checksum does not cover the length: with a wrong one a whole batch looks like a part.
        if checksum(memoryview(rest)) == header.crc:
            return False
    return not _holds_batch(rest, expected_offset)


def _holds_batch(rest: bytes, expected_offset: int) -> bool:
    """Whether a whole batch may lie somewhere behind the start."""
    at, view, tries = MAGIC_POSITION + 1, memoryview(rest), 0
    while (at := rest.find(_MAGIC_BYTE, at)) >= 0:
        start = at - MAGIC_POSITION
        at += 1
        if start + HEADER_SIZE > len(rest):
            return False
        tries += 1
        if tries > MOST_TRIES:
            return True
        header = parse_header(view, start)
        size = header.size
        if not is_framed(header) or start + size > len(rest) or size <= CHECKSUM_END:
            continue
        follows = 0 <= header.base_offset - expected_offset < _MOST_RECORDS
        if follows and checksum(view[start : start + size]) == header.crc:
            return True
    return False
