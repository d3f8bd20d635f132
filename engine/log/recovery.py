"""Opening a log after a crash or a clean stop: what is whole is kept, a torn end is cut off, nothing else is lost.

Everything before the newest whole snapshot (the recovery point) was synced, so its segments are only listed by name and
size: opening a long log takes no longer than opening a short one. Past that point every batch is read and checked, and
the log ends before the first bad one, because a write that was cut short cannot be told from one that was damaged.

What lies behind that end may still hold acknowledged records. So only what is empty, or is certainly the beginning of a
write that was never finished, is removed; the rest is set aside (engine/log/set_aside.py). Whatever is kept is synced
before anybody sees it: a record that was read once must not be gone after the next crash.

Two things are refused instead, with the way out. The first is broken framing in a sealed segment with a whole index:
that segment was synced as it stands, so cutting it would lose records (a wrong checksum alone is left for the consumer
to see). The second is a log that ends before what is known to have been durable: going on would give its offsets out
twice.
"""

import logging
import os
import struct
from itertools import pairwise

from attrs import define, field
from crc32c import crc32c

from engine.clock import Clock
from engine.errors import CorruptMessage, StorageError
from engine.files.files import Files, read_whole, write_atomically
from engine.journal.format import Journaled, LogJournal
from engine.log.aborted_index import AbortedIndex
from engine.log.index import ENTRY_SIZE, SparseIndex, open_sealed
from engine.log.leader_epochs import LeaderEpochs
from engine.log.producer_state import ProducerState
from engine.log.replacement import GAPS_FILE, finish_replacement
from engine.log.segment import INDEX_SUFFIX, LOG_SUFFIX, Segment, scan_batches
from engine.log.set_aside import SetAside, is_torn, set_aside_sizes
from engine.log.snapshot import Snapshot, list_snapshots, read_snapshot, remove_snapshots, snapshot_name
from engine.log.transactions import note_producer, read_marker, stable_offset
from engine.log.types import LogConfig, LogExtent, LogPosition, RecoveryReport
from engine.records.layout import NO_PRODUCER_ID, BatchHeader

logger = logging.getLogger("tidegate.recovery")

START_FILE = "log-start"
JOURNAL_FLOOR_FILE = "journal-floor"
JOURNAL_BIRTH_FILE = "journal-birth"
STAGE = "stage"
"""The directory of a partition's stage, inside the partition's own."""
PUT_BACK = (
    "Put its files back from a copy; to go on without them, remove the file .clean-shutdown from the data directory"
)
_START = struct.Struct(">q")
_PLACE_BYTES = 16
_CHECKSUM = struct.Struct(">I")


@define(eq=False)
class LogState:
    """All that a log knows; made by recovery, carried on by `Log`."""

    segments: list[Segment]
    producers: ProducerState
    epochs: LeaderEpochs
    start_offset: int
    end_offset: int
    snapshots: list[int] = field(factory=list)
    recovery_point: LogPosition | None = None
    gaps_allowed: bool = False
    exists: bool = False
    report: RecoveryReport = field(factory=RecoveryReport)


def new_state(config: LogConfig) -> LogState:
    """Of a log that has never been."""
    return LogState([], ProducerState(config.producer_id_expiration_ms), LeaderEpochs(), 0, 0)


def write_start_offset(files: Files, directory: str, offset: int) -> None:
    _write_checked(files, os.path.join(directory, START_FILE), _START.pack(offset))


def read_start_offset(files: Files, directory: str) -> int | None:
    """The durable start offset; None if there is none. A damaged one is refused: guessing would show what
    was deleted, or hide what was not."""
    body = _read_checked(files, os.path.join(directory, START_FILE), _START.size)
    return None if body is None else int(_START.unpack(body)[0])


def write_journal_floor(files: Files, directory: str, place: int) -> None:
    """From now on only what is journaled at `place` or later belongs to the log; the rest was cut off."""
    _write_checked(files, os.path.join(directory, JOURNAL_FLOOR_FILE), place.to_bytes(_PLACE_BYTES, "big"))


def write_journal_birth(files: Files, directory: str, place: int) -> None:
    """A partition begins anew where it was before: of its log and of its stage the journal counts from `place` on."""
    _write_checked(files, os.path.join(directory, JOURNAL_BIRTH_FILE), place.to_bytes(_PLACE_BYTES, "big"))


