"""The latest offset of every key in a part of a log, within a bound of memory.

Short keys are kept as they are. Of a long one a 128-bit digest is kept, as a number, so that no key can be
taken for a digest.
"""

from collections.abc import Iterable
from hashlib import blake2b

from attrs import define, field

from engine.cleaner.keyed_records import KeyedRecord

DEFAULT_BYTES = 128 * 1024 * 1024
LONG_KEY = 48
# What an entry costs besides its key: its place in the dict (also while that grows), the offset, the object headers.
ENTRY_OVERHEAD = 170
_DIGEST_BYTES = 16
NONE = -1


@define(eq=False)
class OffsetMap:
    """See the module. It covers the offsets below `end`: about later ones it knows nothing."""

    capacity_bytes: int = DEFAULT_BYTES
    end: int = 0
    used_bytes: int = 0
    _offsets: dict[bytes | int, int] = field(factory=dict)

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def full(self) -> bool:
        return self.used_bytes >= self.capacity_bytes

    def note(self, base_offset: int, records: Iterable[KeyedRecord]) -> None:
        """Takes in the records of a batch that is later than all before."""
        offsets = self._offsets
        known = len(offsets)
        for _, _, delta, key, _ in records:
            if key is not None:
                offsets[key if len(key) <= LONG_KEY else _digest(key)] = base_offset + delta
                if len(offsets) != known:
                    known += 1
                    self.used_bytes += ENTRY_OVERHEAD + min(len(key), LONG_KEY)

    def latest(self, base_offset: int, records: Iterable[KeyedRecord]) -> list[KeyedRecord]:
        """Those records of a batch whose keys have no later one. Who has no key goes, as in Kafka."""
        find = self._offsets.get
        return [
            record
            for record in records
            if (key := record[3]) is not None
            and base_offset + record[2] >= find(key if len(key) <= LONG_KEY else _digest(key), NONE)
        ]


def _digest(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=_DIGEST_BYTES).digest(), "big")
