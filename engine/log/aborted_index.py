"""The aborted transactions of a segment: which producer's batches, from where to where, nobody may be shown.

A transaction stands in the segment that holds its marker. The index lives in memory while the segment is written
to; every snapshot carries it, and the sealed segment's index file ends with it. It cannot be rebuilt from its own
segment alone, for a transaction may begin in an earlier one: see `engine.log.transactions.rebuild`.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

_ENTRY = struct.Struct(">qqqq")
ENTRY_SIZE = _ENTRY.size


class AbortedTransaction(NamedTuple):
    """From its first record to its marker; below `stable_offset` everything was decided when it ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    stable_offset: int


class AbortedIndex:
    """Aborted transactions in the order of their markers."""

    __slots__ = ("content",)

    def __init__(self, content: bytes | bytearray = b"") -> None:
        self.content = bytearray(content)

    def __len__(self) -> int:
        return len(self.content) // ENTRY_SIZE

    def __iter__(self) -> Iterator[AbortedTransaction]:
        return (AbortedTransaction._make(entry) for entry in _ENTRY.iter_unpack(self.content))

    def add(self, transaction: AbortedTransaction) -> None:
        self.content += _ENTRY.pack(*transaction)

    def collect(self, from_offset: int, upto_offset: int, found: list[AbortedTransaction]) -> bool:
        """Adds what reaches into [from, upto) to `found`; True if no later segment can have more of it."""
        for transaction in self:
            if transaction.last_offset >= from_offset and transaction.first_offset < upto_offset:
                found.append(transaction)
            if transaction.stable_offset >= upto_offset:
                return True
        return False
