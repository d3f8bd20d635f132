"""Watching a catalogue that lives in this process: waiting for commits, and reading what they changed."""

import threading
from collections.abc import Callable, Sequence

from attrs import define, field

from engine.catalogue.catalogue import Event

ReadEvents = Callable[[int, str], Sequence[Event]]


@define(eq=False)
class CommitSignal:
    """Wakes whoever waits for a revision."""

    _revision: int = 0
    _condition: threading.Condition = field(factory=threading.Condition, init=False)

    def committed(self, revision: int) -> None:
        with self._condition:
            self._revision = revision
            self._condition.notify_all()

    def wake(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def wait_past(self, revision: int, ended: Callable[[], bool], timeout_s: float) -> int:
        """The revision reached when it passed that one, the watch ended or the time was up."""
        with self._condition:
            self._condition.wait_for(lambda: self._revision > revision or ended(), timeout_s)
            return self._revision


@define(eq=False)
class LocalWatch:
    """A watch that reads events from where the catalogue keeps them."""

    _read: ReadEvents
    _signal: CommitSignal
    _prefix: str
    _seen_revision: int
    _closed: bool = field(default=False, init=False)

    def next(self, timeout_s: float) -> Sequence[Event]:
        reached = self._signal.wait_past(self._seen_revision, lambda: self._closed, timeout_s)
        if self._closed:
            return ()
        events = self._read(self._seen_revision, "")
        # A revision may leave no event (it deleted what was not there), and reading may see a newer one.
        self._seen_revision = max([self._seen_revision, reached, *(event.revision for event in events[-1:])])
        return [event for event in events if event.key.startswith(self._prefix)]

    def close(self) -> None:
        self._closed = True
        self._signal.wake()
