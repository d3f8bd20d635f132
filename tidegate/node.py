"""The parts of a running node by name, for those who run it or look into it; its handlers name the types they need."""

from attrs import frozen

from coordinators.cluster.controller import ClusterController
from coordinators.cluster.nodes import NodeIdentity
from coordinators.group.groups import Groups
from coordinators.internal_topics import InternalTopics
from coordinators.producer_ids import ProducerIds
from coordinators.release.releases import Releases
from coordinators.topics import Topics
from coordinators.tracing.tracing import Tracing
from coordinators.transaction.transactions import Transactions
from engine.clock import Clock
from engine.partition.partitions import Partitions
from engine.timers import Timers
from engine.workers import Workers
from wire.services import Services


@frozen
class Node:
    """One node, composed."""

    services: Services
    clock: Clock
    workers: Workers

    @property
    def identity(self) -> NodeIdentity:
        return self.services[NodeIdentity]

    @property
    def topics(self) -> Topics:
        return self.services[Topics]

    @property
    def partitions(self) -> Partitions:
        return self.services[Partitions]

    @property
    def controller(self) -> ClusterController:
        return self.services[ClusterController]

    @property
    def internal_topics(self) -> InternalTopics:
        return self.services[InternalTopics]

    @property
    def producer_ids(self) -> ProducerIds:
        return self.services[ProducerIds]

    @property
    def groups(self) -> Groups:
        return self.services[Groups]

    @property
    def transactions(self) -> Transactions:
        return self.services[Transactions]

    @property
    def releases(self) -> Releases:
        return self.services[Releases]

    @property
    def tracing(self) -> Tracing:
        return self.services[Tracing]

    @property
    def timers(self) -> Timers:
        return self.services[Timers]
