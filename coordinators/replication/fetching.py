"""The follower's side of replication: one fetcher for each node that leads something which lies here.

A fetcher keeps a connection and a session with its leader (coordinators/replication/ports.py). It names a log when it
is new, and again each time that more of it is durable here; so the offset that it names means "durable up to here".
While one fetch waits at the leader a second one may follow it with news, and the first is answered then.

What a leader says of a log is carried out in coordinators/replication/following.py. Everything belongs to one leader
epoch: when a row brings another, the log is named anew, and what is still under way for the old one comes to nothing.
"""

import logging
from collections.abc import Callable
from typing import Protocol

import trio
from attrs import define, field

from coordinators.cluster.nodes import Nodes
from coordinators.replication.following import NOT_NAMED, FollowedReplica, Following
from coordinators.replication.ports import (
    Asked,
    LeaderLink,
    LeaderLinks,
    LinkBroken,
    Replica,
    ReplicaAnswer,
    ReplicaFetch,
)
from engine.errors import BrokerError, FetchSessionNotFound, InvalidFetchSessionEpoch, StaleNodeEpoch
from engine.partition.partition import Partition

logger = logging.getLogger("tidegate.replication")

FETCHES_AT_ONCE = 2
SYNC_WAIT_S = 0.02
"""So long a fetch waits for what was just appended to become durable, so that both go in one request."""
FIRST_RETRY_S = 0.05
LONGEST_RETRY_S = 1.0
TOLD_EVERY_S = 30.0


class ThisNode(Protocol):
    """What a leader asks of a follower."""

    @property
    def node_id(self) -> int: ...

    @property
    def epoch(self) -> int:
        """Of its registration; 0 while it has none."""
        ...


@define
class FetchLimits:
    """How much is asked for at once, and how long is waited for it."""

    wait_ms: int = 500
    max_bytes: int = 4 * 1024 * 1024
    max_partition_bytes: int = 1024 * 1024


@define(eq=False)
class FetchServices:
    """What all fetchers of a node use."""

    this_node: ThisNode
    nodes: Nodes
    links: LeaderLinks
    following: Following
    limits: FetchLimits
    suspect: Callable[[int], object]
    """Told of a leader that refuses connections, or has broken one."""


