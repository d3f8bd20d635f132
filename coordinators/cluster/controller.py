"""Decides about topics and configs: plans a change, and commits it to the catalogue.

Changes are made one at a time. Each is planned in a thread against what this node knows, with all of its own earlier
changes in it, and committed if nobody has changed the same rows meanwhile; else it is planned again. Who carries it
out is the replica manager of each node; the answer waits until this node's has. However many topics a request
names, it is one change.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import trio
from attrs import define, field

from coordinators.background import Background
from coordinators.cluster.reassigning import ReassignmentPlanner, ReassignmentSpec
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.configs import ConfigAlteration, ConfigResource
from coordinators.topic_view import Plan, Topic
from coordinators.topics import PartitionsSpec, Topics, TopicSpec
from engine.catalogue.catalogue import CatalogueConflict, Commit, Delete, Put
from engine.catalogue.records import PARTITIONS, NodeRecord, PartitionRecord
from engine.errors import BrokerError, StorageError, TopicAlreadyExists
from engine.files.reserve import is_full
from engine.ids import TopicId
from engine.partition.partitions import Partitions

logger = logging.getLogger("tidegate.controller")

T = TypeVar("T")
Results = tuple[T | BrokerError, ...]

PLANNED_AT_MOST = 10
"""So often a change is planned before whoever asked for it is told that others were always quicker."""
TURN_S = 15.0
"""So long a change waits for those before it: a catalogue that does not answer must not keep clients waiting."""
NOTHING = Commit(changes=(Delete("nothing"),))
"""Its revision comes after all that was committed before."""


@define(eq=False)
class ClusterController:
    """See the module."""

    replicas: ReplicaManager
    _lock: trio.Lock = field(factory=trio.Lock, init=False)
    _committed: int = field(default=0, init=False)
    """The revision of the last change of its own."""

    @property
    def topics(self) -> Topics:
        """What is planned against."""
        return self.replicas.topics

    @property
    def partitions(self) -> Partitions:
        """Those that lie on this node."""
        return self.replicas.partitions

    @property
    def background(self) -> Background:
        """Where tasks go on beside requests."""
        return self.replicas.background

    # -- requests

    async def create_topics(self, specs: Sequence[TopicSpec], *, validate_only: bool = False) -> Results[Topic]:
        """Make topics; per topic the topic, or why not."""
        return await self._change(lambda: self.topics.plan_create(specs, self._nodes()), validate_only=validate_only)

    async def ensure_topic(self, spec: TopicSpec) -> None:
        """Make a topic unless there is one of its name. Raises why it cannot be made."""
        (result,) = await self.create_topics([spec])
        if isinstance(result, BrokerError) and not isinstance(result, TopicAlreadyExists):
            raise result

    async def create_partitions(
        self, specs: Sequence[PartitionsSpec], *, validate_only: bool = False
    ) -> Results[Topic]:
        """Add partitions to topics."""
        return await self._change(
            lambda: self.topics.plan_partitions(specs, self._nodes()), validate_only=validate_only
        )

    async def reassign_partitions(
        self, specs: Sequence[ReassignmentSpec], *, allow_factor_change: bool = True
    ) -> Results[PartitionRecord]:
        """Have partitions lie on other nodes, or leave them where they were; per partition its row, or why not."""
        planner = ReassignmentPlanner(self.replicas.catalogue, self.topics.view, allow_factor_change)
        return await self._change(lambda: planner.plan(specs, self._nodes()))

    async def delete_topics(self, wanted: Sequence[str | TopicId]) -> Results[Topic]:
        """Delete topics by name or by id."""
        return await self._change(lambda: self.topics.plan_delete(wanted))

    async def alter_configs(
        self,
        wanted: Sequence[tuple[ConfigResource, Sequence[ConfigAlteration]]],
        *,
        validate_only: bool = False,
    ) -> Results[ConfigResource]:
        """Set, delete, append to or subtract from single keys."""
        return await self._change(
            lambda: self.topics.plan_alter_configs(wanted, self._nodes()), validate_only=validate_only
        )

    async def replace_configs(
        self,
        wanted: Sequence[tuple[ConfigResource, Mapping[str, str | None]]],
        *,
        validate_only: bool = False,
    ) -> Results[ConfigResource]:
        """Replace all settings of each resource."""
        return await self._change(
            lambda: self.topics.plan_replace_configs(wanted, self._nodes()), validate_only=validate_only
        )

    async def finish_deletion(self, topic_ids: Sequence[TopicId]) -> None:
        """Nothing is left of these deleted topics: the catalogue forgets them. Raises why it cannot."""
        await self._carry_out(lambda: Plan[None](self.topics.plan_finish_delete(topic_ids), ()))

    async def register(self, node: NodeRecord) -> None:
        """Tell the cluster of this node, or of what has changed about it. Raises why it cannot."""
        known = self.replicas.nodes.by_id
        changes = () if known.get(node.node_id) == node else (Put(node.key, node.encode()),)
        await self._carry_out(lambda: Plan[None](Commit(changes=changes), ()))

    async def change(self, plan: Callable[[], Plan[T]], *, validate_only: bool = False) -> Results[T]:
        """A change of other rows, planned in a thread: users, rules, quotas. It is in force here when this returns."""
        return await self._change(plan, validate_only=validate_only)

    # -- from the plan to the catalogue

    def _nodes(self) -> dict[int, NodeRecord]:
        """[thread] Those that are registered, as of the plan; nothing is put in force meanwhile. In a catalogue of its
        own a node stands alone, whatever it was called before."""
        known = self.replicas.nodes.by_id
        wanted = {self.topics.node_id} if self.replicas.has_own_catalogue else known.keys()
        return {node_id: known[node_id] for node_id in sorted(known.keys() & wanted)}

    async def _change(self, plan: Callable[[], Plan[T]], *, validate_only: bool = False) -> Results[T]:
        planned: list[Plan[T]] = []

        def keep() -> Plan[T]:
            planned[:] = [plan()]
            return planned[0]

        try:
            await self._carry_out(keep, validate_only=validate_only)
        except BrokerError as error:
            if is_full(error):
                self.partitions.storage.note_full("changes of topics and configs")
            if not planned:
                # It was refused before its turn came; whoever asked is still told for each topic.
                keep()
            return tuple(each if isinstance(each, BrokerError) else error for each in planned[0].results)
        return planned[0].results

    async def _carry_out(self, plan: Callable[[], Plan[T]], *, validate_only: bool = False) -> None:
        async with self._turn():
            for _ in range(PLANNED_AT_MOST):
                await self.replicas.in_force(self._committed)
                async with self.replicas.steady():
                    planned: Plan[T] = await self.replicas.in_thread(plan)
                if validate_only or planned.empty:
                    return
                try:
                    await self._commit(planned.commit)
                except CatalogueConflict as error:
                    logger.info("planned again: %s", error)
                    conflict = error
                    # What somebody else has committed may still be on its way here.
                    with suppress(CatalogueConflict):
                        await self._commit(NOTHING)
                else:
                    await self.replicas.in_force(self._committed)
                    return
        raise conflict

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        with trio.move_on_after(TURN_S) as waiting:
            await self._lock.acquire()
        if waiting.cancelled_caught:
            raise StorageError(f"the catalogue has not taken earlier changes for {TURN_S:.0f} s; try again later")
        try:
            yield
        finally:
            self._lock.release()

    async def _commit(self, commit: Commit) -> None:
        # Whatever becomes of the client that asked: which revision it became must be known before the next plan.
        with trio.CancelScope(shield=True):
            self._committed = await self.replicas.in_catalogue(self._commit_in_thread, commit)

    def _commit_in_thread(self, commit: Commit) -> int:
        """[thread] On a full disk room is kept for deletions, and for configs: a shorter retention frees some too."""
        catalogue = self.replicas.catalogue
        try:
            return catalogue.commit(commit)
        except BrokerError as error:
            if _makes_partitions(commit) or not is_full(error) or not self.partitions.files.make_room():
                raise
        return catalogue.commit(commit)


def _makes_partitions(commit: Commit) -> bool:
    return any(isinstance(change, Put) and change.key.startswith(PARTITIONS) for change in commit.changes)
