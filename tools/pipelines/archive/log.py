"""The log of an archive on its storage: entries are committed here, and committed files put in their places.

    _log/00000000000000000007.json      entry 7
    _log/00000000000000000050.state     what the entries up to 50 add up to
    _staging/7-RUN/...                  files of a commit that is not done
    topic=T/date=D/hour=H/*.parquet     files of the archive

A commit is write-ahead: the entry is published first, in one step, and names files that still lie in the staging
folder; then they are moved. Who is interrupted in between leaves a commit whose moves the next writer finishes. So the
folders never show a record that is not committed, and an appended one never twice; what is not yet moved is the only
thing that can be missing, for a moment.
"""

import uuid

from tools.pipelines.archive.entries import ArchiveDamaged, Entry, State
from tools.pipelines.options import PipelineError
from tools.pipelines.storage import Storage

LOG, STAGING = "_log", "_staging"
SNAPSHOT_EVERY = 50


class Overtaken(PipelineError):
    """Another writer has committed to the archive meanwhile."""


class ArchiveLog:
    """The log in a folder. A reader only looks; a writer first finishes what another left undone."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.run = uuid.uuid4().hex[:12]
        self.state, self._last = self._load()

    def staging(self, number: int) -> str:
        """Where the files of a commit of ours are written first."""
        return f"{STAGING}/{number}-{self.run}"

    def recover(self) -> None:
        """Finish the last commit if its writer could not, and forget attempts that can no longer be committed."""
        if self._last is not None:
            self._settle(self._last)
        self._sweep()

    def _sweep(self) -> None:
        for name in self.storage.names(STAGING):
            if int(name.partition("-")[0]) <= self.state.number:
                self.storage.delete(f"{STAGING}/{name}")

    def commit(self, entry: Entry) -> None:
        """Make an entry part of the archive."""
        state = self.state.apply(entry)
        if not self.storage.publish(_entry_name(entry.number), entry.to_text(), self.run):
            self.storage.delete(self.staging(entry.number))
            raise Overtaken(
                f"entry {entry.number} of {self.storage.root} was committed by somebody else: "
                "only one may write to an archive at a time; start again to go on from there"
            )
        self.state, self._last = state, entry
        self._settle(entry)
        self._sweep()
        if (entry.number + 1) % SNAPSHOT_EVERY == 0:
            self.storage.publish(_snapshot_name(entry.number), state.to_text(), self.run)

    def entries(self) -> list[Entry]:
        """All entries from the beginning, for who wants to know how the archive came about."""
        return [self._entry(number) for number in range(self.state.number + 1)]

    def _settle(self, entry: Entry) -> None:
        for file in entry.add:
            if self.storage.exists(file.staged):
                self.storage.move(file.staged, file.path)
            elif not self.storage.exists(file.path):
                raise ArchiveDamaged(f"{file.path} was committed by entry {entry.number} and is gone")
        for path in entry.remove:
            self.storage.delete(path)
        self.storage.delete(f"{STAGING}/{entry.number}-{entry.run}")

    def _load(self) -> tuple[State, Entry | None]:
        names = self.storage.names(LOG)
        numbers = sorted(int(name.removesuffix(".json")) for name in names if name.endswith(".json") and name[0] != ".")
        snapshots = sorted(
            int(name.removesuffix(".state")) for name in names if name.endswith(".state") and name[0] != "."
        )
        state = State()
        if snapshots:
            name = _snapshot_name(snapshots[-1])
            state = State.from_text(name, self.storage.read(name))
        last = None
        for number in numbers:
            if number > state.number:
                last = self._entry(number)
                state = state.apply(last)
        if last is None and state.number >= 0:
            last = self._entry(state.number)
        return state, last

    def _entry(self, number: int) -> Entry:
        name = _entry_name(number)
        return Entry.from_text(name, self.storage.read(name))


def _entry_name(number: int) -> str:
    return f"{LOG}/{number:020d}.json"


def _snapshot_name(number: int) -> str:
    return f"{LOG}/{number:020d}.state"
