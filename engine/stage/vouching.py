"""Whether staged bytes are still what was written, before they are released under a checksum of their own.

A record in the log keeps the checksum that it came with, so damage shows. A staged record is packed anew when it is
released, and its new checksum would hide damage that happened meanwhile. So when its time comes, whatever an earlier
process has written is read once more with its whole batch, in a thread, and checked against the old checksum. What this
process has written itself is trusted.
"""

from collections.abc import Callable, Sequence

from engine.damage import DamagedFile
from engine.errors import CorruptMessage
from engine.log.log import Log
from engine.log.segment import Segment, walk_headers
from engine.records.layout import BatchHeader, checksum
from engine.stage.pending import PendingRow

OnDamage = Callable[[DamagedFile], object]
_Place = tuple[int, int]


class Voucher:
    """For the rows of one stage."""

    def __init__(self, log: Log, on_damage: OnDamage) -> None:
        self._log = log
        self._own_from: _Place = (log.end.segment, log.end.position)
        self._on_damage = on_damage
        self._damaged: dict[_Place, DamagedFile] = {}
        self._told: set[tuple[str, int]] = set()

    def is_own(self, row: PendingRow) -> bool:
        """Whether this process has written it."""
        return (row.segment, row.position) >= self._own_from

    def look(self, rows: Sequence[PendingRow]) -> None:
        """[thread] Look at the batches of those that are not our own. Raises OSError."""
        batches: dict[_Place, DamagedFile | None] = {}
        segments = {segment.base_offset: segment for segment in self._log.segments}
        for row in rows:
            if self.is_own(row) or row.segment not in segments:
                continue
            damage = _damage(segments[row.segment], row, batches)
            if damage is not None:
                self._damaged[row.segment, row.position] = damage

    def is_damaged(self, row: PendingRow) -> bool:
        """Whether `look` found it so; its batch is told once."""
        if not self._damaged:
            return False
        damage = self._damaged.get((row.segment, row.position))
        if damage is None:
            return False
        batch = (damage.path, damage.position)
        if batch not in self._told:
            self._told.add(batch)
            self._on_damage(damage)
        return True


def _damage(segment: Segment, row: PendingRow, batches: dict[_Place, DamagedFile | None]) -> DamagedFile | None:
    """What is wrong with the batch that holds a row; `batches` are those that were looked at."""
    found = _batch_around(segment, row.position)
    if found is None:
        return DamagedFile(segment.path, row.position, row.number, "no batch holds this record")
    position, header = found
    place = (segment.base_offset, position)
    if place not in batches:
        batch = memoryview(segment.file().pread(header.size, position))
        is_sound = len(batch) == header.size and checksum(batch) == header.crc
        text = "the checksum of this batch does not hold"
        batches[place] = None if is_sound else DamagedFile(segment.path, position, header.base_offset, text)
    return batches[place]


def _batch_around(segment: Segment, position: int) -> tuple[int, BatchHeader] | None:
    """The batch that holds a byte: from the index on, and if that leads nowhere, from the beginning."""
    try:
        start = segment.loaded_index().last_before(position)
    except CorruptMessage:
        start = 0
    for begin in (start, 0) if start else (0,):
        try:
            for at, header in walk_headers(segment.file(), begin, segment.size):
                if at <= position < at + header.size:
                    return at, header
        except CorruptMessage:
            continue
    return None
