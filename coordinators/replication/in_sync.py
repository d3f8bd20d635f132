"""Who is in sync: the leader takes followers into the ISR that have caught up, and takes those out that lag.

A follower lags if for `replica.lag.time.max.ms` it has not had the end that the log had then, or has said nothing at
all (time only, never a number of records). It may join once it has everything below the high watermark and everything
that this leader began with, of the log and of the stage.

The change is committed by the leader itself, with comparisons: the partition's row is the one that it was planned
against, and each new member is still registered with the epoch under which it has fetched. One change at a time is
under way per partition. The high watermark waits for whoever is about to join from before the attempt until a row tells
how it ended (engine/partition/replicas.py). An attempt whose outcome is not known may have been taken, or may be taken
later: the next one changes the row in any case, and so puts an end to it. The row that comes of an attempt is in force
here at once; the watch may take a while to bring it.
"""

import logging
from collections.abc import Callable, Collection, Mapping

import trio
from attrs import define, evolve, field, frozen
from msgspec import Struct

from coordinators.cluster.elections import altered
from coordinators.cluster.nodes import Nodes
from coordinators.replication.isr_commits import IsrCommits, PartitionPlace
from coordinators.replication.ports import Replica
from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.clock import Clock
from engine.errors import BrokerError
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.partition.replicas import needed_in_sync

logger = logging.getLogger("tidegate.replication")

SCANS_PER_LAG = 6
RETRY_S = 0.2
TOGETHER = 50
GATHERED_S = 0.005
"""So long it is waited for others before a change is committed: a node that comes back joins many at once."""


class Follower(Struct):
    """How well one follower keeps up with one log, in one leader epoch."""

    leader_epoch: int = -1
    offset: int = -1
    behind_since: float | None = None
    """Since when the log has reached further than the follower; None while it does not."""
    _named_at: float = 0.0
    _end_then: int = -1

    def has_come_to(self, offset: int, end: int, now: float) -> None:
        """It has everything up to `offset`, and the log ends at `end`."""
        if offset >= end:
            self.behind_since = None
        elif offset >= self._end_then or self.behind_since is None:
            # It has caught up with what there was when it last asked.
            self.behind_since = self._named_at if self._end_then >= 0 else now
        self.offset, self._named_at, self._end_then = offset, now, end


@frozen
class IsrChange:
    """Members that should come and go."""

    partition: Partition
    leader_epoch: int
    joining: frozenset[int] = frozenset()
    leaving: frozenset[int] = frozenset()
    is_doubtful: bool = False
    """Whether an earlier change may still be taken."""

    def apply(self, row: PartitionRecord, eligible: Collection[int]) -> PartitionRecord | None:
        """The row after it; None if there is nothing to change, or it is another leader's by now."""
        replicas = self.partition.replicas
        changed = altered(
            row,
            replicas.node_id,
            self.leader_epoch,
            replicas.min_insync,
            joining=self.joining.intersection(eligible),
            leaving=self.leaving,
        )
        if changed is row and self.is_doubtful:
            return evolve(row, partition_epoch=row.partition_epoch + 1)
        return changed


