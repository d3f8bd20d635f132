"""AddOffsetsToTxn (25), versions 0-4: a transaction is about to commit offsets of a group (KIP-98).

The partition in which the group keeps its offsets becomes part of the transaction. PRODUCER_FENCED from version 2
(KIP-588).
"""

from operator import attrgetter

from coordinators.group.groups import OFFSETS_TOPIC
from coordinators.internal_topics import InternalTopics
from coordinators.transaction.transaction import ProducerIdentity
from coordinators.transaction.transactions import Transactions
from coordinators.waiting import result_of
from engine.errors import BrokerError
from wire.kafka.errors import error_code, producer_error_code
from wire.kafka.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.rights import READ_GROUP, WRITE_TRANSACTION, Need, Rights

KEY = 25
VERSIONS = (0, 4)
RIGHTS = Rights(
    Need(WRITE_TRANSACTION, attrgetter("transactional_id")),
    Need(READ_GROUP, attrgetter("group_id")),
    refuse=lambda _request, _version, error: AddOffsetsToTxnResponse(error_code=error_code(error)),
)

FIRST_FENCED_VERSION = 2


def handle(
    request: AddOffsetsToTxnRequest, context: Context, transactions: Transactions, internal_topics: InternalTopics
) -> Later[AddOffsetsToTxnResponse]:
    """Add the group's partition; its topic is made before, if need be."""
    if internal_topics.is_missing(OFFSETS_TOPIC):
        return _after_making(request, context, transactions, internal_topics)
    return _add(request, context, transactions)


async def _after_making(
    request: AddOffsetsToTxnRequest, context: Context, transactions: Transactions, internal_topics: InternalTopics
) -> AddOffsetsToTxnResponse:
    try:
        await internal_topics.ensure(OFFSETS_TOPIC)
    except BrokerError as error:
        return AddOffsetsToTxnResponse(error_code=error_code(error))
    return await result_of(_add(request, context, transactions))


def _add(
    request: AddOffsetsToTxnRequest, context: Context, transactions: Transactions
) -> Deferred[AddOffsetsToTxnResponse]:
    def refuse(error: BrokerError) -> AddOffsetsToTxnResponse:
        return AddOffsetsToTxnResponse(error_code=producer_error_code(error, context.version, FIRST_FENCED_VERSION))

    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    added = transactions.add_offsets(request.transactional_id, producer, request.group_id)
    return added.map(lambda _: AddOffsetsToTxnResponse(), refuse)
