"""What the scrubber has a thread do: a little at a time, nothing of it changes anything but its own notes."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from attrs import define, evolve, field, frozen

from engine.damage import Damage
from engine.files import File, Files
from engine.journal_format import SlotExtent, damaged_at
from engine.page_cache import is_resident, let_go
from engine.scrub.progress import Cursor, Place, ScrubProgress
from engine.scrub.segment_check import Problem, SegmentCheck
from engine.scrub.small_files import small_file_problems
from engine.segment import Segment

JOURNAL_PROBLEM = "a frame of the journal is not as it was written"


def unreadable(error: OSError) -> str:
    """What to say of a file that cannot be read."""
    return f"it cannot be read: {error.strerror or error}"


class Step(Protocol):
    """Runs in a thread; what it found is taken in on the loop."""

    size_bytes: int

    def run(self) -> None:
        """[thread] Raises OSError."""


@define(eq=False)
class SegmentStep:
    """The next batches of a segment."""

    place: Place
    segment: Segment
    file: File
    limit: int
    budget_bytes: int
    check: SegmentCheck
    end_offset: int | None
    """Where the segment must end, if it is known: where the next one begins."""
    problems: list[Problem] = field(factory=list, init=False)
    after: SegmentCheck = field(init=False)
    size_bytes: int = field(default=0, init=False)

    def run(self) -> None:
        """[thread]"""
        check = self.after = evolve(self.check)
        descriptor, start = self.file.fileno(), check.position
        size = min(self.budget_bytes, self.limit - start)
        is_cold = descriptor is not None and size > 0 and not is_resident(descriptor, start, size)
        try:
            self.problems = check.look(self.file, self.limit, self.budget_bytes)
        except OSError as error:
            self.problems = [Problem(check.position, check.next_offset, unreadable(error))]
            check.is_broken = True
        self.size_bytes = check.position - start
        if is_cold and descriptor is not None:
            # What nobody had asked for shall not push out what others do.
            let_go(descriptor, start, max(self.size_bytes, size))
        is_at_end = check.position == self.limit and self.end_offset is not None and not check.gaps_allowed
        if is_at_end and check.next_offset != self.end_offset:
            text = f"the segment ends at offset {check.next_offset}, the next begins at {self.end_offset}"
            self.problems.append(Problem(check.position, check.next_offset, text))

    @property
    def is_last(self) -> bool:
        """Whether nothing of the segment is left to look at."""
        return self.after.is_broken or self.after.position >= self.limit

    @property
    def cursor(self) -> Cursor:
        """Where to go on."""
        return Cursor(self.place, self.segment.base_offset, self.after.position, self.after.next_offset)


@define(eq=False)
class SmallFilesStep:
    """The small files beside a log's segments."""

    place: Place
    files: Files
    directory: str
    problems: Mapping[str, Problem] = field(factory=dict, init=False)
    size_bytes: int = field(default=0, init=False)

    def run(self) -> None:
        """[thread]"""
        self.problems = small_file_problems(self.files, self.directory)
        # Twice: they are replaced while one looks, and what is damaged stays so.
        if self.problems:
            again = small_file_problems(self.files, self.directory)
            self.problems = {path: problem for path, problem in again.items() if path in self.problems}
        names = self.files.list(self.directory)
        self.size_bytes = sum(size for name, size in names.items() if not name.endswith((".log", ".index")))


@define(eq=False)
class JournalStep:
    """A slot of the journal."""

    files: Files
    extent: SlotExtent
    problem: Problem | None = field(default=None, init=False)
    size_bytes: int = field(default=0, init=False)

    def run(self) -> None:
        """[thread]"""
        try:
            at = damaged_at(self.files, self.extent)
            if at is not None:
                self.problem = Problem(at, -1, JOURNAL_PROBLEM)
        except OSError as error:
            self.problem = Problem(0, -1, unreadable(error))
        self.size_bytes = self.files.list(os.path.dirname(self.extent.path)).get(os.path.basename(self.extent.path), 0)


@frozen
class OtherFile:
    """Something else that can be looked at: `problem` runs in a thread and tells what is wrong."""

    path: str
    problem: Callable[[], str | None]


@define(eq=False)
class OtherStep:
    """A file that knows itself whether it is sound."""

    other: OtherFile
    problem: str | None = field(default=None, init=False)
    size_bytes: int = field(default=0, init=False)

    def run(self) -> None:
        """[thread]"""
        self.problem = self.other.problem()


@define(eq=False)
class MissingStep:
    """Which of the files that are known to be damaged are gone."""

    files: Files
    damages: Sequence[Damage]
    gone: set[str] = field(factory=set, init=False)
    size_bytes: int = field(default=0, init=False)

    def run(self) -> None:
        """[thread]"""
        for path in {damage.file for damage in self.damages}:
            directory, name = os.path.split(path)
            if name not in self.files.list(directory) and name not in self.files.list_directories(directory):
                self.gone.add(path)


@define(eq=False)
class SaveStep:
    """How far the scrubber is."""

    files: Files
    data_dir: str
    progress: ScrubProgress
    size_bytes: int = field(default=0, init=False)

    def run(self) -> None:
        """[thread]"""
        self.progress.write(self.files, self.data_dir)
