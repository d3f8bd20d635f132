"""From an intent to the batches that go into the partition's log.

Records that were staged one by one are read and packed anew. A run that is released whole keeps its records as they
are: only the header is made anew, for a released record has no producer. What is not what was staged leaves a hole.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from engine.errors import StorageError
from engine.files.files import Buffer, File
from engine.files.page_cache import is_resident, warm
from engine.log.log import Log
from engine.records.layout import (
    HEADER_SIZE,
    NO_PRODUCER_ID,
    parse_header,
    seal_batch,
    walk_records,
)
from engine.stage.codecs import asking_for
from engine.stage.events import Intent
from engine.stage.lanes import Piece
from engine.stage.pending import PendingRow
from engine.stage.repack import hole_batch, released_batch
from engine.stage.state import HOLE
from engine.stage.vouching import OnDamage, Voucher

_GAP_BYTES = 4096
_SPAN_BYTES = 1 << 20

Timed = tuple[Buffer, int]
Part = tuple[Buffer, int, int]


class ReleaseBatches:
    """Reads staged records of one stage's log and packs them."""

    def __init__(self, log: Log, on_damage: OnDamage = lambda _: None) -> None:
        self._log = log
        self._voucher = Voucher(log, on_damage)

    def read(self, row: PendingRow) -> bytes:
        """The bytes of one row: a record, or a run's whole batch."""
        data = self._log.read_at(row.segment, row.position, row.size)
        if len(data) != row.size:
            raise StorageError(f"{self._log.name} lacks {row.size} bytes at {row.position} of segment {row.segment}")
        return data

    def warming(self, rows: Sequence[PendingRow]) -> Callable[[], None] | None:
        """A job that reads what of these rows is not in memory, and vouches for those that are not our own; None if
        there is nothing to do."""
        cold: list[tuple[File, int, int]] = []
        for group in _neighbours(rows):
            first, last = group[0], group[-1]
            file = self._log.segment_file(first.segment)
            descriptor, size = file.fileno(), last.position + last.size - first.position
            if descriptor is not None and not is_resident(descriptor, first.position, size):
                cold.append((file, first.position, size))
        strange = [row for row in rows if not self._voucher.is_own(row)]
        return partial(self._warm, cold, strange) if cold or strange else None

    def _warm(self, cold: Sequence[tuple[File, int, int]], strange: Sequence[PendingRow]) -> None:
        """[thread]"""
        _warm(cold)
        self._voucher.look(strange)

    def is_damaged(self, row: PendingRow) -> bool:
        """Whether a row is known not to be what was staged: `warming` has looked."""
        return self._voucher.is_damaged(row)

    def build(
        self, intent: Intent, skip: int, rows: Mapping[int, PendingRow], max_bytes: int, limit_bytes: int | None = None
    ) -> bytes:
        """The batches of an intent without its first `skip` records, each of at most `max_bytes` where it can be.

        With a limit, as many whole batches as fit, one at least: what one append can take."""
        out: list[bytes] = []
        total = 0
        pieces = [(piece, rows[piece.number]) for piece in intent.pieces]
        batch_bytes = max_bytes if limit_bytes is None else min(max_bytes, limit_bytes)
        for batch in self._built(_without(pieces, skip), intent, batch_bytes):
            total += len(batch)
            if out and limit_bytes is not None and total > limit_bytes:
                break
            out.append(batch)
        return b"".join(out)

    def _built(self, pieces: Sequence[tuple[Piece, PendingRow]], intent: Intent, max_bytes: int) -> Iterator[bytes]:
        single: list[Timed] = []
        codecs: Counter[int] = Counter()
        for part in self._parts(pieces, max_bytes):
            if not isinstance(part, int | PendingRow):
                record, created_ms, codec = part
                if single and codecs.total() + len(record) > max_bytes - HEADER_SIZE - 16 * (len(single) + 1):
                    yield released_batch(single, intent.released_ms, _most(codecs))
                    single, codecs = [], Counter()
                single.append((record, created_ms))
                codecs[codec] += len(record)
                continue
            if single:
                yield released_batch(single, intent.released_ms, _most(codecs))
                single, codecs = [], Counter()
            yield hole_batch(part, intent.released_ms) if isinstance(part, int) else self._whole(part, intent)
        if single:
            yield released_batch(single, intent.released_ms, _most(codecs))

    def _parts(self, pieces: Sequence[tuple[Piece, PendingRow]], max_bytes: int) -> Iterator[Part | int | PendingRow]:
        """What the batches are made of: records with create time and codec, numbers of holes, runs to copy whole."""
        waiting: list[PendingRow] = []
        holes = 0
        for piece, row in pieces:
            if piece.lane >= HOLE or self._voucher.is_damaged(row):
                yield from self._records(waiting)
                waiting = []
                holes += piece.count
                continue
            if holes:
                # A row of them is one: every batch is something that readers have to pass.
                yield holes
                holes = 0
            if row.count == 1:
                waiting.append(row)
                continue
            yield from self._records(waiting)
            waiting = []
            if piece.count == row.count and row.size <= max_bytes:
                yield row
            else:
                yield from self._part_of_run(row, piece)
        yield from self._records(waiting)
        if holes:
            yield holes

    def _records(self, rows: Sequence[PendingRow]) -> Iterator[Part]:
        """Records one by one, neighbours on disk read together."""
        for group in _neighbours(rows):
            first, last = group[0], group[-1]
            span = last.position + last.size - first.position
            data = memoryview(self._log.read_at(first.segment, first.position, span))
            if len(data) != span:
                raise StorageError(f"{self._log.name} lacks {span} bytes at {first.position} of {first.segment}")
            for row in group:
                at = row.position - first.position
                yield data[at : at + row.size], row.created_ms, row.codec

    def _part_of_run(self, row: PendingRow, piece: Piece) -> Iterator[Part]:
        batch = memoryview(self.read(row))
        header = parse_header(batch)
        first = piece.number - row.number
        for index, span in enumerate(walk_records(batch[HEADER_SIZE:], header.record_count)):
            if first <= index < first + piece.count:
                yield (
                    batch[HEADER_SIZE + span.start : HEADER_SIZE + span.end],
                    header.base_timestamp + span.timestamp_delta,
                    row.codec,
                )

    def _whole(self, row: PendingRow, intent: Intent) -> bytes:
        batch = memoryview(self.read(row))
        header = parse_header(batch)
        records = list(walk_records(batch[HEADER_SIZE:], header.record_count))
        created = [header.base_timestamp + record.timestamp_delta for record in records]
        if min(created) < intent.released_ms - _FRESH_MS:
            spans = [batch[HEADER_SIZE + record.start : HEADER_SIZE + record.end] for record in records]
            return released_batch(list(zip(spans, created, strict=True)), intent.released_ms, row.codec)
        plain = header._replace(
            base_offset=0, leader_epoch=-1, attributes=asking_for(row.codec),
            max_timestamp=max(created), producer_id=NO_PRODUCER_ID, producer_epoch=-1, base_sequence=-1,
        )  # fmt: skip
        return seal_batch(plain, batch[HEADER_SIZE:])


