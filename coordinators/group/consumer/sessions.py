"""The timers of members that the broker assigns to: sessions, and how long giving back may take.

All of it is soft: after a load every member has a new session. A sign of life moves a deadline; the timer looks
whether it has passed only when it fires, so a heartbeat costs one assignment.
"""

import math
from collections.abc import Callable
from typing import Any

from attrs import define, field

from coordinators.state_machine import ShardTimers, Verdict
from engine.clock import Clock

Key = tuple[str, str]


@define(eq=False)
class ConsumerSessions:
    """Deadlines by group and member."""

    clock: Clock
    timers: ShardTimers[Any]
    # What follows when a session is over, or when a member did not give back in time; the last is its epoch.
    expired: Callable[[str, str], Verdict[Any]]
    overdue: Callable[[str, str, int], Verdict[Any]]
    # Of which groups: timers of different kinds stand apart.
    kind: str = "consumer"
    _deadlines: dict[Key, float] = field(factory=dict)
    # When the timer looks.
    _looked_at: dict[Key, float] = field(factory=dict)
    _expected: set[Key] = field(factory=set)

    def __len__(self) -> int:
        """How many members there are."""
        return len(self._deadlines)

    def touch(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """A sign of life."""
        key = (group_id, member_id)
        deadline = self._deadlines[key] = self.clock.monotonic() + timeout_ms / 1000
        if deadline < self._looked_at.get(key, math.inf):
            # It is new, or its sessions have become shorter.
            self._watch(key)

    def _watch(self, key: Key) -> None:
        def over(_: object) -> Verdict[Any]:
            if self.clock.monotonic() < self._deadlines[key]:
                self._watch(key)
                return Verdict()
            del self._deadlines[key]
            del self._looked_at[key]
            return self.expired(*key)

        self._looked_at[key] = self._deadlines[key]
        self.timers.set((f"{self.kind} session", *key), (self._deadlines[key] - self.clock.monotonic()) * 1000, over)

    def expect_revocation(self, group_id: str, member_id: str, epoch: int, timeout_ms: int) -> None:
        """The member was told to give partitions back, or to join again."""
        key = (group_id, member_id)

        def over(_: object) -> Verdict[Any]:
            self._expected.discard(key)
            return self.overdue(group_id, member_id, epoch)

        self._expected.add(key)
        self.timers.set((f"{self.kind} revocation", *key), timeout_ms, over)

    def is_expected(self, group_id: str, member_id: str) -> bool:
        """Whether it was told so, and has not done it yet."""
        return (group_id, member_id) in self._expected

    def revoked(self, group_id: str, member_id: str) -> None:
        """It did."""
        self._expected.discard((group_id, member_id))
        self.timers.cancel((f"{self.kind} revocation", group_id, member_id))

    def forget(self, group_id: str, member_id: str) -> None:
        """The member is gone."""
        self._deadlines.pop((group_id, member_id), None)
        self._looked_at.pop((group_id, member_id), None)
        self.timers.cancel((f"{self.kind} session", group_id, member_id))
        self.revoked(group_id, member_id)
