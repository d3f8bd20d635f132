"""Decides about topics and configs: plans a change, and commits it to the catalogue.

Changes are made one at a time. Each is planned in a thread against what this node knows, with all of its own earlier
changes in it, and committed if nobody has changed the same rows meanwhile; else it is planned again. Who carries it
out is the replica manager of each node; the answer waits until this node's has. However many topics a request
names, it is one change.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import trio
from attrs import define, field

from coordinators.background import Background
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.configs import ConfigAlteration, ConfigResource
from coordinators.topic_view import Plan, Topic
from coordinators.topics import PartitionsSpec, Topics, TopicSpec
from engine.catalogue.catalogue import CatalogueConflict, Commit, Put
from engine.catalogue.records import PARTITIONS, NodeRecord
from engine.errors import BrokerError, TopicAlreadyExists
from engine.files.reserve import is_full
from engine.ids import TopicId
from engine.partition.partitions import Partitions

logger = logging.getLogger("tidegate.controller")

T = TypeVar("T")
Results = tuple[T | BrokerError, ...]

PLANNED_AT_MOST = 10
"""So often a change is planned before whoever asked for it is told that others were always quicker."""


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
        return await self._change(lambda: self.topics.plan_create(specs), validate_only=validate_only)

    async def ensure_topic(self, spec: TopicSpec) -> None:
        """Make a topic unless there is one of its name. Raises why it cannot be made."""
        (result,) = await self.create_topics([spec])
        if isinstance(result, BrokerError) and not isinstance(result, TopicAlreadyExists):
            raise result

    async def create_partitions(
        self, specs: Sequence[PartitionsSpec], *, validate_only: bool = False
    ) -> Results[Topic]:
        """Add partitions to topics."""
        return await self._change(lambda: self.topics.plan_partitions(specs), validate_only=validate_only)

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
        return await self._change(lambda: self.topics.plan_alter_configs(wanted), validate_only=validate_only)

    async def replace_configs(
        self,
        wanted: Sequence[tuple[ConfigResource, Mapping[str, str | None]]],
        *,
        validate_only: bool = False,
    ) -> Results[ConfigResource]:
        """Replace all settings of each resource."""
        return await self._change(lambda: self.topics.plan_replace_configs(wanted), validate_only=validate_only)

    async def finish_deletion(self, topic_ids: Sequence[TopicId]) -> None:
        """Nothing is left of these deleted topics: the catalogue forgets them. Raises why it cannot."""
        await self._carry_out(lambda: Plan[None](self.topics.plan_finish_delete(topic_ids), ()))

    async def register(self, node: NodeRecord) -> None:
        """Tell the cluster of this node, or of what has changed about it. Raises why it cannot."""
        known = self.replicas.nodes.by_id
        changes = () if known.get(node.node_id) == node else (Put(node.key, node.encode()),)
        await self._carry_out(lambda: Plan[None](Commit(changes=changes), ()))

    # -- from the plan to the catalogue

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
            return tuple(each if isinstance(each, BrokerError) else error for each in planned[0].results)
        return planned[0].results

    async def _carry_out(self, plan: Callable[[], Plan[T]], *, validate_only: bool = False) -> None:
        async with self._lock:
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
                    await self.replicas.catch_up()
                else:
                    await self.replicas.in_force(self._committed)
                    return
        raise conflict

    async def _commit(self, commit: Commit) -> None:
        # Whatever becomes of the client that asked: which revision it became must be known before the next plan.
        with trio.CancelScope(shield=True):
            self._committed = await self.replicas.in_thread(self._commit_in_thread, commit)

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
