"""The catalogue as one life of a node sees it: over a network that may be cut, with a session under a lease of etcd's
model, and watches that lag behind.

The promises are those of `engine/catalogue/etcd/catalogue.py`. A commit happens once. One whose answer is lost may have
happened, may happen later, or never (`EtcdUnavailable`); the writer's next commit fences it off.
"""

import random
from collections.abc import Callable, Sequence

import trio
from attrs import define, field

from engine.catalogue.catalogue import CatalogueCompacted, Commit, Entry, Event, OnNews
from engine.catalogue.etcd.gateway import EtcdRefusal, EtcdUnavailable
from engine.catalogue.watch import CommitSignal
from tests.simulation.etcd import LateCommit, SimulatedEtcd
from tests.simulation.running import sleep

TTL_S = 2.0
KEEPALIVES_S = 0.3
LATEST_EFFECT_S = 1.0
LONGEST_CALL, ATTEMPTS_S = 20, 0.05
"""So often a call asks an etcd that does not answer, and how long it waits in between."""
LOST_ANSWERS = 0.01
"""The share of commits whose answers are lost although nothing is cut."""
QUICK_LAG_S = 0.002
SLOW_LAG_S = 0.15
SLOW_LAGS = 0.05


@define(eq=False)
class SimulatedSession:
    """A lease, and what is known of it here."""

    etcd: SimulatedEtcd
    reaches: Callable[[], bool]
    lease: int = field(default=0, init=False)
    _confirmed_at: float = field(default=float("-inf"), init=False)

    @property
    def duration_s(self) -> float:
        return TTL_S

    def open(self) -> None:
        if not self.lease:
            check_reachable(self.reaches())
            self.lease = self.etcd.grant(TTL_S)
            self._confirmed_at = self.etcd.now()

    @property
    def is_lost(self) -> bool:
        return not self.lease

    def silent_s(self) -> float:
        return self.etcd.now() - self._confirmed_at

    def close(self) -> None:
        lease, self.lease = self.lease, 0
        if self.reaches():
            self.etcd.revoke(lease)

    async def keep_alive(self) -> None:
        """As long as the node lives."""
        while True:
            await sleep(KEEPALIVES_S)
            # It was sent before the answer came, and counts from then on.
            asked_at, lease = self.etcd.now(), self.lease
            if lease and self.reaches():
                if self.etcd.keep_alive(lease):
                    self._confirmed_at = asked_at
                else:
                    self.lease = 0


