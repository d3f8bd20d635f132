"""Acknowledgements as members give them: ranges of offsets, with one answer for all or one for each (KIP-932)."""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import groupby

from msgspec import Struct

from engine.errors import InvalidRequest


class AckType(IntEnum):
    """What a member says of a record; Kafka's numbers."""

    GAP = 0
    """There is no such record: compacted, or a marker."""
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4
    """It needs more time."""


MAX_BATCHES = 20_000
"""Of one partition in one request: twice as many as a window has offsets."""
MAX_BACKOFF_MS = 2**31 - 1
LAST_TYPE = int(AckType.RENEW)


class AckBatch(Struct, frozen=True):
    """Neighbouring offsets; `types` has one entry for all of them, or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]
    backoff_ms: int | None = None
    """How long what is released waits, where the member says so itself; None: as the group's keys say."""
    delivery_count: int | None = None
    """Which delivery of the records is meant, where the member says so: another one is not touched."""

    def from_offset(self, offset: int) -> "AckBatch":
        """What of it lies at this offset and behind; it must not lie before as a whole."""
        if self.first_offset >= offset:
            return self
        types = self.types if len(self.types) == 1 else self.types[offset - self.first_offset :]
        return AckBatch(offset, self.last_offset, types, self.backoff_ms, self.delivery_count)

    def pieces(self) -> Iterator[tuple[int, int, AckType]]:
        """(first, last, type) of neighbours that are told the same."""
        if len(self.types) == 1:
            yield self.first_offset, self.last_offset, AckType(self.types[0])
            return
        first = self.first_offset
        for kind, group in groupby(self.types):
            count = sum(1 for _ in group)
            yield first, first + count - 1, AckType(kind)
            first += count


def check_acks(batches: Sequence[AckBatch], *, renewing: bool) -> None:
    """Refuse what cannot be meant; `renewing` says whether the request may hold renewals."""
    if len(batches) > MAX_BATCHES:
        raise InvalidRequest(f"{len(batches)} batches of acknowledgements of one partition, at most {MAX_BATCHES}")
    end = -1
    for batch in batches:
        first, last, types = batch.first_offset, batch.last_offset, batch.types
        if first > last:
            raise InvalidRequest(f"a batch of acknowledgements begins at {first} and ends at {last}")
        if first < end:
            raise InvalidRequest(f"a batch of acknowledgements begins at {first}, before the end of another at {end}")
        if not types:
            raise InvalidRequest("a batch of acknowledgements without any type")
        if len(types) > 1 and len(types) != last - first + 1:
            raise InvalidRequest(f"{len(types)} acknowledgements for {last - first + 1} offsets")
        if min(types) < 0 or max(types) > LAST_TYPE:
            raise InvalidRequest("there is no such type of acknowledgement")
        if batch.backoff_ms is not None and batch.backoff_ms > MAX_BACKOFF_MS:
            raise InvalidRequest(f"a back-off of {batch.backoff_ms} ms")
        if not renewing and AckType.RENEW in types:
            raise InvalidRequest("a renewal in a request that does not say that it renews")
        end = last
