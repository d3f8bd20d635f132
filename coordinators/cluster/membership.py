"""This node's place in the cluster: it registers, enters when it has caught up, stays, and stops in good order.

A node registers *fenced*, as a new life with an incarnation of its own. It never leads by a row of an earlier life: it
takes itself out of every row that names it, follows the catalogue past that, and only then unfences itself. Should its
session end, or somebody take its row away, it is fenced: it gives up what it leads (`on_fenced`) and begins a new life.

On a catalogue of one node's own there is nobody to tell apart: the node's row says where it is, and that is all.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import trio
from attrs import define, evolve, field

from coordinators.cluster.controller import ClusterController
from coordinators.cluster.leader_elections import LeaderElections
from coordinators.cluster.news import News
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.waiting import in_worker
from engine.catalogue.catalogue import CatalogueConflict, Commit, Compare, Lasting, Put
from engine.catalogue.records import NodeRecord
from engine.errors import BrokerError, DuplicateNodeRegistration
from engine.ids import RandomBytes
from engine.workers import Workers

logger = logging.getLogger("tidegate.membership")

INCARNATION_BYTES = 16
RETRY_S = 0.5
REGISTRATION_CHECK_S = 0.1
"""How often a node looks whether the one that holds its number has gone."""
HANDOVER_CHECK_S = 0.05
CLOSING_S = 3.0
"""How long a node that stops waits for the end of its session to be heard; it ends by itself too."""


@define(eq=False)
class ClusterMembership:
    """See the module."""

    controller: ClusterController
    elections: LeaderElections
    workers: Workers
    """Those of the catalogue."""
    random_bytes: RandomBytes
    on_fenced: list[Callable[[], Awaitable[object]]] = field(factory=list)
    """Awaited when this node must no longer lead anything, before it registers anew."""
    on_unfenced: list[Callable[[], Awaitable[object]]] = field(factory=list)
    """Awaited when it may lead and join, in a new epoch."""
    lives: int = field(default=0, init=False)
    """How often it has registered."""
    _record: NodeRecord | None = field(default=None, init=False)
    """Its row as it was put last."""
    _revision: int = field(default=0, init=False)
    _first_revision: int = field(default=0, init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)
    _is_resigning: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.replicas.on_nodes.append(self._look)

    @property
    def replicas(self) -> ReplicaManager:
        """What follows the catalogue."""
        return self.controller.replicas

    @property
    def node_id(self) -> int:
        """This node."""
        return self.replicas.topics.node_id

    @property
    def is_alone(self) -> bool:
        """Whether the catalogue is this node's own: there is no cluster to be a member of."""
        return isinstance(self.replicas.catalogue.session, Lasting)

    @property
    def epoch(self) -> int:
        """Of this node in this life; 0 while it is fenced, or alone."""
        record = self._record
        return 0 if record is None or record.fenced else record.epoch

    # -- coming

    async def register(self, node: NodeRecord) -> None:
        """Tell the cluster where this node is, and that it lives; in a cluster it is fenced until `run` has let it
        enter. Raises `DuplicateNodeRegistration` if another node of this number lives on."""
        if self.is_alone:
            await self._tell(node)
            return
        wait_ms = self.replicas.topics.settings.integer("initial.broker.registration.timeout.ms")
        await self._begin(node, trio.current_time() + wait_ms / 1000)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Enter, and stay a member as long as the node serves; `started` when it has entered for the first time."""
        if self.is_alone:
            task_status.started()
            return
        assert self._record is not None, "a node registers before it enters"
        await self._enter()
        task_status.started()
        while not self._is_resigning:
            await self._until_lost()
            if not self._is_resigning:
                await self._fence()
                await self._begin(self._record, float("inf"))
                await self._enter()

    async def _tell(self, node: NodeRecord) -> None:
        try:
            await self.controller.register(node)
        except BrokerError as error:
            # Such as a full disk: its own clients are served all the same.
            logger.error("the cluster cannot be told of this node: %s", error)
            self.replicas.nodes.by_id[node.node_id] = node

    async def _begin(self, node: NodeRecord, deadline: float) -> None:
        """A new life, fenced. While the catalogue does not answer it is tried again."""
        incarnation = self.random_bytes(INCARNATION_BYTES).hex()
        record = evolve(node, incarnation=incarnation, epoch=0, fenced=True, stopping=False)
        while not self._is_resigning:
            try:
                held = await in_worker(self.workers, self._take_number, record)
            except BrokerError as error:
                logger.error("this node cannot be registered, tried again: %s", error)
                await trio.sleep(RETRY_S)
                continue
            if held is None:
                self.lives += 1
                self._record = record
                logger.info("node %d registered, epoch %d", record.node_id, self._first_revision)
                return
            await self._wait_for(held, deadline)

    async def _wait_for(self, held: NodeRecord, deadline: float) -> None:
        if trio.current_time() >= deadline:
            raise DuplicateNodeRegistration(
                f"Another node with the number {held.node_id} is alive, at {', '.join(held.listeners)}. "
                f"Every node of a cluster needs a node.id of its own."
            )
        await trio.sleep(REGISTRATION_CHECK_S)

    def _take_number(self, record: NodeRecord) -> NodeRecord | None:
        """[thread] Put the first row of a life; who holds the number otherwise."""
        catalogue = self.replicas.catalogue
        entry = catalogue.get(record.key)
        if entry is not None:
            held = NodeRecord.decode(entry.value)
            if held.incarnation != record.incarnation:
                return held
            # An attempt whose outcome was not known had its effect.
            self._revision = self._first_revision = entry.revision
            return None
        if catalogue.session.is_lost:
            catalogue.session.open()
        change = Put(record.key, record.encode(), ephemeral=True)
        self._revision = self._first_revision = catalogue.commit(Commit((Compare(record.key, 0),), (change,)))
        return None

    async def _enter(self) -> None:
        """Leave nothing of earlier lives, catch up with that, and be fenced no more."""
        while not self._is_resigning:
            record = self._record
            assert record is not None
            try:
                gone = self._is_lost or await self._entered(record)
            except BrokerError as error:
                logger.error("this node cannot enter the cluster, tried again: %s", error)
                await trio.sleep(RETRY_S)
                continue
            if not gone:
                break
            await self._begin(record, float("inf"))
        else:
            return
        logger.info("node %d has entered the cluster, epoch %d", self.node_id, self.epoch)
        for follow in self.on_unfenced:
            await follow()

    async def _entered(self, record: NodeRecord) -> bool:
        """Whether its row was lost on the way."""
        changed = await self.elections.settle(naming=record.node_id)
        await self.replicas.in_force(max([self._revision, *(each.changed.revision for each in changed)]))
        if not await self._put(evolve(record, fenced=False, epoch=self._first_revision)):
            return True
        await self.replicas.in_force(self._revision)
        return False

    async def _put(self, record: NodeRecord) -> bool:
        """Whether the row could be put in the place of this life's last one."""
        put = await in_worker(self.workers, self._put_in_thread, record)
        if put is None:
            return False
        self._revision, self._record = put, record
        return True

    def _put_in_thread(self, record: NodeRecord) -> int | None:
        """[thread] The row's new revision; None if it is no longer this life's."""
        catalogue, value = self.replicas.catalogue, record.encode()
        try:
            compare = Compare(record.key, self._revision)
            return catalogue.commit(Commit((compare,), (Put(record.key, value, ephemeral=True),)))
        except CatalogueConflict:
            entry = catalogue.get(record.key)
            return entry.revision if entry is not None and entry.value == value else None

    # -- staying

    def _look(self) -> None:
        self._changed.set()

    @property
    def _is_lost(self) -> bool:
        return self.replicas.catalogue.session.is_lost

    async def _until_lost(self) -> None:
        """Until the session has ended, or the row has gone or is another's."""
        interval_s = self.replicas.catalogue.session.duration_s / 10
        while not (self._is_resigning or self._is_lost or self._is_missing()):
            self._changed = trio.Event()
            with trio.move_on_after(interval_s):
                await self._changed.wait()

    def hear_of_end(self, epoch: int, told_by: int) -> None:
        """Another node has seen the end of this one's life of that epoch; the catalogue may not have told of it."""
        if epoch and epoch == self.epoch and not self._is_missing():
            logger.warning("node %d has seen that this node's session ended, of which etcd has not told", told_by)
            ended = News(self.replicas.revision, nodes={self.node_id: None})
            self.replicas.nodes.take(ended, self.replicas.partitions.clock.monotonic())
            for follow in self.replicas.on_nodes:
                follow()

    def _is_missing(self) -> bool:
        told = self.replicas.nodes.by_id.get(self.node_id)
        return told is None or self._record is None or told.incarnation != self._record.incarnation

    async def _fence(self) -> None:
        assert self._record is not None
        logger.warning("node %d is no longer a member of the cluster and begins anew", self.node_id)
        self._record = evolve(self._record, fenced=True)
        for follow in self.on_fenced:
            await follow()

    # -- going

    async def resign(self) -> None:
        """Let others lead what they can, wait for that a while, and leave. The node's tasks go on meanwhile."""
        if self.is_alone or self._is_resigning:
            return
        self._is_resigning = True
        self._look()
        if self.epoch:
            wait_ms = self.replicas.topics.settings.integer("controlled.shutdown.max.wait.ms")
            with trio.move_on_after(wait_ms / 1000) as waiting:
                await self._hand_over()
            if waiting.cancelled_caught:
                logger.warning("this node stops although it still leads partitions that others could lead")
        await self.leave()

    async def leave(self) -> None:
        """End the session: the others see at once that this node has gone."""
        if self.is_alone or self._record is None:
            return
        self._is_resigning = True
        self._look()
        with trio.move_on_after(CLOSING_S, shield=True), suppress(BrokerError):
            await in_worker(self.workers, self.replicas.catalogue.session.close)

    async def _hand_over(self) -> None:
        is_told = False
        while not self._is_lost:
            try:
                if not is_told:
                    assert self._record is not None
                    is_told = await self._put(evolve(self._record, stopping=True))
                    if not is_told:
                        return
                # The controller does it too; whoever is first.
                await self.elections.settle(naming=self.node_id)
                await self.replicas.catch_up()
                if not self._leads_what_others_could():
                    return
            except BrokerError as error:
                logger.warning("leaders cannot be moved from this node yet, tried again: %s", error)
            await trio.sleep(HANDOVER_CHECK_S)

    def _leads_what_others_could(self) -> bool:
        eligible = {node.node_id for node in self.replicas.nodes.by_id.values() if node.is_eligible} - {self.node_id}
        return any(
            row.leader == self.node_id and not eligible.isdisjoint(row.isr)
            for topic in self.replicas.topics.view
            for row in topic.partitions
        )
