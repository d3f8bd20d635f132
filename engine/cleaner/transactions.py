"""Which transactions of a log were aborted, as a pass of compaction asks: batch after batch, from first to last.

The marker that ends a transaction may lie past what compaction may touch, even in the active segment: so the
aborted transactions of the whole log are looked at, by way of copies of its segments that belong to the pass.
"""

from collections import deque
from collections.abc import Iterable, Sequence

from engine.log.aborted_index import AbortedIndex, AbortedTransaction
from engine.log.index import SparseIndex
from engine.log.segment import Segment
from engine.log.transactions import rebuild
from engine.records.layout import BatchHeader


def detached(segment: Segment) -> Segment:
    """A copy for a thread to look at: what only memory holds of the aborted transactions is in it, the rest on disk."""
    copy = Segment(segment.files, segment.directory, segment.base_offset, size=segment.size, sealed=True)
    if segment.aborted is not None:
        copy.index, copy.aborted = SparseIndex(), AbortedIndex(segment.aborted.content)
        copy.stable_offset = segment.stable_offset
    return copy


def read_aborted(copies: Sequence[Segment], end: int) -> list[AbortedTransaction]:
    """[thread] The aborted transactions with records below `end`. Of the copies only `stable_offset` is kept."""
    found: list[AbortedTransaction] = []
    for number, copy in enumerate(copies):
        if copy.loaded_aborted() is None:
            rebuild(copies[: number + 1])
        assert copy.aborted is not None
        complete = copy.aborted.collect(copies[0].base_offset, end, found) or copy.stable_offset >= end
        # All indexes of a large log at once would be many.
        copy.index = copy.aborted = None
        copy.close()
        if complete:
            break
    return found


class AbortedRanges:
    """Aborted transactions by producer; a producer's follow each other. To be asked with rising offsets."""

    def __init__(self, transactions: Iterable[AbortedTransaction]) -> None:
        self._ahead: dict[int, deque[AbortedTransaction]] = {}
        self._by_marker: dict[int, AbortedTransaction] = {}
        for transaction in sorted(transactions, key=lambda each: each.first_offset):
            self._ahead.setdefault(transaction.producer_id, deque()).append(transaction)
            self._by_marker[transaction.last_offset] = transaction

    def covers(self, header: BatchHeader) -> bool:
        """Whether a batch of a transaction was aborted."""
        ahead = self._ahead.get(header.producer_id)
        while ahead and ahead[0].last_offset < header.base_offset:
            ahead.popleft()
        return ahead is not None and len(ahead) > 0 and ahead[0].first_offset <= header.base_offset

    def ended_by(self, header: BatchHeader) -> AbortedTransaction | None:
        """The transaction whose marker this is. Its offset tells: a damaged marker may name a wrong producer."""
        return self._by_marker.get(header.last_offset)