@define(eq=False)
class SimulatedCatalogue:
    """See the module. Calls come from workers, which wait before (`wait`): a call itself takes no time."""

    etcd: SimulatedEtcd
    chance: random.Random
    sends: Callable[[], bool] = lambda: True
    """Whether what is asked gets to etcd,"""
    hears: Callable[[], bool] = lambda: True
    """and whether its answers come back."""
    lag: bool = True
    session: SimulatedSession = field(init=False)
    _signal: CommitSignal = field(init=False)
    _watches: list["SimulatedWatch"] = field(factory=list, init=False)
    _late: LateCommit | None = field(default=None, init=False)
    _news: trio.Event = field(factory=trio.Event, init=False)
    _told: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.session = SimulatedSession(self.etcd, self.reaches)
        self._told = self.etcd.revision
        self._signal = CommitSignal(self._told)
        self.etcd.on_revision.append(self._committed)

    def reaches(self) -> bool:
        """Whether etcd answers."""
        return self.etcd.answers and self.sends() and self.hears()

    async def wait(self) -> None:
        """What a call does while nobody answers: it tries, and gives up after a while."""
        for _ in range(self.chance.randrange(LONGEST_CALL)):
            if self.reaches():
                return
            await sleep(ATTEMPTS_S)

    # -- reading

    def revision(self) -> int:
        check_reachable(self.reaches())
        return self.etcd.revision

    def get(self, key: str) -> Entry | None:
        check_reachable(self.reaches())
        return self.etcd.get(key)

    def entries(self, prefix: str) -> tuple[int, Sequence[Entry]]:
        check_reachable(self.reaches())
        return self.etcd.entries(prefix)

    # -- committing

    def commit(self, commit: Commit) -> int:
        if self.sends() and self.etcd.answers:
            self._fence()
        else:
            # It may come through yet, when somebody leads again.
            if self.sends() and not self.etcd.is_down and self.chance.random() < 0.5:
                self._leave(commit)
            check_reachable(False)
        if not self.hears() or (self.lag and commit.changes and self.chance.random() < LOST_ANSWERS):
            fate = self.chance.randrange(3)
            if fate == 1:
                self.etcd.commit(commit, self.session.lease)
            elif fate == 2:
                self._leave(commit)
            check_reachable(False)
        try:
            return self.etcd.commit(commit, self.session.lease)
        except EtcdRefusal:
            self.session.lease = 0
            raise

    def _leave(self, commit: Commit) -> None:
        due_s = self.etcd.now() + self.chance.random() * LATEST_EFFECT_S
        self._late = LateCommit(commit, self.session.lease, due_s)
        self.etcd.commit_later(self._late)

    def _fence(self) -> None:
        if self._late is not None:
            self._late.is_fenced, self._late = True, None

    # -- watching

    def watch(self, after_revision: int, prefix: str = "", on_news: OnNews | None = None) -> "SimulatedWatch":
        watch = SimulatedWatch(self, prefix, after_revision, on_news)
        self._watches.append(watch)
        return watch

    def _committed(self, revision: int) -> None:
        if self.lag:
            self._news.set()
        else:
            self._deliver(revision)

    async def deliver(self) -> None:
        """Tell the watches of revisions, each some time after it was committed, as long as the node lives."""
        while True:
            if self._told == self.etcd.revision:
                self._news = trio.Event()
                await self._news.wait()
            revision = self.etcd.revision
            longest_s = SLOW_LAG_S if self.chance.random() < SLOW_LAGS else QUICK_LAG_S
            await sleep(self.chance.random() * longest_s)
            while not self.reaches():
                for watch in self._watches:
                    watch.is_cut_off = True
                await sleep(0.05)
                revision = self.etcd.revision
            self._deliver(revision)

    def _deliver(self, revision: int) -> None:
        self._told = revision
        self._signal.committed(revision)
        for watch in self._watches:
            if watch.on_news is not None:
                watch.on_news()

    def wait_past(self, revision: int, ended: Callable[[], bool], timeout_s: float) -> int:
        """[thread] The revision that watches may know of."""
        return self._signal.wait_past(revision, ended, timeout_s)

    def unwatch(self, watch: "SimulatedWatch") -> None:
        """[thread]"""
        if watch in self._watches:
            self._watches.remove(watch)
        self._signal.wake()

    def close(self) -> None:
        """Nothing more is told here."""
        self.session.close()
        self.forget()

    def forget(self) -> None:
        """The node is no more, and nobody could be told."""
        if self._committed in self.etcd.on_revision:
            self.etcd.on_revision.remove(self._committed)


@define(eq=False)
class SimulatedWatch:
    """Changes as far as this node was told of them."""

    catalogue: SimulatedCatalogue
    prefix: str
    reached: int
    on_news: OnNews | None
    is_cut_off: bool = False
    """It has to begin anew where it was."""
    _is_closed: bool = field(default=False, init=False)

    def next(self, timeout_s: float) -> Sequence[Event]:
        known = self.catalogue.wait_past(self.reached, lambda: self._is_closed, timeout_s)
        if self._is_closed:
            return ()
        if self.is_cut_off:
            check_reachable(self.catalogue.reaches())
            self.is_cut_off = False
        etcd = self.catalogue.etcd
        if self.reached < etcd.compacted and known > self.reached:
            raise CatalogueCompacted(f"changes after revision {self.reached} are no longer kept")
        events = etcd.events(self.reached, known)
        self.reached = max(self.reached, known)
        return [event for event in events if event.key.startswith(self.prefix)]

    def close(self) -> None:
        self._is_closed = True
        self.catalogue.unwatch(self)


def check_reachable(reaches: bool) -> None:
    """Raise what whoever asks is told where nobody answers."""
    if not reaches:
        raise EtcdUnavailable("no etcd answers (simulated)")
