"""One pass of compaction over one log: the part that runs in a thread.

First a map of the latest offset of every key in the dirty part is built, as far as memory allows. Then the log
is written anew from its first segment to where the map ends, group by group: old segments next to each other, and
the fewer or smaller ones that are to replace them. Each group is handed out to be committed before the next begins.
"""

from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from engine.cleaner.batch_cleaning import CleaningRules, clean_batch, note_keys, place_holder, read_batches
from engine.cleaner.dirtiness import Dirtiness
from engine.cleaner.offset_map import DEFAULT_BYTES, OffsetMap
from engine.cleaner.output import NewSegments, remove_cleaned
from engine.cleaner.throttle import Throttle
from engine.cleaner.transaction_cleaning import OF_TRANSACTION, TransactionCleaning, TransactionKeys
from engine.cleaner.transactions import AbortedRanges, read_aborted
from engine.files.files import Files
from engine.log.aborted_index import AbortedTransaction
from engine.log.producer_state import ProducerInfo
from engine.log.segment import MAX_RELATIVE_OFFSET, Segment
from engine.log.types import LogConfig
from engine.records.layout import BatchHeader

# A group ends when it has filled so much of a segment: small segments are put together, large ones stay alone.
FULL_SHARE = 0.5
GROUP_SEGMENTS = 64


@frozen
class SegmentGroup:
    """Segments of the log, and what is to stand in their place."""

    old: tuple[Segment, ...]
    new: tuple[Segment, ...]

    @property
    def freed_bytes(self) -> int:
        return sum(s.size for s in self.old) - sum(s.size for s in self.new)

    def abandon(self) -> None:
        """[thread] Removes the new segments' files."""
        for segment in self.new:
            remove_cleaned(segment)


@define(eq=False)
class Compaction:
    """[thread] See the module: `build_map` once, then `next_group` until there is none."""

    files: Files
    directory: str
    dirt: Dirtiness
    config: LogConfig
    now_ms: int
    producers: dict[int, ProducerInfo]
    copies: Sequence[Segment]
    """All segments of the log, `detached`."""
    throttle: Throttle
    capacity_bytes: int = DEFAULT_BYTES
    last_markers: dict[int, int] = field(factory=dict)
    """Where the last marker of each producer stands, as far as passes have come across them."""
    read_bytes: int = field(default=0, init=False)
    offsets: OffsetMap = field(init=False)
    _aborted: list[AbortedTransaction] = field(factory=list, init=False)
    _stable_offsets: dict[int, int] = field(factory=dict, init=False)
    _groups: Iterator[SegmentGroup] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.offsets = OffsetMap(self.capacity_bytes, end=self.dirt.first_dirty)
        self._groups = self._write_groups()

    @property
    def cleaned_to(self) -> int:
        """Where the next pass has to begin."""
        return self.offsets.end

    def build_map(self) -> None:
        self._aborted = read_aborted(self.copies, self.dirt.end)
        self._stable_offsets = {copy.base_offset: copy.stable_offset for copy in self.copies}
        keys = TransactionKeys(AbortedRanges(self._aborted), self.last_markers)
        for segment, end in self._with_ends():
            if end <= self.dirt.first_dirty:
                continue
            for header, batch in read_batches(segment):
                self._count(batch)
                if header.last_offset < self.dirt.first_dirty:
                    continue
                if self.offsets.full:
                    return
                if header.attributes & OF_TRANSACTION:
                    keys.note(header, batch, self.offsets)
                else:
                    note_keys(header, batch, self.offsets)

    def next_group(self) -> SegmentGroup | None:
        """Written and synced, ready to be committed; None at the end."""
        return next(self._groups, None)

    def _count(self, batch: bytes) -> None:
        self.read_bytes += len(batch)
        self.throttle.step()

    def _with_ends(self) -> Iterator[tuple[Segment, int]]:
        segments = self.dirt.segments
        yield from zip(segments, [*(s.base_offset for s in segments[1:]), self.dirt.end], strict=True)

    def _write_groups(self) -> Iterator[SegmentGroup]:
        segments = [(segment, end) for segment, end in self._with_ends() if segment.base_offset < self.offsets.end]
        cleaning = CleaningRules(self.offsets, self.now_ms, self.config.delete_retention_ms, self.producers)
        transactions = TransactionCleaning(cleaning, AbortedRanges(self._aborted), self.last_markers)
        while segments:
            output = NewSegments(
                self.files, self.directory, segments[0][0].base_offset, self.now_ms,
                self.config.segment_bytes, self.config.index_interval_bytes,
            )  # fmt: skip
            try:
                count = self._fill(output, segments, transactions)
                group = self._group(tuple(segment for segment, _ in segments[:count]), output)
            except BaseException:
                output.abandon()
                raise
            del segments[:count]
            if group is not None:
                yield group

    def _fill(
        self, output: NewSegments, segments: Sequence[tuple[Segment, int]], transactions: TransactionCleaning
    ) -> int:
        """Writes what stays of segment after segment until there is enough for a group; how many it took."""
        cleaning = transactions.cleaning
        dropped: BatchHeader | None = None
        count = 0
        for segment, end in segments:
            if count and self._is_enough(output, count, end - segments[0][0].base_offset):
                break
            for header, batch in read_batches(segment):
                self._count(batch)
                if header.attributes & OF_TRANSACTION:
                    kept, aborted = transactions.clean(header, batch)
                    output.changed = output.changed or aborted is not transactions.aborted.ended_by(header)
                else:
                    kept, aborted = clean_batch(header, batch, cleaning), None
                output.changed = output.changed or kept is not batch
                if kept is not None:
                    output.append(kept, aborted)
                dropped = header if kept is None else None
            count += 1
            output.stable_offset = max(output.stable_offset, self._stable_offsets.get(segment.base_offset, -1))
        if dropped is not None:
            # The segments tile the offsets: something has to say where this one ends.
            output.append(place_holder(dropped))
        return count

    def _is_enough(self, output: NewSegments, count: int, next_offsets: int) -> bool:
        full = output.size >= self.config.segment_bytes * FULL_SHARE or count == GROUP_SEGMENTS
        return full or next_offsets > MAX_RELATIVE_OFFSET

    def _group(self, old: tuple[Segment, ...], output: NewSegments) -> SegmentGroup | None:
        if len(old) == 1 and not output.changed:
            output.abandon()
            return None
        new = output.finish()
        for segment in old:
            # Loaded here, in the thread: the commit needs it on the loop.
            segment.loaded_index()
        return SegmentGroup(old, new)
