"""What makes a node one of several: its membership, the controller's part, replication in both directions.

A node by itself has a membership too, which does next to nothing, and none of the rest.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from coordinators.cluster.controller import ClusterController
from coordinators.cluster.controlling import SUSPECT_TIMEOUT_S, ControllerRole
from coordinators.cluster.events import ClusterEvents
from coordinators.cluster.hearsay import AskWhetherEnded, Hearsay
from coordinators.cluster.leader_elections import LeaderElections
from coordinators.cluster.membership import ClusterMembership
from coordinators.cluster.reassignments import next_step
from coordinators.internal_topics import InternalTopics
from coordinators.release.releases import Releases
from coordinators.replication.lags import ReplicaLags
from coordinators.replication.ports import FollowerReads, LeaderLinks
from coordinators.topic_creation import DEFAULT_FACTOR
from engine.catalogue.records import NodeRecord
from engine.timers import Timers
from tidegate.world import World
from wire.kafka.listeners import NodeWays

if TYPE_CHECKING:
    from tidegate.replication import Replication

DOUBTFUL = 0.8
"""The share of a session's duration after which silence means that it may have ended."""


@define(eq=False)
class Clustering:
    """This node among others."""

    membership: ClusterMembership
    elections: LeaderElections
    role: ControllerRole
    events: ClusterEvents
    replication: "Replication | None" = field(default=None, init=False)
    hearsay: Hearsay | None = field(default=None, init=False)

    @classmethod
    def compose(cls, world: World, controller: ClusterController) -> "Clustering":
        """Its place, and what it does if it is the controller."""
        elections = LeaderElections(controller.replicas, world.catalogue_workers, [next_step])
        membership = ClusterMembership(controller, elections, world.catalogue_workers, world.random_bytes)
        membership.on_fenced.append(controller.replicas.step_down)
        role = ControllerRole(membership, elections, _reach(world, NodeWays.of(controller.topics.settings)))
        composed = cls(membership, elections, role, ClusterEvents(controller.replicas, world.clock))
        if not membership.is_alone:
            controller.partitions.doubts.append(composed._doubts)
            from coordinators.cluster.repairs import Repairs  # here: a node by itself need not wait for it

            repairs = Repairs(controller.replicas)
            controller.replicas.on_damaged.append(repairs.begin_anew)
            controller.replicas.on_damaged_stage.append(repairs.begin_stage_anew)
        return composed

    @property
    def parts(self) -> tuple[object, ...]:
        """What doors may ask for by its type."""
        return self.membership, self.elections, self.role, self.events, self.lags

    @property
    def lags(self) -> ReplicaLags:
        """How far behind others are."""
        replication = self.replication
        return ReplicaLags(self.membership.replicas.partitions, None if replication is None else replication.in_sync)

    @property
    def is_alone(self) -> bool:
        """Whether there is only this node."""
        return self.membership.is_alone

    def look_after(self, internal_topics: InternalTopics) -> None:
        """Have the broker's own topics get the replicas that they should have."""
        if not self.is_alone:
            from coordinators.cluster.raising import FactorRaising  # here: a node by itself need not wait for them
            from coordinators.tracing.event_topic import TRACE_EVENTS_TOPIC

            settings = internal_topics.controller.topics.settings

            def wanted() -> dict[str, int]:
                factors = internal_topics.default_factors()
                if not settings.is_set(DEFAULT_FACTOR):
                    factors[TRACE_EVENTS_TOPIC] = settings.integer(DEFAULT_FACTOR)
                return factors

            self.role.chores.append(FactorRaising(self.membership.replicas, wanted).look)

    def acts_for_all(self) -> bool:
        """Whether what only one node is to do is this one's to do."""
        return self.is_alone or self.role.is_controller

    def replicate(
        self, world: World, controller: ClusterController, releases: Releases, timers: Timers, links: LeaderLinks
    ) -> FollowerReads:
        """Follow others, and be followed."""
        from tidegate.replication import Replication  # here: a node by itself need not wait for it

        self.replication = Replication.compose(world, controller, releases, timers, links, self)
        return self.replication.followers

    def hear(self, ask: AskWhetherEnded) -> None:
        """Learn from others what etcd does not tell of this node."""
        self.hearsay = Hearsay(self.membership, self._doubtful_in_s, ask)

    async def start(self, nursery: trio.Nursery) -> None:
        """Its tasks; comes back when this node has entered the cluster."""
        if self.replication is not None:
            self.replication.start(nursery)
        nursery.start_soon(self.role.run)
        if self.hearsay is not None:
            nursery.start_soon(self.hearsay.run)
        if not self.is_alone:
            from coordinators.cluster.withdrawals import Withdrawals  # here: a node by itself need not wait for it

            nursery.start_soon(Withdrawals(self.membership.replicas, self.elections).run)
        await nursery.start(self.membership.run)

    def _doubts(self) -> bool:
        """Whether the session was not confirmed for so long that it may have ended."""
        session = self.membership.replicas.catalogue.session
        return session.is_lost or self._doubtful_in_s() < 0

    def _doubtful_in_s(self) -> float:
        session = self.membership.replicas.catalogue.session
        return DOUBTFUL * session.duration_s - session.silent_s()


def _reach(world: World, ways: NodeWays) -> Callable[[NodeRecord], Awaitable[object]]:
    async def reach(node: NodeRecord) -> None:
        """By whichever of its listeners for nodes can be reached from here. It binds all of them together: where one
        refuses, and none is reached, nobody is there."""
        failure: OSError | None = None
        listeners = ways.to(node.listeners)
        for listener in listeners:
            try:
                with trio.fail_after(SUSPECT_TIMEOUT_S / (len(listeners) + 1)):
                    stream = await world.dial(listener.host, listener.port)
            except ConnectionRefusedError as error:
                failure = error
            except (OSError, trio.TooSlowError) as error:
                failure = failure or OSError(str(error) or "it does not answer")
            else:
                await trio.aclose_forcefully(stream)
                return
        if failure is not None:
            raise failure

    return reach