_FRESH_MS = 60_000
"""A run whose records are older is packed anew, so that retention counts it from its release (rule 10)."""


def _most(codecs: Counter[int]) -> int:
    """The codec that most bytes came in."""
    return codecs.most_common(1)[0][0]


def _neighbours(rows: Sequence[PendingRow]) -> Iterator[Sequence[PendingRow]]:
    """Rows that lie close together on disk and follow one another."""
    start = 0
    while start < len(rows):
        end = start + 1
        while end < len(rows) and _follows(rows[start], rows[end - 1], rows[end]):
            end += 1
        yield rows[start:end]
        start = end


def _warm(cold: Sequence[tuple[File, int, int]]) -> None:
    """[thread]"""
    for file, position, size in cold:
        descriptor = file.fileno()
        if descriptor is not None:
            warm(descriptor, position, size)


def _follows(first: PendingRow, previous: PendingRow, row: PendingRow) -> bool:
    gap = row.position - previous.position - previous.size
    return (
        row.segment == first.segment
        and 0 <= gap <= _GAP_BYTES
        and row.position + row.size - first.position <= _SPAN_BYTES
    )


def _without(pieces: Sequence[tuple[Piece, PendingRow]], skip: int) -> list[tuple[Piece, PendingRow]]:
    """The pieces less their first `skip` records."""
    left: list[tuple[Piece, PendingRow]] = []
    for piece, row in pieces:
        passed = min(skip, piece.count)
        skip -= passed
        if passed < piece.count:
            left.append((Piece(piece.lane, piece.number + passed, piece.count - passed), row))
    return left
