"""A node's links to the others, composed. A node by itself never imports this."""

from collections.abc import Mapping

from attrs import define

from coordinators.background import Background
from coordinators.cluster.hearsay import AskWhetherEnded
from coordinators.cluster.nodes import Nodes
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.records.directory import PartitionDirectory
from coordinators.share.asking import OrderlyAsking
from coordinators.share.ends import LocalShareRecords
from coordinators.share.states import LocalShareStates
from coordinators.transaction.markers import LocalMarkers
from coordinators.transaction.transactions import Transactions
from engine.config.resolve import BrokerSettings
from tidegate.world import World
from wire.kafka.listeners import NodeWays
from wire.kafka.nodes.coordinators import ClusterCoordinators
from wire.kafka.nodes.heartbeats import Heartbeats
from wire.kafka.nodes.letter_calls import ClusterLetterCalls
from wire.kafka.nodes.letters import LetterLinks
from wire.kafka.nodes.links import NodeLinks, SharedLinks
from wire.kafka.nodes.markers import ClusterMarkers
from wire.kafka.nodes.share_ends import ClusterShareRecords
from wire.kafka.nodes.share_states import StateAttempts
from wire.kafka.nodes.trust import LinkKind, NodeTrust
from wire.kafka.nodes.verification import ClusterVerification
from wire.tls.dialling import TlsDialling
from wire.tls.identity import TlsIdentity


@define(eq=False)
class ClusterLinks:
    """What goes over them. Answers come in the order of requests: what waits for disks does not go over the link that
    producers wait for."""

    replicas: NodeLinks
    questions: SharedLinks
    writes: SharedLinks
    letters: LetterLinks
    states: SharedLinks
    carried: SharedLinks
    background: Background

    @classmethod
    def compose(
        cls,
        world: World,
        trust: NodeTrust,
        nodes: Nodes,
        background: Background,
        settings: BrokerSettings,
        identities: Mapping[str, TlsIdentity],
    ) -> "ClusterLinks":
        """Nobody is connected to yet."""
        largest = settings.integer("socket.request.max.bytes")
        encrypt = TlsDialling(identities, world.workers).encrypt
        links = NodeLinks(world.dial, trust, nodes, background, largest, NodeWays.of(settings), encrypt)
        kinds = (LinkKind.QUESTIONS, LinkKind.WRITES, LinkKind.LETTERS, LinkKind.STATES, LinkKind.CARRIED)
        questions, writes, letters, states, carried = (SharedLinks(links, world.clock, kind) for kind in kinds)
        return cls(links, questions, writes, LetterLinks(letters), states, carried, background)

    def markers(self, local: LocalMarkers) -> ClusterMarkers:
        """Markers into partitions wherever they are led."""
        return ClusterMarkers(local, local.directory, self.writes, self.background)

    def verification(self, transactions: Transactions, directory: PartitionDirectory) -> ClusterVerification:
        """Questions to coordinators wherever they are."""
        return ClusterVerification(transactions, directory, self.questions, self.background)

    def coordinators(self, transactions: Transactions, directory: PartitionDirectory) -> ClusterCoordinators:
        """What all of them know of transactions."""
        return ClusterCoordinators(transactions, directory, self.questions)

    def share_states(self, local: LocalShareStates, patience_s: float) -> OrderlyAsking:
        """The state of share partitions, wherever it is kept."""
        node_id = local.internal_topics.controller.topics.node_id
        attempts = StateAttempts(local, self.states, self.background, node_id)
        return OrderlyAsking(attempts.ask, local.clock, local.timers, patience_s)

    def letter_calls(self) -> ClusterLetterCalls:
        """Leaders elsewhere, to be told of letters that wait for them."""
        return ClusterLetterCalls(self.questions, self.background)

    def share_records(self, local: LocalShareRecords) -> ClusterShareRecords:
        """The ends of partitions, wherever they are led."""
        return ClusterShareRecords(local, self.questions, self.background)

    def heartbeats(self, replicas: ReplicaManager) -> AskWhetherEnded:
        """What others know of this node's life."""
        return Heartbeats(self.questions, replicas).ask
