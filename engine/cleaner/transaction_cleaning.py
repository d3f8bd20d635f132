"""What compaction leaves of transactions: the committed records by key, and markers while somebody needs them.

1. Records of aborted transactions go, and hide nothing: they are not in the map. Those of committed ones are compacted
   like others. Of undecided ones none comes here: a pass ends before the last stable offset.
2. A marker stays as long as a batch of its transaction does, be it an empty one: without it the transaction would be
   taken for an open one when the log is read anew. The same holds for an entry among the aborted transactions.
3. Once no batch is left, the marker gets a delete horizon, like a tombstone (KIP-534), and past it goes: by then
   whoever was reading, or copying, the transaction has seen its end.
4. The last marker of a producer that is remembered stays: it holds the epochs of the producer and its coordinator.
"""

from attrs import define, field

from engine.cleaner.batch_cleaning import (
    CleaningRules,
    clean_batch,
    is_intact,
    is_past_horizon,
    note_keys,
    what_is_left,
    with_delete_horizon,
)
from engine.cleaner.offset_map import OffsetMap
from engine.cleaner.transactions import AbortedRanges
from engine.errors import InvalidRecord
from engine.log.aborted_index import AbortedTransaction
from engine.log.producer_state import ProducerInfo
from engine.log.transactions import parse_marker
from engine.records.layout import CONTROL_FLAG, DELETE_HORIZON_FLAG, HEADER_SIZE, TRANSACTIONAL_FLAG, BatchHeader

OF_TRANSACTION = TRANSACTIONAL_FLAG | CONTROL_FLAG


def is_marker(header: BatchHeader, batch: bytes) -> bool:
    """Whether a control batch ends a transaction; a damaged one, or one that was emptied, does not."""
    try:
        return is_intact(header, batch) and parse_marker(header, batch[HEADER_SIZE:]) is not None
    except InvalidRecord:
        return False


def note_marker(header: BatchHeader, last_markers: dict[int, int]) -> None:
    last_markers[header.producer_id] = max(header.last_offset, last_markers.get(header.producer_id, 0))


@define(eq=False)
class TransactionKeys:
    """The way through the dirty part, for the map: which keys count, and each producer's last marker."""

    aborted: AbortedRanges
    last_markers: dict[int, int] = field(factory=dict)

    def note(self, header: BatchHeader, batch: bytes, offsets: OffsetMap) -> None:
        """Takes in a batch of a transaction."""
        if header.is_control:
            if is_marker(header, batch):
                note_marker(header, self.last_markers)
        elif not self.aborted.covers(header):
            note_keys(header, batch, offsets)
        offsets.end = header.next_offset


@define(eq=False)
class TransactionCleaning:
    """The way through the log from its first segment on: what goes, and which transactions still have batches."""

    cleaning: CleaningRules
    aborted: AbortedRanges
    last_markers: dict[int, int]
    _remaining: set[int] = field(factory=set)
    """Producers of which a batch was kept since their last marker."""

    def clean(self, header: BatchHeader, batch: bytes) -> tuple[bytes | None, AbortedTransaction | None]:
        """What remains of a batch of a transaction, as of any; and of a marker, the entry that stays with it."""
        if header.is_control:
            return self._clean_control(header, batch)
        kept = self._clean_records(header, batch)
        if kept is not None:
            self._remaining.add(header.producer_id)
        return kept, None

    def _clean_records(self, header: BatchHeader, batch: bytes) -> bytes | None:
        if not self.aborted.covers(header) or header.base_offset >= self.cleaning.offsets.end:
            return clean_batch(header, batch, self.cleaning)
        return what_is_left(header, batch, self.cleaning) if is_intact(header, batch) else batch

    def _clean_control(self, header: BatchHeader, batch: bytes) -> tuple[bytes | None, AbortedTransaction | None]:
        if not is_marker(header, batch):
            # One that was emptied held a place; others, and damaged ones, are not for us to judge.
            was_emptied = header.record_count == 0 and is_intact(header, batch)
            return (None, None) if was_emptied else (batch, self.aborted.ended_by(header))
        note_marker(header, self.last_markers)
        if header.producer_id in self._remaining:
            self._remaining.discard(header.producer_id)
            return batch, self.aborted.ended_by(header)
        return self._clean_marker(header, batch), None

    def _clean_marker(self, header: BatchHeader, batch: bytes) -> bytes | None:
        """Of a transaction without batches."""
        if header.base_offset >= self.cleaning.offsets.end:
            return batch
        if header.attributes & DELETE_HORIZON_FLAG:
            return None if is_past_horizon(header, self.cleaning) else batch
        # A producer's last gets no horizon: so a later pass, which need not know what followed, can tell it.
        return batch if self._is_last(header) else with_delete_horizon(header, batch, self.cleaning)

    def _is_last(self, header: BatchHeader) -> bool:
        """Whether it is the last marker, as far as is known, of a producer that is remembered."""
        producer = self.cleaning.producers.get(header.producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            return False
        return header.last_offset >= max(_decided_to(producer), self.last_markers.get(header.producer_id, 0))


def _decided_to(producer: ProducerInfo) -> int:
    """Where its last batch lies, which stays with the marker behind it; the marker of an open transaction is yet to
    come, so there the one before counts."""
    return producer.last_offset if producer.transaction_start_offset < 0 else 0