def read_journal_floor(files: Files, directory: str) -> int:
    """The place from which on the journal counts. A damaged one is refused, as a start offset is."""
    whole = os.path.dirname(directory) if os.path.basename(directory) == STAGE else directory
    paths = os.path.join(directory, JOURNAL_FLOOR_FILE), os.path.join(whole, JOURNAL_BIRTH_FILE)
    places = [_read_checked(files, path, _PLACE_BYTES) for path in paths]
    return max(0 if body is None else int.from_bytes(body, "big") for body in places)


def _write_checked(files: Files, path: str, body: bytes) -> None:
    write_atomically(files, path, body + _CHECKSUM.pack(crc32c(body)))


def _read_checked(files: Files, path: str, size: int) -> bytes | None:
    """The body that was written; None if there is no file."""
    data = read_whole(files, path)
    if data is None:
        return None
    body = data[:size]
    if len(data) != size + _CHECKSUM.size or data[size:] != _CHECKSUM.pack(crc32c(body)):
        raise StorageError(f"{path} is damaged")
    return body


def parents(directory: str) -> tuple[str, ...]:
    """The topic's directory, the one of all topics and the data directory, and for a stage the partition's: an
    unsynced entry in them loses the log."""
    found = [directory]
    for _ in range(4 if os.path.basename(directory) == STAGE else 3):
        found.append(os.path.dirname(found[-1]))
    return tuple(found[1:])


def recover(
    directory: str,
    files: Files,
    clock: Clock,
    config: LogConfig,
    *,
    clean: bool,
    journal: LogJournal | None = None,
    left: LogExtent | None = None,
) -> LogState:
    """The log in `directory`, ready to be read and written, with what the journal has of it. `left` is what the last
    broker says to have left there; less is refused."""
    finish_replacement(files, directory)
    while True:
        names = _without_orphans(files, directory, files.list(directory))
        if left is not None:
            _check_left(directory, names, left)
        aside = SetAside(files, directory, set_aside_sizes(names))
        state = _Recovery(directory, files, clock, config, clean, names, journal, aside).run()
        if state is not None:
            break
    if left is not None and state.end_offset < left.end_offset:
        raise StorageError(
            f"{directory} ends at offset {state.end_offset}; when the last broker stopped it ended at "
            f"{left.end_offset}: records are missing. {PUT_BACK}"
        )
    return state


def _check_left(directory: str, names: dict[str, int], left: LogExtent) -> None:
    sizes = [size for name, size in names.items() if name.endswith(LOG_SUFFIX)]
    if sum(sizes) < left.size_bytes or len(sizes) < left.segments:
        raise StorageError(
            f"{directory} holds {sum(sizes)} bytes of records in {len(sizes)} files; when the last broker stopped it "
            f"held {left.size_bytes} in {left.segments}: records are missing. {PUT_BACK}"
        )


def _without_orphans(files: Files, directory: str, names: dict[str, int]) -> dict[str, int]:
    """Removes indexes whose segment is gone; returns the rest of the listing."""
    for name in [name for name in names if name.endswith(INDEX_SUFFIX)]:
        if name.removesuffix(INDEX_SUFFIX) + LOG_SUFFIX not in names:
            files.unlink(os.path.join(directory, name))
            del names[name]
    return names


