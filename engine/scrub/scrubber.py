"""The scrubber: one pass after the other over all that is on disk, in steps of a few hundred kilobytes.

    step = scrubber.next_step()      # loop: what to look at now, or None
    step.run()                       # thread
    pause_s = scrubber.finish(step)  # loop: what was found is noted; how long to wait, for its pace

A pass goes by topic id, partition, log and stage, segment; then the journal and what else there is. What lies above a
log's durable end is not looked at, and nothing is mended or removed. A problem counts when it is seen twice and the
segment is still the log's, so that files which are replaced or truncated meanwhile raise no false alarm. Where the pass
is, and what it has found, is kept on disk (`progress.py`).
"""

import logging
import os
from collections.abc import Iterator, Sequence

from attrs import define, field

from engine.clock import Clock
from engine.damage import Damage
from engine.journal.journal import Journal
from engine.log.segment import Segment
from engine.partition.durable_log import DurableLog
from engine.partition.partitions import Partitions
from engine.scrub.progress import Cursor, ScrubPlace, ScrubProgress, kept, known
from engine.scrub.segment_check import FileFault, SegmentCheck
from engine.scrub.small_files import is_small_file
from engine.scrub.steps import (
    JournalStep,
    MissingStep,
    OtherFile,
    OtherStep,
    SaveStep,
    ScrubStep,
    SegmentStep,
    SmallFilesStep,
)

logger = logging.getLogger("tidegate.scrub")

STEP_BYTES_MOST = 256 * 1024
STEP_BYTES_LEAST = 16 * 1024
STEPS_PER_SECOND = 4
SAVE_INTERVAL_S = 60.0


