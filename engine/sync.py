"""Sync rounds: group commit over all partitions that were written.

Every append marks its partition. A round takes what is marked and hands each partition's dirty files to
the sync threads; partitions sync in parallel, and appends that arrive while a partition's sync is under way
go into its next one. So the cost of a sync is shared by whatever was written meanwhile.
"""

from collections.abc import Callable
from typing import Protocol

from engine.workers import Workers


class SyncTicket(Protocol):
    """What was dirty at one moment, ready to be synced in a thread."""

    def run(self) -> None:
        """Sync files and directories; raises OSError."""


class Syncable(Protocol):
    """Something that is written and must be made durable."""

    def capture_sync(self) -> SyncTicket:
        """What is dirty now."""

    def synced(self, ticket: SyncTicket) -> None:
        """All of the ticket is durable."""

    def sync_failed(self, error: BaseException) -> None:
        """The kernel may have dropped what was written; nothing of it may be trusted."""


class SyncRounds:
    """Marks, rounds, and at most one sync under way per partition."""

    def __init__(self, workers: Workers, on_marked: Callable[[], object]) -> None:
        self._workers = workers
        self._on_marked = on_marked
        self._marked: dict[Syncable, None] = {}
        self._under_way: set[Syncable] = set()
        self._rounds = 0
        self._syncs = 0
        self._failures = 0

    def mark(self, item: Syncable) -> None:
        """`item` was written: it takes part in the next round."""
        if item in self._marked:
            return
        self._marked[item] = None
        if item not in self._under_way:
            self._on_marked()

    def start_round(self) -> None:
        """Begin syncing everything marked that is not being synced already."""
        ready = [item for item in self._marked if item not in self._under_way]
        if ready:
            self._rounds += 1
        for item in ready:
            del self._marked[item]
            self._begin(item)

    def _begin(self, item: Syncable) -> None:
        ticket = item.capture_sync()
        self._under_way.add(item)
        self._syncs += 1

        def done(_: object, error: BaseException | None) -> None:
            self._under_way.discard(item)
            if error is None:
                item.synced(ticket)
            else:
                self._failures += 1
                self._marked.pop(item, None)
                item.sync_failed(error)
            if item in self._marked and item not in self._under_way:
                del self._marked[item]
                self._begin(item)

        self._workers.submit(ticket.run, done)

    def idle(self) -> bool:
        """Nothing marked and nothing under way."""
        return not self._marked and not self._under_way

    def statistics(self) -> dict[str, int]:
        """Rounds, syncs, failures, and what is under way."""
        return {
            "rounds": self._rounds,
            "syncs": self._syncs,
            "failures": self._failures,
            "marked": len(self._marked),
            "under_way": len(self._under_way),
        }
