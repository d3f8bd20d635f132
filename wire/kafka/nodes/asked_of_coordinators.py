"""What leaders on other nodes ask of a transaction's coordinator: AddPartitionsToTxn of versions 4 and 5 (KIP-890).

Each transaction is answered for itself. The partitions are not looked up: whoever leads them knows that they exist, and
this node may hear of them later.
"""

from coordinators.transaction.transaction import V2, ProducerIdentity, TopicPartition
from coordinators.transaction.transactions import Transactions
from engine.deferred import Deferred, all_of
from wire.kafka.errors import error_code
from wire.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from wire.kafka.nodes.trust import only_nodes
from wire.kafka.request import Context


def answer_leader(
    request: AddPartitionsToTxnRequest, context: Context, transactions: Transactions
) -> AddPartitionsToTxnResponse | Deferred[AddPartitionsToTxnResponse]:
    """Add the partitions of each transaction, or verify that they were added."""
    if context.peer.node_id is None:
        return AddPartitionsToTxnResponse(error_code=error_code(only_nodes()))
    answers = all_of([_answer(each, transactions) for each in request.transactions])
    return answers.map(lambda results: AddPartitionsToTxnResponse(results_by_transaction=results))


def _answer(asked: AddPartitionsToTxnTransaction, transactions: Transactions) -> Deferred[AddPartitionsToTxnResult]:
    producer = ProducerIdentity(asked.producer_id, asked.producer_epoch)
    places = [(topic.name, index) for topic in asked.topics for index in topic.partitions]
    if asked.verify_only:
        settled = [transactions.verify(asked.transactional_id, producer, place) for place in places]
    else:
        settled = [transactions.add_partitions(asked.transactional_id, producer, places, V2)] * len(places)
    codes = all_of([each.map(lambda _: 0, error_code) for each in settled])
    return codes.map(lambda found: _result(asked, dict(zip(places, found, strict=True))))


def _result(asked: AddPartitionsToTxnTransaction, codes: dict[TopicPartition, int]) -> AddPartitionsToTxnResult:
    return AddPartitionsToTxnResult(
        asked.transactional_id,
        [
            AddPartitionsToTxnTopicResult(
                topic.name,
                [AddPartitionsToTxnPartitionResult(index, codes[topic.name, index]) for index in topic.partitions],
            )
            for topic in asked.topics
        ],
    )
