"""Watching a catalogue that lives in this process: waiting for commits, and reading what they changed."""

import threading
from collections.abc import Callable, Sequence

from attrs import define, field

from engine.catalogue.catalogue import Event, OnNews

ReadEvents = Callable[[int, str], Sequence[Event]]


@define(eq=False)
class CommitSignal:
    """Wakes whoever waits for a revision."""

    _revision: int = 0
    _condition: threading.Condition = field(factory=threading.Condition, init=False)
    _listeners: list[OnNews] = field(factory=list, init=False)

    def committed(self, revision: int) -> None:
        with self._condition:
            self._revision = revision
            self._condition.notify_all()
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener()

    def listen(self, listener: OnNews) -> None:
        """Tell it of every commit."""
        with self._condition:
            self._listeners.append(listener)

    def unlisten(self, listener: OnNews) -> None:
        with self._condition:
            self._listeners.remove(listener)

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
    _on_news: OnNews | None = None
    _closed: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        if self._on_news is not None:
            self._signal.listen(self._on_news)

    def next(self, timeout_s: float) -> Sequence[Event]:
        reached = self._signal.wait_past(self._seen_revision, lambda: self._closed, timeout_s)
        if self._closed:
            return ()
        events = self._read(self._seen_revision, "")
        # A revision may leave no event (it deleted what was not there), and reading may see a newer one.
        self._seen_revision = max([self._seen_revision, reached, *(event.revision for event in events[-1:])])
        return [event for event in events if event.key.startswith(self._prefix)]

    @property
    def reached(self) -> int:
        return self._seen_revision

    def close(self) -> None:
        if self._on_news is not None and not self._closed:
            self._signal.unlisten(self._on_news)
        self._closed = True
        self._signal.wake()