@define(eq=False)
class Fetcher:
    """Fetches from one leader node."""

    leader: int
    services: FetchServices
    _logs: dict[Replica, FollowedReplica] = field(factory=dict, init=False)
    _to_name: dict[Replica, None] = field(factory=dict, init=False)
    _to_drop: dict[Replica, None] = field(factory=dict, init=False)
    _session: int = field(default=0, init=False)
    _number: int = field(default=0, init=False)
    _asking: int = field(default=0, init=False)
    _news: trio.Event = field(factory=trio.Event, init=False)
    _told_at: float = field(default=-TOLD_EVERY_S, init=False)

    # -- what it follows

    def follow(self, replica: Replica, partition: Partition) -> None:
        """From now on, in the partition's epoch."""
        known = self._logs.get(replica)
        if known is not None and known.leader_epoch == partition.leader_epoch:
            return
        if known is not None:
            known.ended = True
        self._logs[replica] = FollowedReplica(replica, partition, partition.leader_epoch)
        self._to_drop.pop(replica, None)
        self._name(replica)

    def leave(self, replica: Replica) -> None:
        """It is led elsewhere, or here, or is gone."""
        known = self._logs.pop(replica, None)
        if known is not None:
            known.ended = True
            self._to_name.pop(replica, None)
            self._to_drop[replica] = None

    def _name(self, replica: Replica) -> None:
        self._to_name[replica] = None
        self._news.set()

    @property
    def is_idle(self) -> bool:
        """Whether it follows nothing."""
        return not self._logs

    # -- the connection

    async def run(self) -> None:
        """Until cancelled."""
        delay_s = FIRST_RETRY_S
        while True:
            while self.is_idle or self.services.this_node.epoch == 0 or self.leader not in self.services.nodes.by_id:
                await self._wait(LONGEST_RETRY_S)
            try:
                link = await self.services.links.connect(self.services.nodes.by_id[self.leader])
            except LinkBroken as error:
                self._complain(error)
            else:
                delay_s = FIRST_RETRY_S
                await self._use(link)
            self.services.suspect(self.leader)
            await trio.sleep(delay_s)
            delay_s = min(2 * delay_s, LONGEST_RETRY_S)

    def _complain(self, error: Exception) -> None:
        if trio.current_time() - self._told_at >= TOLD_EVERY_S:
            self._told_at = trio.current_time()
            logger.warning("node %d cannot be fetched from, tried again: %s", self.leader, error)

    async def _use(self, link: LeaderLink) -> None:
        """Until it breaks, or the session is lost."""
        self._session = self._number = self._asking = 0
        for followed in self._logs.values():
            followed.named = NOT_NAMED
        self._to_drop.clear()
        self._to_name = dict.fromkeys(self._logs)
        try:
            async with trio.open_nursery() as nursery:
                await self._drive(link, nursery)
                nursery.cancel_scope.cancel()
        except* LinkBroken as broken:
            self._complain(broken.exceptions[0])
        except* (FetchSessionNotFound, InvalidFetchSessionEpoch, StaleNodeEpoch) as refused:
            self._complain(refused.exceptions[0])
        finally:
            with trio.CancelScope(shield=True):
                await link.aclose()

    async def _drive(self, link: LeaderLink, nursery: trio.Nursery) -> None:
        while not self.is_idle or self._to_drop:
            if self._may_ask():
                if not self._to_name and self.services.following.is_syncing:
                    await self._wait(SYNC_WAIT_S)
                self._asking += 1
                nursery.start_soon(self._ask, link)
                # The request is made when that task runs: what comes until then is in it.
                await trio.lowlevel.checkpoint()
            await self._wait(self.services.limits.wait_ms / 1000)

    def _may_ask(self) -> bool:
        if self._session == 0:
            return self._asking == 0
        return self._asking == 0 or (bool(self._to_name or self._to_drop) and self._asking < FETCHES_AT_ONCE)

    async def _wait(self, most_s: float) -> None:
        with trio.move_on_after(most_s):
            await self._news.wait()
        self._news = trio.Event()

    # -- one fetch

    async def _ask(self, link: LeaderLink) -> None:
        # Nothing waits between the number and the sending: fetches go out in the order of their numbers.
        fetch = self._next_fetch()
        answer = await link.fetch(fetch)
        self._asking -= 1
        if answer.error is not None:
            raise answer.error
        self._session = answer.session
        self._take(answer, link, fetch.number)
        self._news.set()

    def _next_fetch(self) -> ReplicaFetch:
        if self._session:
            self._number += 1
        asked = [one for replica in self._to_name if (one := self._asked(replica)) is not None]
        dropped = list(self._to_drop)
        self._to_name.clear()
        self._to_drop.clear()
        limits = self.services.limits
        return ReplicaFetch(
            self.services.this_node.node_id,
            self.services.this_node.epoch,
            self._session,
            self._number,
            asked,
            dropped,
            limits.wait_ms,
            limits.max_bytes,
            limits.max_partition_bytes,
        )

    def _asked(self, replica: Replica) -> Asked | None:
        followed = self._logs.get(replica)
        asked = None if followed is None else self.services.following.asked(followed, self._go_on)
        if followed is not None and asked is not None:
            followed.named = self._number
        return asked

    def _take(self, answer: ReplicaAnswer, link: LeaderLink, number: int) -> None:
        for given in answer.given:
            followed = self._logs.get(given.replica)
            if followed is None or number < followed.named:
                # What was said to an earlier question, in an earlier epoch perhaps, does not answer this one.
                continue
            try:
                self.services.following.take(followed, given, link, self._go_on)
            except BrokerError as error:
                logger.error("%s cannot follow: %s", followed.partition.log.name, error)
                self.services.following.try_later(followed, self._go_on)
            except Exception:
                # A bug of one log; the others go on.
                logger.exception("%s cannot follow", followed.partition.log.name)
                self.services.following.try_later(followed, self._go_on)

    def _go_on(self, followed: FollowedReplica) -> None:
        """What was given of a log is durable, or the log is as its leader wants it: ask for more."""
        if self._logs.get(followed.replica) is followed:
            self._name(followed.replica)


@define(eq=False)
class Fetching:
    """All fetchers of this node."""

    services: FetchServices
    _fetchers: dict[int, Fetcher] = field(factory=dict, init=False)
    _nursery: trio.Nursery | None = field(default=None, init=False)

    async def run(self) -> None:
        """As long as the node serves."""
        try:
            async with trio.open_nursery() as self._nursery:
                for fetcher in self._fetchers.values():
                    self._nursery.start_soon(fetcher.run)
                await trio.sleep_forever()
        finally:
            # Rows of partitions still come while the node shuts down: nobody is fetched from then.
            self._nursery = None

    def look_at(self, partition: Partition) -> None:
        """This node has a new part in a partition: follow whoever leads it."""
        row = partition.replicas.row
        leads_elsewhere = not partition.replicas.leads and row.leader >= 0
        wanted = self._fetcher(row.leader) if leads_elsewhere else None
        for replica in _replicas(partition):
            for fetcher in self._fetchers.values():
                if fetcher is not wanted:
                    fetcher.leave(replica)
            if wanted is not None:
                wanted.follow(replica, partition)

    async def stop(self, partition: Partition) -> None:
        """This node is about to lead it: nobody is followed any more, and what was under way has come to its end."""
        self.leave(partition)
        await self.services.following.until_unchanged(partition)

    def leave(self, partition: Partition) -> None:
        """It lies here no longer."""
        for replica in _replicas(partition):
            for fetcher in self._fetchers.values():
                fetcher.leave(replica)

    def _fetcher(self, leader: int) -> Fetcher:
        found = self._fetchers.get(leader)
        if found is None:
            found = self._fetchers[leader] = Fetcher(leader, self.services)
            if self._nursery is not None:
                self._nursery.start_soon(found.run)
        return found


def _replicas(partition: Partition) -> tuple[Replica, Replica]:
    place = partition.topic_id, partition.index
    return Replica(*place), Replica(*place, is_stage=True)
