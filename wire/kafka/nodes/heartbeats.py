"""How a node that does not hear etcd asks the others of its life (`coordinators/cluster/hearsay.py`): by Kafka's
BrokerHeartbeat, which brokers of Kafka's send to their controller."""

from attrs import define

from coordinators.cluster.replica_manager import ReplicaManager
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from wire.kafka.nodes.links import SharedLinks

VERSIONS = (0, 0)


@define(eq=False)
class Heartbeats:
    """Asks for this node."""

    links: SharedLinks
    replicas: ReplicaManager

    async def ask(self, other: int, epoch: int) -> bool:
        """See `AskWhetherEnded`."""
        request = BrokerHeartbeatRequest(self.replicas.topics.node_id, epoch, self.replicas.revision)
        answer: BrokerHeartbeatResponse = await self.links.ask(other, request, VERSIONS)
        return answer.error_code == ErrorCode.STALE_BROKER_EPOCH
