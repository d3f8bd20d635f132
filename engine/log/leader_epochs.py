"""Which leader epoch wrote which offsets: (epoch, first offset) pairs, both strictly rising.

The pairs stand in every snapshot, and each batch names its epoch, so recovery can rebuild them. An epoch that
began without writing anything is known only to the checkpoint file.
"""

import os
import struct

from attrs import define, field
from crc32c import crc32c

from engine.files.files import Files, read_whole, write_atomically

FILE_NAME = "leader-epochs"
UNKNOWN = -1
_PAIR = struct.Struct(">iq")
_CHECKSUM = struct.Struct(">I")


@define
class LeaderEpochs:
    """See the module."""

    entries: list[tuple[int, int]] = field(factory=list)

    @property
    def latest(self) -> int:
        return self.entries[-1][0] if self.entries else UNKNOWN

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Notes that `epoch` writes from `start_offset` on; True if that was news."""
        if epoch < 0 or (self.entries and self.entries[-1][0] == epoch):
            return False
        # An epoch that wrote nothing leaves when the next begins at the same offset; one from before a
        # truncation leaves when it contradicts what is written now.
        while self.entries and (self.entries[-1][0] > epoch or self.entries[-1][1] >= start_offset):
            self.entries.pop()
        if not self.entries or self.entries[-1][0] != epoch:
            self.entries.append((epoch, start_offset))
        return True

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int]:
        """The largest epoch not above `epoch`, and where the next one starts; (-1, -1) if that is unknown."""
        if epoch == UNKNOWN or not self.entries:
            return UNKNOWN, UNKNOWN
        if epoch == self.latest:
            return epoch, log_end
        later = [start for known, start in self.entries if known > epoch]
        if not later:
            return UNKNOWN, UNKNOWN
        earlier = [known for known, _ in self.entries if known <= epoch]
        return (earlier[-1] if earlier else epoch), later[0]

    def truncate_end(self, end_offset: int) -> None:
        """Forgets epochs that start at `end_offset` or later: what they wrote was cut off."""
        self.entries = [entry for entry in self.entries if entry[1] < end_offset]

    def truncate_start(self, start_offset: int) -> None:
        """Forgets epochs that end before `start_offset`; the one that holds it now starts there."""
        before = [entry for entry in self.entries if entry[1] <= start_offset]
        after = [entry for entry in self.entries if entry[1] > start_offset]
        self.entries = [(before[-1][0], start_offset), *after] if before else after

    def encode(self) -> bytes:
        body = b"".join(_PAIR.pack(*entry) for entry in self.entries)
        return struct.pack(">i", len(self.entries)) + body

    @classmethod
    def decode(cls, data: bytes, position: int) -> tuple["LeaderEpochs", int]:
        (count,) = struct.unpack_from(">i", data, position)
        position += 4
        end = position + count * _PAIR.size
        if count < 0 or end > len(data):
            raise ValueError(f"{count} leader epochs in {len(data) - position} bytes")
        return cls([_PAIR.unpack_from(data, at) for at in range(position, end, _PAIR.size)]), end

    def write(self, files: Files, directory: str) -> None:
        """Durably replaces the checkpoint."""
        body = self.encode()
        write_atomically(files, os.path.join(directory, FILE_NAME), body + _CHECKSUM.pack(crc32c(body)))

    @classmethod
    def read(cls, files: Files, directory: str) -> "LeaderEpochs | None":
        """The checkpoint, None if missing or damaged."""
        data = read_whole(files, os.path.join(directory, FILE_NAME))
        if data is None or len(data) < 8 or _CHECKSUM.unpack(data[-4:])[0] != crc32c(data[:-4]):
            return None
        return cls.decode(data, 0)[0]
