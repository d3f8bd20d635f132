"""A model of etcd: entries with revisions that all nodes share, their history, and leases by the simulation's clock.

It is one store, as etcd is one by its consensus. It can be down, and it can change its leader: then nobody is answered
for a while, and every lease begins anew at its full length. What a node sees of it is in `etcd_catalogue.py`.
"""

import itertools
import random
import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence

import trio
from attrs import define, field

from engine.catalogue.catalogue import CatalogueConflict, Commit, Delete, Entry, Event, Put, check_commit
from engine.catalogue.etcd.gateway import EtcdRefusal
from tests.simulation.running import sleep

EXPIRY_CHECK_S = 0.25
"""So often leases are looked at; etcd does so twice a second."""
NOT_FOUND = 5
"""gRPC's code."""


@define(eq=False)
class _Lease:
    ttl_s: float
    ends_at: float
    keys: dict[str, None] = field(factory=dict)


@define(eq=False)
class LateCommit:
    """A commit whose answer was lost, and which takes effect later, if its writer does not fence it off before."""

    commit: Commit
    lease: int
    due_s: float
    is_fenced: bool = False


@define(eq=False)
class SimulatedEtcd:
    """See the module."""

    chance: random.Random
    now: Callable[[], float] = trio.current_time
    revision: int = 1
    compacted: int = 0
    """Up to which revision the history was thrown away."""
    is_down: bool = False
    on_revision: list[Callable[[int], object]] = field(factory=list)
    _entries: dict[str, Entry] = field(factory=dict, init=False)
    _history: list[Event] = field(factory=list, init=False)
    _leases: dict[int, _Lease] = field(factory=dict, init=False)
    _lease_numbers: "itertools.count[int]" = field(factory=lambda: itertools.count(1), init=False)
    _late: list[LateCommit] = field(factory=list, init=False)
    _elected_at: float = field(default=float("-inf"), init=False)
    _lock: threading.RLock = field(factory=threading.RLock, init=False)

    # -- faults

    @property
    def answers(self) -> bool:
        """Whether there is a leader."""
        return not self.is_down and self.now() >= self._elected_at

    def change_leader(self, takes_s: float) -> None:
        """Nobody is answered meanwhile; then all leases have their full length."""
        self._elected_at = max(self._elected_at, self.now() + takes_s)
        for lease in self._leases.values():
            lease.ends_at = self._elected_at + lease.ttl_s

    def go_down(self) -> None:
        """All of it."""
        self.is_down = True

    def come_up(self, takes_s: float) -> None:
        """It elects a leader first."""
        self.is_down = False
        self.change_leader(takes_s)

    def compact(self) -> None:
        """Forget the history up to now."""
        with self._lock:
            self.compacted = self.revision
            self._history = []

    # -- entries

    def get(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def entries(self, prefix: str) -> tuple[int, Sequence[Entry]]:
        with self._lock:
            return self.revision, [self._entries[key] for key in sorted(self._entries) if key.startswith(prefix)]

    def commit(self, commit: Commit, lease: int = 0) -> int:
        """The new revision."""
        check_commit(commit)
        with self._lock:
            for compare in commit.compares:
                entry = self._entries.get(compare.key)
                if (entry.revision if entry else 0) != compare.revision:
                    raise CatalogueConflict(f"{compare.key} was changed meanwhile")
            if lease not in self._leases and any(isinstance(each, Put) and each.ephemeral for each in commit.changes):
                raise EtcdRefusal("etcd: requested lease not found", NOT_FOUND)
            if commit.changes:
                self._take(commit.changes, lease)
            return self.revision

    def commit_later(self, late: LateCommit) -> None:
        """Have it take effect when it is due, if nothing has come in between."""
        self._late.append(late)

    def events(self, after: int, until: int) -> Sequence[Event]:
        """What the revisions after the one have changed, up to the other."""
        with self._lock:
            start = bisect_right(self._history, after, key=_revision)
            return self._history[start : bisect_right(self._history, until, key=_revision)]

    def _take(self, changes: Sequence[Put | Delete], lease: int = 0) -> None:
        self.revision += 1
        for change in changes:
            had = self._entries.pop(change.key, None)
            for each in self._leases.values():
                each.keys.pop(change.key, None)
            if isinstance(change, Put):
                self._entries[change.key] = Entry(change.key, change.value, self.revision)
                self._history.append(Event(self.revision, change.key, change.value))
                if change.ephemeral:
                    self._leases[lease].keys[change.key] = None
            elif had is not None:
                self._history.append(Event(self.revision, change.key, None))
        for tell in tuple(self.on_revision):
            tell(self.revision)

    # -- leases

    def grant(self, ttl_s: float) -> int:
        """A new lease."""
        lease = next(self._lease_numbers)
        self._leases[lease] = _Lease(ttl_s, self.now() + ttl_s)
        return lease

    def keep_alive(self, number: int) -> bool:
        """Whether there still is such a lease; it begins anew."""
        lease = self._leases.get(number)
        if lease is not None:
            lease.ends_at = self.now() + lease.ttl_s
        return lease is not None

    def revoke(self, number: int) -> None:
        """End it, with all that was put under it."""
        with self._lock:
            lease = self._leases.pop(number, None)
            if lease is not None and lease.keys:
                self._take([Delete(key) for key in lease.keys])

    async def live(self) -> None:
        """End leases whose time is up, and let late commits take effect."""
        while True:
            await sleep(EXPIRY_CHECK_S * (0.5 + self.chance.random()))
            if self.answers:
                self._look()

    def _look(self) -> None:
        now = self.now()
        for number in [number for number, lease in self._leases.items() if lease.ends_at <= now]:
            self.revoke(number)
        due = [late for late in self._late if late.due_s <= now]
        self._late = [late for late in self._late if late.due_s > now]
        for late in due:
            if not late.is_fenced:
                try:
                    self.commit(late.commit, late.lease)
                except (CatalogueConflict, EtcdRefusal):
                    continue


def _revision(event: Event) -> int:
    return event.revision