@define(eq=False)
class _Recovery:
    directory: str
    files: Files
    clock: Clock
    config: LogConfig
    clean: bool
    names: dict[str, int]
    journal: LogJournal | None
    aside: SetAside
    scanned_bytes: int = field(default=0, init=False)
    cut_bytes: int = field(default=0, init=False)
    dropped_segments: int = field(default=0, init=False)
    rebuilt_indexes: int = field(default=0, init=False)

    @property
    def gaps_allowed(self) -> bool:
        return GAPS_FILE in self.names or self.config.cleanup_compact

    def run(self) -> LogState | None:
        """The log; None if something was set aside and all begins anew."""
        start_offset = read_start_offset(self.files, self.directory)
        segments = self._list_segments()
        snapshot, snapshots = self._choose_snapshot(segments)
        if snapshot is not None:
            self._drop_overlapping(segments, snapshot.end.segment)
            self._remove_deleted(segments, snapshot.end.segment, start_offset or 0)
            self._miss_first(segments[0].base_offset, start_offset or 0)
        state = self._begin(segments, snapshot, start_offset)
        state.snapshots, state.recovery_point = snapshots, snapshot.end if snapshot else None
        state.exists, state.gaps_allowed = bool(self.names), GAPS_FILE in self.names
        if segments and not self._is_current(snapshot, segments) and not self._scan(state, snapshot):
            return None
        self._check_bounds(state)
        self._recall_epochs(state.epochs, state.end_offset)
        state.epochs.truncate_start(state.start_offset)
        state.report = RecoveryReport(
            self.scanned_bytes,
            self.cut_bytes,
            self.dropped_segments,
            self.rebuilt_indexes,
            snapshot.end.offset if snapshot else -1,
            len(self.aside.sizes),
            sum(self.aside.sizes),
        )
        return state

    def _recall_epochs(self, epochs: LeaderEpochs, end_offset: int) -> None:
        """One that began and wrote nothing. Where batches of an older one follow, it was another leader's turn: they
        were copied after this node had led in vain."""
        checkpoint = LeaderEpochs.read(self.files, self.directory)
        knows_none = not epochs.entries
        for epoch, start in checkpoint.entries if checkpoint else ():
            if epoch > epochs.latest and (start == end_offset or (knows_none and start < end_offset)):
                epochs.assign(epoch, start)

    def _list_segments(self) -> list[Segment]:
        """The segments by their names, those too that a deletion before the crash had given up."""
        bases = sorted(
            int(name.removesuffix(LOG_SUFFIX))
            for name in self.names
            if name.endswith(LOG_SUFFIX) and name.removesuffix(LOG_SUFFIX).isdigit()
        )
        now_ms = self.clock.now_ms()
        sizes = {base: self.names[f"{base:020d}{LOG_SUFFIX}"] for base in bases}
        segments = [
            Segment(self.files, self.directory, base, size=sizes[base], created_ms=now_ms, sealed=True)
            for base in bases
        ]
        if segments:
            segments[-1].sealed = False
        return segments

    def _remove_deleted(self, segments: list[Segment], point: int, start_offset: int) -> None:
        """Removes what a deletion before the crash had given up, if the snapshot knows all that it tells of producers.
        The next one's name alone does not say where a segment ends."""
        while segments[0].base_offset < point and segments[1].base_offset <= start_offset:
            try:
                end_offset = segments[0].read_end_offset()
            except CorruptMessage as error:
                self._drop(segments, segments[0], f"it lies before the start offset {start_offset}, and {error}")
                continue
            if end_offset > start_offset:
                return
            remove_segment_files(segments.pop(0))

    def _miss_first(self, first: int, start_offset: int) -> None:
        """A start offset is durable before what lies below it goes; one that begins later was not the first segment.
        Whoever asks for what is missing is told that it is out of range; so the log goes on with the rest."""
        if first > start_offset:
            text = "%s begins at offset %d and should at %d: durable records are missing; put them back from a copy"
            logger.error(text, self.directory, first, start_offset)

    def _drop_overlapping(self, segments: list[Segment], point: int) -> None:
        """Drops segments before the recovery point whose offsets the one before them holds: a write that failed had
        begun them. They never got an index, by which the others are known."""
        for before, segment in tuple(pairwise(segments)):
            if segment.base_offset >= point or os.path.basename(segment.index_path) in self.names:
                continue
            try:
                end_offset = before.read_end_offset()
            except CorruptMessage:
                continue  # Which of the two is right is not known: who reads there is told.
            if end_offset > segment.base_offset:
                self._drop(segments, segment, f"the segment before it ends at offset {end_offset}")

    def _choose_snapshot(self, segments: list[Segment]) -> tuple[Snapshot | None, list[int]]:
        """The newest whole snapshot that fits the segments, and the offsets of it and the older ones."""
        sizes = {segment.base_offset: segment.size for segment in segments}
        offsets = list_snapshots(self.names)
        for offset in reversed(offsets):
            snapshot = read_snapshot(self.files, self.directory, offset)
            if snapshot is not None and snapshot.end.position <= sizes.get(snapshot.end.segment, -1):
                return snapshot, [known for known in offsets if known <= offset]
        return None, []

    def _begin(self, segments: list[Segment], snapshot: Snapshot | None, start_offset: int | None) -> LogState:
        first = segments[0].base_offset if segments else 0
        start = max(first, start_offset or 0)
        if snapshot is None:
            producers = ProducerState(self.config.producer_id_expiration_ms)
            return LogState(segments, producers, LeaderEpochs(), start, first)
        producers = snapshot.producer_state(self.config.producer_id_expiration_ms)
        state = LogState(segments, producers, snapshot.epochs, start, snapshot.end.offset)
        self._resume_segment(state, snapshot)
        return state

    def _resume_segment(self, state: LogState, snapshot: Snapshot) -> None:
        """Gives the recovery point's segment the knowledge of its part before the point."""
        segment = next(s for s in state.segments if s.base_offset == snapshot.end.segment)
        data = (read_whole(self.files, segment.index_path) or b"")[: snapshot.index_entries * ENTRY_SIZE]
        index = SparseIndex(bytearray(data))
        whole = len(index) == snapshot.index_entries
        if whole and index.checksum(len(index)) == snapshot.index_checksum:
            segment.resume(index, snapshot.end.position, snapshot.max_timestamp, snapshot.max_timestamp_position)
            segment.first_timestamp = snapshot.first_timestamp
            segment.saved_entries = len(index)
            segment.aborted = AbortedIndex(snapshot.aborted)
            return
        self.rebuilt_indexes += 1
        segment.size = snapshot.end.position
        try:
            segment.rebuild_index(self.config.index_interval_bytes)
        except CorruptMessage as error:
            raise StorageError(f"damage below the recovery point: {error}") from error
        segment.aborted = AbortedIndex(snapshot.aborted)

    def _is_current(self, snapshot: Snapshot | None, segments: list[Segment]) -> bool:
        """After a clean shutdown there is nothing past the recovery point."""
        if not self.clean or snapshot is None:
            return False
        last = segments[-1]
        on_disk = self.names[os.path.basename(last.path)]
        return snapshot.end.segment == last.base_offset and snapshot.end.position == on_disk

    def _scan(self, state: LogState, snapshot: Snapshot | None) -> bool:
        """Reads what lies past the recovery point; False if the log was changed so that this must begin anew."""
        point = snapshot.end.segment if snapshot else -1
        scanned: list[Segment] = []
        for segment in tuple(state.segments):
            if segment.base_offset < point:
                continue
            if segment.base_offset != point:
                if scanned and segment.base_offset != state.end_offset:
                    self._drop(state.segments, segment, f"the log goes on at offset {state.end_offset}")
                    continue
                state.end_offset = segment.base_offset
            scanned.append(segment)
            self._scan_segment(state, segment, self._on_disk(segment), resumed=segment.base_offset == point)
        if not self._replay(state, scanned):
            return False
        for segment in scanned:
            segment.file().sync()
        for directory in (self.directory, *parents(self.directory)):
            self.files.sync_directory(directory)
        self._reseal(state)
        return True

    def _on_disk(self, segment: Segment) -> int:
        return self.names[os.path.basename(segment.path)]

    def _scan_segment(self, state: LogState, segment: Segment, on_disk: int, *, resumed: bool) -> None:
        """Feeds every good batch to the state; cuts the rest off."""
        sealed = None
        if segment.sealed:
            sealed = open_sealed(read_whole(self.files, segment.index_path) or b"", on_disk)
        segment.cleaned = bool(sealed and sealed[1].cleaned)
        if not resumed:
            segment.reset()
        self.scanned_bytes += on_disk - segment.size
        self._feed_all(state, segment, on_disk, trusted=sealed is not None)
        if segment.size == on_disk:
            return
        if sealed:
            raise StorageError(f"{segment.path} is damaged at byte {segment.size}; it was sealed and synced")
        self.cut_bytes += on_disk - segment.size
        rest = segment.file().pread(on_disk - segment.size, segment.size)
        if not is_torn(rest, state.end_offset):
            why = f"behind offset {state.end_offset} stands no whole batch that follows"
            self.aside.copy(segment.base_offset, segment.size, rest, why)
        segment.file().truncate(segment.size)

    def _feed_all(self, state: LogState, segment: Segment, end: int, *, trusted: bool) -> None:
        """Feeds the batches up to `end`, as far as they are good."""
        for position, header, intact in scan_batches(segment.file(), segment.size, end):
            assert position == segment.size
            if not (intact or trusted) or not self._follows(header, state.end_offset):
                break
            self._feed(state, segment, position, header)
        segment.stable_offset = stable_offset(state.producers, state.end_offset)

    def _replay(self, state: LogState, scanned: list[Segment]) -> bool:
        """Gives the log back what was durable in the journal alone. That is in its last segment: with a new one the
        one before is synced. False if there are segments behind it that nobody was told are durable, and are gone."""
        if self.journal is None:
            return True
        entries = self.journal.tail(self.directory)
        floor = read_journal_floor(self.files, self.directory) if entries else 0
        entries = [entry for entry in entries if entry.place >= floor]
        segment = state.segments[-1]
        for earlier in scanned[:-1]:
            if any(entry.segment == earlier.base_offset and entry.end > earlier.size for entry in entries):
                why = f"the journal holds what the segment {earlier.base_offset} lacks at its end"
                self._drop(state.segments, segment, why)
                return False
        for entry in entries:
            self._replay_entry(state, segment, entry)
        beyond = [entry for entry in entries if (entry.segment, entry.end) > (segment.base_offset, segment.size)]
        if beyond:
            for entry in beyond:
                why = f"the journal holds it, and the log ends at offset {state.end_offset}, before it"
                self.aside.copy(entry.segment, entry.position, entry.read(0), why)
            # What is written there from now on is not theirs.
            write_journal_floor(self.files, self.directory, self.journal.place)
        return True

    def _replay_entry(self, state: LogState, segment: Segment, entry: Journaled) -> None:
        known = segment.size - entry.position
        if entry.segment != segment.base_offset or not 0 <= known < entry.size:
            return
        segment.file().write([entry.read(known)], segment.size)
        self._feed_all(state, segment, entry.end, trusted=False)
        if segment.size != entry.end:
            segment.file().truncate(segment.size)

    def _follows(self, header: BatchHeader, expected_offset: int) -> bool:
        """Whether a batch belongs here. The checksum does not cover its offset, so where there can be no gaps a
        wrong offset is damage."""
        if header.last_offset_delta < 0 or header.base_offset < expected_offset:
            return False
        return header.base_offset == expected_offset or self.gaps_allowed

    def _feed(self, state: LogState, segment: Segment, position: int, header: BatchHeader) -> None:
        segment.note_batch(header, header.base_offset, self.config.index_interval_bytes)
        state.epochs.assign(header.leader_epoch, header.base_offset)
        if header.producer_id != NO_PRODUCER_ID:
            assert segment.aborted is not None
            marker = read_marker(segment, position, header)
            note_producer(segment.aborted, state.producers, header, marker, self.clock.now_ms())
        state.end_offset = header.next_offset

    def _drop(self, segments: list[Segment], segment: Segment, why: str) -> None:
        """Takes a segment out of the log: removes it if it is empty, else sets it aside."""
        on_disk = self._on_disk(segment)
        self.cut_bytes += on_disk
        self.dropped_segments += 1
        self.aside.segment(segment, on_disk if segment.size else 0, why)
        self.files.unlink(segment.index_path)
        segments.remove(segment)

    def _reseal(self, state: LogState) -> None:
        for segment in state.segments[:-1]:
            if not segment.sealed or segment.index is not None:
                segment.seal()
        if state.segments and state.segments[-1].sealed:
            state.segments[-1].sealed = False

    def _check_bounds(self, state: LogState) -> None:
        """Refuses a log that lacks what is known to have been durable. A snapshot's name says that, whole or not."""
        offsets = list_snapshots(self.names)
        beyond = [offset for offset in offsets if offset > state.end_offset]
        if state.start_offset > state.end_offset:
            raise StorageError(
                f"{self.directory} ends at offset {state.end_offset}, before its start {state.start_offset}: "
                "durable records are missing"
            )
        if beyond:
            names = ", ".join(map(snapshot_name, beyond))
            raise StorageError(
                f"{self.directory} ends at offset {state.end_offset} and was durable up to {beyond[-1]}: durable "
                f"records are missing. Put its files back from a copy; to go on without them, remove from there {names}"
            )
        # What is left of the newer ones is damaged: the records are here all the same.
        remove_snapshots(self.files, self.directory, [offset for offset in offsets if offset not in state.snapshots])


def remove_segment_files(segment: Segment) -> None:
    """Unlinks a segment; whoever reads it keeps its file until done."""
    segment.close()
    segment.files.unlink(segment.path)
    segment.files.unlink(segment.path.removesuffix(LOG_SUFFIX) + INDEX_SUFFIX)
