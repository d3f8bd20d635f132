"""Which transactions of producers the coordinators of all nodes know of: ListTransactions, DescribeTransactions.

Every partition of the coordinators' topic must have a leader, each leader must answer, and none may have changed when
all have: a coordinator that has just moved knows less than there is, and so does one that is loading.
"""

from collections.abc import Collection

from attrs import define

from coordinators.records.directory import PartitionDirectory
from coordinators.replication.ports import LinkBroken
from coordinators.transaction.orphans import Known, known_here
from coordinators.transaction.transaction import BY_LABEL, IDLE, TopicPartition
from coordinators.transaction.transactions import STATE_TOPIC, Transactions
from engine.errors import BrokerError
from wire.kafka.errors import broker_error
from wire.kafka.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from wire.kafka.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from wire.kafka.nodes.links import SharedLinks

LIST_VERSIONS = (0, 2)
DESCRIBE_VERSIONS = (0, 0)

Leaders = list[tuple[int, int]]
"""Of each partition the leader and its epoch."""


@define(eq=False)
class ClusterCoordinators:
    """See the module, and `Coordinators`."""

    transactions: Transactions
    directory: PartitionDirectory
    links: SharedLinks

    async def known(self, producer_ids: Collection[int]) -> Known | None:
        """Ask all of them."""
        before = self._leaders()
        nodes = {leader for leader, _ in before}
        if min(nodes, default=0) < 0:
            return None
        known: dict[int, frozenset[TopicPartition]] = {}
        try:
            for node_id in sorted(nodes):
                if node_id == self.directory.topics.node_id:
                    found = self._known_here(before, producer_ids)
                else:
                    found = await self._known_there(node_id, producer_ids)
                for producer_id, places in found.items():
                    known[producer_id] = known.get(producer_id, frozenset()) | places
        except (LinkBroken, BrokerError):
            return None
        return known if self._leaders() == before else None

    def _leaders(self) -> Leaders:
        topic = self.directory.topics.by_name.get(STATE_TOPIC)
        return [] if topic is None else [(row.leader, row.leader_epoch) for row in topic.partitions]

    def _known_here(self, leaders: Leaders, producer_ids: Collection[int]) -> Known:
        for index, (leader, _) in enumerate(leaders):
            if leader == self.directory.topics.node_id:
                self.transactions.runtime.machine(index)
        return known_here(self.transactions, set(producer_ids))

    async def _known_there(self, node_id: int, producer_ids: Collection[int]) -> Known:
        request = ListTransactionsRequest(producer_id_filters=sorted(producer_ids))
        listed: ListTransactionsResponse = await self.links.ask(node_id, request, LIST_VERSIONS)
        if listed.error_code:
            raise broker_error(listed.error_code)
        names = [each.transactional_id for each in listed.transaction_states if _may_end(each.transaction_state)]
        if not names:
            return {}
        described: DescribeTransactionsResponse = await self.links.ask(
            node_id, DescribeTransactionsRequest(names), DESCRIBE_VERSIONS
        )
        known: dict[int, frozenset[TopicPartition]] = {}
        for each in described.transaction_states:
            if each.error_code:
                raise broker_error(each.error_code)
            if _may_end(each.transaction_state):
                places = frozenset((topic.topic, index) for topic in each.topics for index in topic.partitions)
                known[each.producer_id] = known.get(each.producer_id, frozenset()) | places
        return known


def _may_end(state: str) -> bool:
    """Whether a coordinator in this state will write markers; one that is not known here counts as such."""
    return BY_LABEL.get(state) not in IDLE
