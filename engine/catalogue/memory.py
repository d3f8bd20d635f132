"""A catalogue in memory: for tests and simulations, and the plainest reading of the interface."""

import threading
from collections.abc import Sequence

from attrs import define, field

from engine.catalogue.catalogue import (
    LASTING,
    CatalogueConflict,
    Commit,
    Delete,
    Entry,
    Event,
    Lasting,
    OnNews,
    Put,
    check_commit,
)
from engine.catalogue.watch import CommitSignal, LocalWatch


@define(eq=False)
class MemoryCatalogue:
    """Keeps everything, history too, and nothing beyond the process."""

    _entries: dict[str, Entry] = field(factory=dict, init=False)
    _history: list[Event] = field(factory=list, init=False)
    _revision: int = field(default=0, init=False)
    _lock: threading.RLock = field(factory=threading.RLock, init=False)
    _signal: CommitSignal = field(factory=CommitSignal, init=False)

    def revision(self) -> int:
        return self._revision

    def get(self, key: str) -> Entry | None:
        with self._lock:
            return self._entries.get(key)

    def entries(self, prefix: str) -> tuple[int, Sequence[Entry]]:
        with self._lock:
            found = [entry for key, entry in sorted(self._entries.items()) if key.startswith(prefix)]
            return self._revision, found

    def commit(self, commit: Commit) -> int:
        check_commit(commit)
        with self._lock:
            self._compare(commit)
            if not commit.changes:
                return self._revision
            self._revision += 1
            for change in commit.changes:
                self._change(change)
            self._signal.committed(self._revision)
            return self._revision

    def watch(self, after_revision: int, prefix: str = "", on_news: OnNews | None = None) -> LocalWatch:
        return LocalWatch(self._events, self._signal, prefix, after_revision, on_news)

    @property
    def session(self) -> Lasting:
        return LASTING

    def close(self) -> None:
        pass

    def _compare(self, commit: Commit) -> None:
        for compare in commit.compares:
            entry = self._entries.get(compare.key)
            if (entry.revision if entry else 0) != compare.revision:
                raise CatalogueConflict(f"{compare.key} was changed meanwhile")

    def _change(self, change: Put | Delete) -> None:
        if isinstance(change, Put):
            self._entries[change.key] = Entry(change.key, change.value, self._revision)
            self._history.append(Event(self._revision, change.key, change.value))
        elif self._entries.pop(change.key, None) is not None:
            self._history.append(Event(self._revision, change.key, None))

    def _events(self, after_revision: int, prefix: str) -> Sequence[Event]:
        with self._lock:
            newer = [event for event in self._history if event.revision > after_revision]
            return [event for event in newer if event.key.startswith(prefix)]
