"""The controller: the one node that reacts to what happens to the others.

It is the node that holds the row `controller`, which goes with its session. While it does, it gives partitions leaders
whenever nodes come and go, brings back preferred leaders, and takes the steps of reassignments. Nothing depends on
there being only one: every change is compared with the row that it was planned against. What fails is tried again.

A node that crashed holds its session until that runs out. If its connections break, others suspect it (`suspect`); if
its port then refuses connections, its process has gone, and its row is deleted at once.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import trio
from attrs import define, field

from coordinators.cluster.elections import Electorate, preferred
from coordinators.cluster.leader_elections import LeaderElections
from coordinators.cluster.membership import ClusterMembership
from coordinators.cluster.nodes import RECONNECT_S, Nodes
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.topic_view import Topic, TopicUpdate
from coordinators.waiting import in_worker
from engine.catalogue.catalogue import CatalogueConflict, Commit, Compare, Delete, Entry, Put
from engine.catalogue.records import CONTROLLER, NODES, ControllerRecord, NodeRecord, PartitionRecord
from engine.errors import BrokerError
from engine.ids import TopicId
from engine.metrics import Histogram

logger = logging.getLogger("tidegate.controller")

T = TypeVar("T")
RETRY_S = 0.5
PREFERRED_SOON_S = RECONNECT_S
"""So long after its first replica is in sync again a partition waits for it to lead: clients find it again meanwhile,
and others come back."""
SUSPECT_PAUSE_S = 0.1
"""Between two looks at a node that is suspected to have crashed."""
SUSPECT_TIMEOUT_S = 2.0

Reach = Callable[[NodeRecord], Awaitable[object]]
"""Connects to a node as its clients do, and hangs up; raises OSError, and `ConnectionRefusedError` only if nobody
listens there."""


@define(eq=False)
class ControllerRole:
    """See the module. Every node has one, and stands by while another is the controller."""

    membership: ClusterMembership
    elections: LeaderElections
    reach: Reach
    failovers: int = field(default=0, init=False)
    """How often leaders were moved because a node had gone."""
    last_failover_s: float = field(default=0.0, init=False)
    """How long that took, from the news of it."""
    failover_durations: Histogram = field(factory=Histogram, init=False)
    """The same of every time."""
    chores: list[Callable[[], Awaitable[object]]] = field(factory=list, init=False)
    """What else the controller does when nodes have come or gone."""
    _wake: trio.Event = field(factory=trio.Event, init=False)
    _was_controller: bool = field(default=False, init=False)
    _is_all_due: bool = field(default=False, init=False)
    _are_chores_due: bool = field(default=False, init=False)
    _due: set[TopicId] = field(factory=set, init=False)
    """Topics with rows that are not as they should be."""
    _due_since: float | None = field(default=None, init=False)
    _prefer_at: float = field(default=float("inf"), init=False)
    _suspected: set[int] = field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        self.replicas.on_nodes.append(self._nodes_changed)
        self.replicas.on_change.append(self._topic_changed)

    @property
    def replicas(self) -> ReplicaManager:
        """What follows the catalogue."""
        return self.membership.replicas

    @property
    def nodes(self) -> Nodes:
        """As this node knows them."""
        return self.replicas.nodes

    @property
    def is_controller(self) -> bool:
        """Whether it is this node, as far as it knows."""
        epoch = self.membership.epoch
        return bool(epoch) and self.nodes.present_controller == ControllerRecord(self.membership.node_id, epoch)

    async def run(self) -> None:
        """Be the controller, or stand by, as long as the node serves."""
        if self.membership.is_alone:
            return
        while True:
            self._wake = trio.Event()
            try:
                await self._act()
            except BrokerError as error:
                logger.error("the controller could not do its work, tried again: %s", error)
                await trio.sleep(RETRY_S)
            else:
                with trio.move_on_at(self._prefer_at):
                    await self._wake.wait()

    # -- what it hears

    def _nodes_changed(self) -> None:
        self._is_all_due = self._are_chores_due = True
        if self._due_since is None:
            self._due_since = trio.current_time()
        self._wake.set()

    def _topic_changed(self, update: TopicUpdate) -> None:
        topic, before = update.after, update.before
        if topic is None or not self._was_controller:
            return
        if before is None and topic.internal:
            # Whoever made it may not have known yet of all the nodes that there are.
            self._are_chores_due = True
            self._wake.set()
        rows: Sequence[PartitionRecord] = topic.partitions
        if before is not None and before.config is topic.config:
            # One partition after the other changes, of topics with thousands.
            known = before.partitions
            rows = [row for i, row in enumerate(rows) if i >= len(known) or row is not known[i]]
        if rows:
            self._examine(topic, rows)

    def _examine(self, topic: Topic, rows: Sequence[PartitionRecord]) -> None:
        """Whether rows of it are as they should be, as far as this node knows."""
        electorate = Electorate.of(self.nodes.by_id.values())
        is_due, may_be_preferred = False, False
        for row in rows:
            ballot = self.elections.ballot(row, electorate, topic)
            is_due = is_due or ballot.row is not row
            may_be_preferred = may_be_preferred or preferred(row, electorate).kind is not None
        if is_due:
            self._due.add(topic.topic_id)
            self._wake.set()
        if may_be_preferred:
            self._prefer_soon()

    def _prefer_soon(self) -> None:
        if self.replicas.topics.settings.flag("auto.leader.rebalance.enable"):
            self._prefer_at = min(self._prefer_at, trio.current_time() + PREFERRED_SOON_S)
            self._wake.set()

    # -- what it does

    async def _act(self) -> None:
        if not self.is_controller:
            await self._stand()
        if not self.is_controller:
            self._was_controller, self._prefer_at, self._due_since = False, float("inf"), None
            return
        if not self._was_controller:
            logger.info("node %d is the controller, epoch %d", self.membership.node_id, self.membership.epoch)
            self._was_controller = self._is_all_due = self._are_chores_due = True
            self._plan_preferred()
            # The one before may have been about to bring leaders back.
            self._prefer_soon()
        await self._settle()
        await self._do_chores()
        if trio.current_time() >= self._prefer_at:
            self._plan_preferred()
            await self._prefer()
            if self.replicas.newcomers():
                self._prefer_soon()

    async def _stand(self) -> None:
        """Become the controller if there is none."""
        if not self.membership.epoch or self.nodes.present_controller is not None:
            return
        record = ControllerRecord(self.membership.node_id, self.membership.epoch)
        commit = Commit(
            (Compare(CONTROLLER, self.nodes.controller_revision),),
            (Put(CONTROLLER, record.encode(), ephemeral=True),),
        )
        try:
            revision = await self._in_thread(self.replicas.catalogue.commit, commit)
        except CatalogueConflict:
            await self.replicas.catch_up()
        else:
            await self.replicas.in_force(revision)

    async def _settle(self) -> None:
        while self._is_all_due or self._due:
            due, is_all, since = self._due, self._is_all_due, self._due_since
            self._due, self._is_all_due, self._due_since = set(), False, None
            try:
                elected = await self.elections.settle(topic_ids=None if is_all else due)
            except BrokerError:
                self._due |= due
                self._is_all_due, self._due_since = self._is_all_due or is_all, self._due_since or since
                raise
            if any(each.is_failover for each in elected):
                self.failovers += 1
                self.last_failover_s = trio.current_time() - (since or trio.current_time())
                self.failover_durations.observe(self.last_failover_s)

    async def _do_chores(self) -> None:
        if self._are_chores_due:
            self._are_chores_due = False
            try:
                for chore in self.chores:
                    await chore()
            except BrokerError:
                self._are_chores_due = True
                raise

    def _plan_preferred(self) -> None:
        seconds = self.replicas.topics.settings.integer("leader.imbalance.check.interval.seconds")
        self._prefer_at = trio.current_time() + seconds

    async def _prefer(self) -> None:
        if self.replicas.topics.settings.flag("auto.leader.rebalance.enable"):
            await self.elections.prefer()

    async def _in_thread(self, function: Callable[..., T], *arguments: object) -> T:
        return await in_worker(self.elections.workers, function, *arguments)

    # -- nodes that may have crashed

    def suspect(self, node_id: int) -> None:
        """A connection to or from that node broke: look whether its process has gone. The controller does that; where
        it is the controller that is suspected, everybody does."""
        controller = self.nodes.present_controller
        is_mine = self.is_controller or controller is None or controller.node_id == node_id
        if is_mine and node_id != self.membership.node_id and node_id not in self._suspected:
            self._suspected.add(node_id)
            self.replicas.background.start_soon(self._examine_node, node_id)

    async def _examine_node(self, node_id: int) -> None:
        try:
            entry: Entry | None = await self._in_thread(self.replicas.catalogue.get, f"{NODES}{node_id}")
            if entry is None:
                return
            node = NodeRecord.decode(entry.value)
            # A fenced node may not listen yet.
            if not node.fenced and await self._is_refused(node) and await self._is_refused(node, SUSPECT_PAUSE_S):
                commit = Commit((Compare(entry.key, entry.revision),), (Delete(entry.key),))
                await self._in_thread(self.replicas.catalogue.commit, commit)
                logger.warning("node %d has crashed: nobody listens where it did", node_id)
        except CatalogueConflict:
            # Somebody else was quicker, or it has registered anew.
            return
        except BrokerError as error:
            logger.info("node %d is suspected to have crashed, and its end is awaited: %s", node_id, error)
        finally:
            self._suspected.discard(node_id)

    async def _is_refused(self, node: NodeRecord, pause_s: float = 0.0) -> bool:
        """Only a refusal tells that nobody is there; silence may be the network's."""
        await trio.sleep(pause_s)
        with trio.move_on_after(SUSPECT_TIMEOUT_S):
            try:
                await self.reach(node)
            except ConnectionRefusedError:
                return True
            except OSError:
                return False
        return False
