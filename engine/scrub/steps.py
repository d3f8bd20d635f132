"""What the scrubber has a thread do: a little at a time, nothing of it changes anything but its own notes.

Plain classes, for every broker loads them at its start, and most never need them for long.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import NamedTuple, Protocol

from engine.damage import Damage
from engine.files.files import File, Files
from engine.files.page_cache import is_resident, let_go
from engine.journal.format import SlotExtent, damaged_at
from engine.log.segment import Segment
from engine.scrub.progress import Cursor, ScrubPlace, ScrubProgress
from engine.scrub.segment_check import FileFault, SegmentCheck
from engine.scrub.small_files import is_small_file, small_file_problems

JOURNAL_PROBLEM = "a frame of the journal is not as it was written"


def unreadable(error: OSError) -> str:
    """What to say of a file that cannot be read."""
    return f"it cannot be read: {error.strerror or error}"


class ScrubStep(Protocol):
    """Runs in a thread; what it found is taken in on the loop."""

    size_bytes: int

    def run(self) -> None:
        """[thread] Raises OSError."""


class SegmentStep:
    """The next batches of a segment. `end_offset` is where it must end, if that is known: where the next one begins."""

    def __init__(
        self,
        place: ScrubPlace,
        segment: Segment,
        file: File,
        limit: int,
        budget_bytes: int,
        check: SegmentCheck,
        end_offset: int | None,
    ) -> None:
        self.place = place
        self.segment = segment
        self.file = file
        self.limit = limit
        self.check = check
        self.after = check
        self.problems: list[FileFault] = []
        self.size_bytes = 0
        self._budget_bytes = budget_bytes
        self._end_offset = end_offset

    def run(self) -> None:
        """[thread]"""
        check = self.after = copy(self.check)
        descriptor, start = self.file.fileno(), check.position
        size = min(self._budget_bytes, self.limit - start)
        is_cold = descriptor is not None and size > 0 and not is_resident(descriptor, start, size)
        try:
            self.problems = check.look(self.file, self.limit, self._budget_bytes)
        except OSError as error:
            self.problems = [FileFault(check.position, check.next_offset, unreadable(error))]
            check.is_broken = True
        self.size_bytes = check.position - start
        if is_cold and descriptor is not None:
            # What nobody had asked for shall not push out what others do.
            let_go(descriptor, start, max(self.size_bytes, size))
        is_at_end = check.position == self.limit and self._end_offset is not None and not check.gaps_allowed
        if is_at_end and check.next_offset != self._end_offset:
            text = f"the segment ends at offset {check.next_offset}, the next begins at {self._end_offset}"
            self.problems.append(FileFault(check.position, check.next_offset, text))

    @property
    def is_last(self) -> bool:
        """Whether nothing of the segment is left to look at."""
        return self.after.is_broken or self.after.position >= self.limit

    @property
    def cursor(self) -> Cursor:
        """Where to go on."""
        return Cursor(self.place, self.segment.base_offset, self.after.position, self.after.next_offset)


class SmallFilesStep:
    """The small files beside a log's segments."""

    def __init__(self, files: Files, directory: str) -> None:
        self.directory = directory
        self.problems: Mapping[str, FileFault] = {}
        self.size_bytes = 0
        self._files = files

    def run(self) -> None:
        """[thread]"""
        self.problems = small_file_problems(self._files, self.directory)
        # Twice: they are replaced while one looks, and what is damaged stays so.
        if self.problems:
            again = small_file_problems(self._files, self.directory)
            self.problems = {path: problem for path, problem in again.items() if path in self.problems}
        names = self._files.list(self.directory)
        self.size_bytes = sum(size for name, size in names.items() if is_small_file(name))


class JournalStep:
    """A slot of the journal."""

    def __init__(self, files: Files, extent: SlotExtent) -> None:
        self.extent = extent
        self.problem: FileFault | None = None
        self.size_bytes = 0
        self._files = files

    def run(self) -> None:
        """[thread]"""
        try:
            at = damaged_at(self._files, self.extent)
            if at is not None:
                self.problem = FileFault(at, -1, JOURNAL_PROBLEM)
        except OSError as error:
            self.problem = FileFault(0, -1, unreadable(error))
        directory, name = os.path.split(self.extent.path)
        self.size_bytes = self._files.list(directory).get(name, 0)


class OtherFile(NamedTuple):
    """Something else that can be looked at: `problem` runs in a thread and tells what is wrong."""

    path: str
    problem: Callable[[], str | None]


class OtherStep:
    """A file that knows itself whether it is sound."""

    size_bytes = 0

    def __init__(self, other: OtherFile) -> None:
        self.problem: str | None = None
        self._other = other

    def run(self) -> None:
        """[thread]"""
        self.problem = self._other.problem()


class MissingStep:
    """Which of the files that are known to be damaged are gone."""

    size_bytes = 0

    def __init__(self, files: Files, damages: Sequence[Damage]) -> None:
        self.gone: set[str] = set()
        self._files = files
        self._damages = damages

    def run(self) -> None:
        """[thread]"""
        for path in {damage.file for damage in self._damages}:
            directory, name = os.path.split(path)
            if name not in self._files.list(directory) and name not in self._files.list_directories(directory):
                self.gone.add(path)


class SaveStep:
    """How far the scrubber is."""

    size_bytes = 0

    def __init__(self, files: Files, data_dir: str, progress: ScrubProgress) -> None:
        self._files = files
        self._data_dir = data_dir
        self._progress = progress

    def run(self) -> None:
        """[thread]"""
        self._progress.write(self._files, self._data_dir)