@define(eq=False)
class InSyncReplicas:
    """Of all partitions that this node leads."""

    partitions: Partitions
    nodes: Nodes
    commits: IsrCommits
    clock: Clock
    lag_max_s: Callable[[], float]
    shrinks: int = field(default=0, init=False)
    expansions: int = field(default=0, init=False)
    _followers: dict[Replica, dict[int, Follower]] = field(factory=dict, init=False)
    _heard: dict[int, float] = field(factory=dict, init=False)
    """When each node has last fetched anything here."""
    _led_since: dict[PartitionPlace, float] = field(factory=dict, init=False)
    _wanted: dict[PartitionPlace, IsrChange] = field(factory=dict, init=False)
    _under_way: set[PartitionPlace] = field(factory=set, init=False)
    _doubtful: set[PartitionPlace] = field(factory=set, init=False)
    """Where the outcome of a change is not known."""
    _wakened: trio.Event = field(factory=trio.Event, init=False)

    # -- what is known of followers

    def heard_of(self, node_id: int) -> None:
        """It has just fetched."""
        self._heard[node_id] = self.clock.monotonic()

    def follower(self, replica: Replica, node_id: int, leader_epoch: int) -> Follower:
        """What is known of a follower's log in this epoch."""
        known = self._followers.setdefault(replica, {})
        found = known.get(node_id)
        if found is None or found.leader_epoch != leader_epoch:
            found = known[node_id] = Follower(leader_epoch)
        return found

    def told_end(self, replica: Replica, node_id: int) -> int | None:
        """Up to where a follower has a log durable; None if it has not told."""
        known = self._followers.get(replica, {}).get(node_id)
        return None if known is None or known.offset < 0 else known.offset

    def began(self, partition: Partition) -> None:
        """This node leads a partition in a new epoch: only what followers have said in that counts. Who was quick has
        done so already, and of a partition that nobody writes to it does not tell again."""
        place = partition.topic_id, partition.index
        told = {replica: self._followers.get(replica, {}) for replica in _replicas(place)}
        self.ended(*place)
        self._led_since[place] = self.clock.monotonic()
        for replica, followers in told.items():
            self._followers[replica] = {
                node_id: each for node_id, each in followers.items() if each.leader_epoch == partition.leader_epoch
            }

    def ended(self, topic_id: bytes, index: int) -> None:
        """It does not any more."""
        place = topic_id, index
        self._led_since.pop(place, None)
        for replica in _replicas(place):
            self._followers.pop(replica, None)
        self._wanted.pop(place, None)
        self._doubtful.discard(place)

    def lag_s(self, partition: Partition, node_id: int) -> float:
        """For how long a follower has been behind, or silent."""
        now, place = self.clock.monotonic(), (partition.topic_id, partition.index)
        led_since = self._led_since.get(place, now)
        silent_since = max(self._heard.get(node_id, led_since), led_since)
        since = [silent_since] if now - silent_since > self.lag_max_s() else []
        for log in partition.logs:
            follower = self._followers.get(Replica(*place, is_stage=log is not partition), {}).get(node_id)
            if follower is None or follower.offset < 0:
                since.append(led_since)
                continue
            if follower.behind_since is None and follower.offset < log.log.end_offset:
                # It has not even asked for what was written since.
                follower.behind_since = now
            if follower.behind_since is not None:
                since.append(max(follower.behind_since, led_since))
        return now - min(since, default=now)

    # -- changes

    def let_join(self, partition: Partition, node_id: int) -> None:
        """It has caught up: propose it, if it may be a member."""
        record = self.nodes.by_id.get(node_id)
        if record is None or not record.is_eligible or self.lag_s(partition, node_id) > self.lag_max_s():
            # One that has been away would be taken out again, until it has what there was when it came back.
            return
        self._want(partition, joining=frozenset({node_id}))

    def _want(
        self, partition: Partition, joining: frozenset[int] = frozenset(), leaving: frozenset[int] = frozenset()
    ) -> None:
        place = partition.topic_id, partition.index
        if place in self._under_way:
            return
        known = self._wanted.get(place)
        if known is not None and known.leader_epoch == partition.leader_epoch:
            joining, leaving = joining | known.joining, leaving | known.leaving
        self._wanted[place] = IsrChange(partition, partition.leader_epoch, joining - leaving, leaving)
        self._wakened.set()

    async def run(self) -> None:
        """Look for those that lag, and commit what is wanted, as long as the node serves."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._scan_always)
            while True:
                await self._wakened.wait()
                await trio.sleep(GATHERED_S)
                self._wakened = trio.Event()
                while self._wanted:
                    await self._commit_some()

    async def _scan_always(self) -> None:
        while True:
            await trio.sleep(self.lag_max_s() / SCANS_PER_LAG)
            self.scan()

    def scan(self) -> None:
        """Take those out that lag, and those in that could not be when they had caught up: of a partition that nobody
        writes to they do not tell again."""
        most = self.lag_max_s()
        for place in tuple(self._led_since):
            partition = self.partitions.get(*place)
            if partition is None or not partition.replicas.leads:
                continue
            row = partition.replicas.row
            if row.elr and len(row.isr) >= needed_in_sync(row, partition.replicas.min_insync):
                # Less is asked for than when they left: they are forgotten before anything more is acknowledged.
                self._want(partition)
            late = [n for n in row.isr if n != row.leader and self.lag_s(partition, n) > most]
            if late:
                self._want(partition, leaving=frozenset(late))
            self._let_others_join(partition)

    def _let_others_join(self, partition: Partition) -> None:
        row = partition.replicas.row
        for node_id in row.replicas:
            if node_id in row.isr or node_id == row.leader or not partition.has_caught_up(node_id):
                continue
            # What one has said that is silent since is true, and yet it would leave again at once.
            if self.lag_s(partition, node_id) <= self.lag_max_s():
                self.let_join(partition, node_id)

    async def _commit_some(self) -> None:
        taken = [self._wanted.pop(place) for place in tuple(self._wanted)[:TOGETHER]]
        taken = [change for change in taken if change.partition.leader_epoch == change.leader_epoch]
        members = self._members(taken)
        taken = [self._with_members(change, members) for change in taken]
        by_place = {(change.partition.topic_id, change.partition.index): change for change in taken}
        self._under_way.update(by_place)
        try:
            changes = {place: change.apply for place, change in by_place.items()}
            committed = await self.commits.commit(changes, tuple(members.values()))
        except BrokerError as error:
            logger.warning("in-sync replicas cannot be changed now, tried again: %s", error)
            self._under_way.difference_update(by_place)
            self._doubtful.update(by_place)
            await trio.sleep(RETRY_S)
            self._try_again(taken)
            return
        self._under_way.difference_update(by_place)
        self._doubtful.difference_update(by_place)
        for place, change in by_place.items():
            self._note(change, committed.get(place))

    def _with_members(self, change: IsrChange, members: Collection[int]) -> IsrChange:
        """With those who may join and still have all that was readable: the high watermark may have left them behind
        since they were proposed. From now on it waits for them."""
        partition = change.partition
        is_doubtful = (partition.topic_id, partition.index) in self._doubtful
        joining = frozenset(node for node in change.joining.intersection(members) if partition.has_caught_up(node))
        if change.joining:
            partition.let_join(joining)
        return evolve(change, joining=joining, is_doubtful=is_doubtful)

    def _members(self, changes: Collection[IsrChange]) -> Mapping[int, NodeRecord]:
        """The nodes that are to join, as far as they may."""
        joining = {node_id for change in changes for node_id in change.joining}
        known = {node_id: self.nodes.by_id.get(node_id) for node_id in joining}
        return {node_id: record for node_id, record in known.items() if record is not None and record.is_eligible}

    def _note(self, change: IsrChange, row: PartitionRecord | None) -> None:
        replicas = change.partition.replicas
        is_ours = replicas.leads and replicas.row.leader_epoch == change.leader_epoch
        if row is None or not is_ours or (row.leader, row.leader_epoch) != (replicas.node_id, change.leader_epoch):
            # Gone, or another's: whoever was to join is waited for until its row comes.
            return
        before = set(replicas.row.isr)
        if change.partition.assume(row):
            self.expansions += bool(set(row.isr) - before)
            self.shrinks += bool(before - set(row.isr))
            logger.info("in-sync replicas of %s are %s now, of %s", change.partition.log.name, row.isr, row.replicas)
        # The row names all who have joined, and nothing else is under way.
        change.partition.let_join(())
        # Who has caught up meanwhile had to wait for it.
        self._let_others_join(change.partition)

    def _try_again(self, changes: Collection[IsrChange]) -> None:
        """What has become of them is not known; they are wanted all the same, if they still make sense."""
        for change in changes:
            partition = change.partition
            if not partition.removed and partition.replicas.leads and partition.leader_epoch == change.leader_epoch:
                self._want(partition, change.joining, change.leaving)
            else:
                self._doubtful.discard((partition.topic_id, partition.index))


def _replicas(place: PartitionPlace) -> tuple[Replica, Replica]:
    return Replica(*place), Replica(*place, is_stage=True)
