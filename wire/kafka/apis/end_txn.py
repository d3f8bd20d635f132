"""EndTxn (26), versions 0-5: commit or abort a transaction (KIP-98).

Answered when every partition has its marker; Kafka answers when the decision is durable, and then has the producer's
next request wait. Version 5 is sent where `transaction.version` 2 is finalised (KIP-890): each end raises the
producer's epoch and tells the identity to go on with. PRODUCER_FENCED from version 2 (KIP-588).
"""

from operator import attrgetter

from coordinators.cluster.controller import ClusterController
from coordinators.producer_ids import ProducerIds
from coordinators.transaction.transaction import V0, V2, ProducerIdentity
from coordinators.transaction.transactions import Transactions
from coordinators.waiting import result_of
from engine.errors import BrokerError
from wire.kafka.errors import error_code, producer_error_code
from wire.kafka.messages.end_txn import EndTxnRequest, EndTxnResponse
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.rights import WRITE_TRANSACTION, Need, Rights

KEY = 26
VERSIONS = (0, 5)
RIGHTS = Rights(
    Need(WRITE_TRANSACTION, attrgetter("transactional_id")),
    refuse=lambda _request, _version, error: EndTxnResponse(error_code=error_code(error)),
)

FIRST_FENCED_VERSION = 2
FIRST_BUMPING_VERSION = 5


def handle(
    request: EndTxnRequest,
    context: Context,
    transactions: Transactions,
    producer_ids: ProducerIds,
    controller: ClusterController,
) -> Later[EndTxnResponse]:
    """End the transaction; should its epochs be used up, a producer id is needed."""
    if not producer_ids.available:
        return _after_reserving(request, context, transactions, producer_ids, controller)
    return _end(request, context, transactions)


async def _after_reserving(
    request: EndTxnRequest,
    context: Context,
    transactions: Transactions,
    producer_ids: ProducerIds,
    controller: ClusterController,
) -> EndTxnResponse:
    try:
        await producer_ids.replenish(controller.replicas.in_catalogue)
    except BrokerError as error:
        return EndTxnResponse(error_code=error_code(error))
    return await result_of(_end(request, context, transactions))


def _end(request: EndTxnRequest, context: Context, transactions: Transactions) -> Deferred[EndTxnResponse]:
    bumping = context.version >= FIRST_BUMPING_VERSION

    def refuse(error: BrokerError) -> EndTxnResponse:
        return EndTxnResponse(error_code=producer_error_code(error, context.version, FIRST_FENCED_VERSION))

    def response(next_identity: ProducerIdentity) -> EndTxnResponse:
        return EndTxnResponse(producer_id=next_identity.producer_id, producer_epoch=next_identity.epoch)

    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    version = V2 if bumping else V0
    ended = transactions.end(request.transactional_id, producer, commit=request.committed, version=version)
    return ended.map(response, refuse)