@define(eq=False)
class Scrubber:
    """See the module. Belongs to the loop."""

    partitions: Partitions
    clock: Clock
    rate_bytes: int
    """A second, at most."""
    interval_ms: int
    """From the end of a pass to the next."""
    journal: Journal | None = None
    others: Sequence[OtherFile] = ()
    progress: ScrubProgress = field(factory=ScrubProgress, init=False)
    bytes: int = field(default=0, init=False)
    passes: int = field(default=0, init=False)
    _steps: Iterator[ScrubStep | None] | None = field(default=None, init=False)
    _saved_s: float = field(default=0.0, init=False)
    _has_news: bool = field(default=False, init=False)

    # -- when

    def load(self) -> None:
        """[thread] What the last broker has left, before anything is served."""
        self.progress = ScrubProgress.read(self.partitions.files, self.partitions.data_dir)

    def begin(self) -> None:
        """On the loop, after `load`: what was found before counts until it is looked at again."""
        for damage in self.progress.damages:
            self.partitions.damages.add(known(damage, self.partitions.data_dir))
        self._saved_s = self.clock.monotonic()

    @property
    def is_running(self) -> bool:
        """Whether a pass is under way."""
        return self.progress.is_running

    def start_pass(self) -> bool:
        """Begin one now; False if one is under way."""
        if self.is_running:
            return False
        progress = self.progress
        progress.is_running, progress.cursor = True, None
        progress.started_ms, progress.pass_bytes = self.clock.now_ms(), 0
        self._steps = None
        logger.info("scrubbing begins", extra={"pass": progress.passes + 1})
        return True

    def next_step(self) -> ScrubStep | None:
        """What a thread has to do next; None if nothing has to be done now."""
        if not self.is_running:
            if self.clock.now_ms() < self.progress.completed_ms + self.interval_ms:
                return self._save_step() if self._has_news else None
            self.start_pass()
        if self._has_news or self.clock.monotonic() - self._saved_s >= SAVE_INTERVAL_S:
            return self._save_step()
        if self._steps is None:
            self._steps = self._pass(self.progress.cursor)
        try:
            return next(self._steps)
        except StopIteration:
            self._end_pass()
            return self._save_step()

    def finish(self, step: ScrubStep) -> float:
        """Take in what it found; how long to wait before the next."""
        self.bytes += step.size_bytes
        self.progress.pass_bytes += step.size_bytes
        return step.size_bytes / self.rate_bytes

    def give_up(self) -> None:
        """This pass cannot be ended: the next one begins at its time."""
        self.progress.is_running, self.progress.cursor, self._steps = False, None, None
        self.progress.completed_ms = self.clock.now_ms()

    def save_step(self) -> SaveStep:
        """To be run at the end, when nothing else is under way."""
        return self._save_step()

    # -- a pass

    def _pass(self, cursor: Cursor | None) -> Iterator[ScrubStep | None]:
        """Its steps; what a step found is looked at when the next one is asked for. None is a moment for others."""
        for place, store in self._logs(cursor):
            yield from self._log_steps(place, store, cursor if cursor and cursor.place == place else None)
        for extent in self.journal.needed_slots() if self.journal is not None else ():
            slot = JournalStep(self.partitions.files, extent)
            yield slot
            self._note_journal(slot)
        for other in self.others:
            looked = OtherStep(other)
            yield looked
            self._replace(other.path, [] if looked.problem is None else [FileFault(0, -1, looked.problem)], None)
        others = {other.path for other in self.others}
        damages = [damage for damage in self.partitions.damages if damage.file not in others]
        missing = MissingStep(self.partitions.files, damages)
        yield missing
        for path in missing.gone:
            self._replace(path, [], None)

    def _logs(self, cursor: Cursor | None) -> Iterator[tuple[ScrubPlace, DurableLog]]:
        begin = cursor.place if cursor is not None else ScrubPlace("", -1)
        for topic_id in sorted(self.partitions.topic_ids()):
            if topic_id.hex() < begin.topic_id:
                continue
            for partition in tuple(self.partitions.of_topic(topic_id)):
                for number, store in enumerate(partition.logs):
                    place = ScrubPlace(topic_id.hex(), partition.index, bool(number))
                    if place >= begin:
                        yield place, store

    def _log_steps(self, place: ScrubPlace, store: DurableLog, cursor: Cursor | None) -> Iterator[ScrubStep | None]:
        base_offset, resumed = (cursor.segment, cursor) if cursor is not None else (-1, None)
        while (segment := _segment_from(store, base_offset)) is not None:
            check = SegmentCheck(segment.base_offset, gaps_allowed=not segment.gapless)
            if resumed is not None and resumed.segment == segment.base_offset:
                check.position, check.next_offset = resumed.position, resumed.next_offset
            resumed = None
            yield from self._segment_steps(place, store, segment, check)
            base_offset = segment.base_offset + 1
        if store.log.segments and not store.removed:
            small = SmallFilesStep(self.partitions.files, store.log.directory)
            yield small
            self._note_small_files(small, store)
        yield None

    def _segment_steps(
        self, place: ScrubPlace, store: DurableLog, segment: Segment, check: SegmentCheck
    ) -> Iterator[ScrubStep | None]:
        found: list[FileFault] = []
        was_resumed, doubted, is_done = check.position > 0, False, False
        while (step := self._segment_step(place, store, segment, check)) is not None:
            yield step
            if not _is_of(store, segment):
                return
            if step.problems and was_resumed and not doubted and not found:
                # The segment may have been compacted since: from its beginning, then.
                check, was_resumed = SegmentCheck(segment.base_offset, gaps_allowed=not segment.gapless), False
                continue
            if step.problems and not doubted:
                doubted = True
                continue
            doubted = False
            found += step.problems
            check, self.progress.cursor = step.after, step.cursor
            if step.is_last:
                is_done = True
                break
        if found or (is_done and not was_resumed):
            self._replace(segment.path, found, store)

    def _segment_step(
        self, place: ScrubPlace, store: DurableLog, segment: Segment, check: SegmentCheck
    ) -> SegmentStep | None:
        """The next part of a segment; None if there is none, or it cannot be looked at now."""
        log = store.log
        if store.offline is not None or not _is_of(store, segment):
            return None
        segments = log.segments
        end_offset = None
        if segment is segments[-1]:
            durable = log.durable_end
            limit = durable.position if durable.segment == segment.base_offset else 0
        else:
            limit = segment.size
            end_offset = segments[segments.index(segment) + 1].base_offset
        if check.position >= limit:
            return None
        try:
            file = segment.file()
        except OSError:
            return None  # it is being removed
        budget = min(max(self.rate_bytes // STEPS_PER_SECOND, STEP_BYTES_LEAST), STEP_BYTES_MOST)
        return SegmentStep(place, segment, file, limit, budget, check, end_offset)

    def _note_small_files(self, step: SmallFilesStep, store: DurableLog) -> None:
        directory = step.directory
        known_before = {damage.file for damage in self.partitions.damages if os.path.dirname(damage.file) == directory}
        sound = {path for path in known_before - step.problems.keys() if is_small_file(os.path.basename(path))}
        for path in sound:
            self._replace(path, [], store)
        for path, problem in step.problems.items():
            self._replace(path, [problem], store)

    def _note_journal(self, step: JournalStep) -> None:
        assert self.journal is not None
        still = {extent.path: extent for extent in self.journal.needed_slots()}.get(step.extent.path)
        if still is not None and still.lap == step.extent.lap:
            self._replace(step.extent.path, [] if step.problem is None else [step.problem], None)

    def _end_pass(self) -> None:
        progress = self.progress
        progress.is_running, progress.cursor, self._steps = False, None, None
        progress.completed_ms = self.clock.now_ms()
        progress.passes += 1
        self.passes += 1
        figures = {"pass": progress.passes, "bytes": progress.pass_bytes, "damages": len(self.partitions.damages)}
        logger.info("everything on disk was looked at", extra=figures)

    # -- what was found

    def _replace(self, path: str, problems: Sequence[FileFault], store: DurableLog | None) -> None:
        """What is now known of a file, in the place of what was."""
        damages = self.partitions.damages
        before = {damage.position: damage for damage in damages if damage.file == path}
        damages.forget(path)
        topic, partition = ("", -1) if store is None else (self.partitions.topic_of(store), store.index)
        for problem in problems:
            found_ms = before[problem.position].found_ms if problem.position in before else self.clock.now_ms()
            damage = Damage(path, problem.position, problem.text, topic, partition, problem.offset, found_ms)
            damages.add(damage)
            if problem.position not in before:
                self._tell(damage)
        if set(before) != {problem.position for problem in problems}:
            self._has_news = True

    def _tell(self, damage: Damage) -> None:
        text = "damage on disk: %s at byte %d: %s"
        extra = {"topic": damage.topic, "partition": damage.partition, "offset": damage.offset}
        logger.error(text, damage.file, damage.position, damage.problem, extra=extra if damage.topic else None)

    def _save_step(self) -> SaveStep:
        self._has_news, self._saved_s = False, self.clock.monotonic()
        data_dir = self.partitions.data_dir
        self.progress.damages = [kept(damage, data_dir) for damage in self.partitions.damages]
        copied = ScrubProgress(**{name: getattr(self.progress, name) for name in self.progress.__struct_fields__})
        return SaveStep(self.partitions.files, data_dir, copied)

    def statistics(self) -> dict[str, int]:
        """Figures of this process and of the pass."""
        progress = self.progress
        return {
            "bytes": self.bytes,
            "passes": self.passes,
            "damages": len(self.partitions.damages),
            "completed_ms": progress.completed_ms,
            "pass_bytes": progress.pass_bytes,
            "running": int(progress.is_running),
        }


def _segment_from(store: DurableLog, base_offset: int) -> Segment | None:
    """The first segment that begins there or later."""
    if store.removed or store.log.offline is not None:
        return None
    return next((segment for segment in store.log.segments if segment.base_offset >= base_offset), None)


def _is_of(store: DurableLog, segment: Segment) -> bool:
    """Whether the segment still is the log's, and the log is in order."""
    return not store.removed and store.log.offline is None and any(each is segment for each in store.log.segments)
