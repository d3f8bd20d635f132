"""EndTxn (26), versions 0-5: commit or abort a transaction (KIP-98).

Answered when every partition has its marker; Kafka answers when the decision is durable, and then has the producer's
next request wait. Version 5 is sent where `transaction.version` 2 is finalised (KIP-890): each end raises the
producer's epoch and tells the identity to go on with. PRODUCER_FENCED from version 2 (KIP-588).
"""

from collections.abc import Coroutine
from typing import Any

from coordinators.producer_ids import ProducerIds
from coordinators.transaction.transaction import V0, V2, ProducerIdentity
from coordinators.transaction.transactions import Transactions
from engine.errors import BrokerError
from engine.workers import Workers
from wire.kafka.apis.init_producer_id import reserve_producer_ids
from wire.kafka.errors import error_code
from wire.kafka.messages.end_txn import EndTxnRequest, EndTxnResponse
from wire.kafka.request import Context, Deferred
from wire.kafka.transactional import answer_of, producer_error_code

KEY = 26
VERSIONS = (0, 5)

FIRST_FENCED_VERSION = 2
FIRST_BUMPING_VERSION = 5


def handle(
    request: EndTxnRequest, context: Context, transactions: Transactions, producer_ids: ProducerIds, workers: Workers
) -> Deferred | Coroutine[Any, Any, EndTxnResponse]:
    """End the transaction; should its epochs be used up, a producer id is needed."""
    if not producer_ids.available:
        return _after_reserving(request, context, transactions, producer_ids, workers)
    return _end(request, context, transactions)


async def _after_reserving(
    request: EndTxnRequest, context: Context, transactions: Transactions, producer_ids: ProducerIds, workers: Workers
) -> EndTxnResponse:
    try:
        await reserve_producer_ids(producer_ids, workers)
    except BrokerError as error:
        return EndTxnResponse(error_code=error_code(error))
    response: EndTxnResponse = await answer_of(_end(request, context, transactions))
    return response


def _end(request: EndTxnRequest, context: Context, transactions: Transactions) -> Deferred:
    bumping = context.version >= FIRST_BUMPING_VERSION

    def response(answer: Any) -> EndTxnResponse:
        if isinstance(answer, BrokerError):
            return EndTxnResponse(error_code=producer_error_code(answer, context.version, FIRST_FENCED_VERSION))
        return EndTxnResponse(producer_id=answer.producer_id, producer_epoch=answer.epoch)

    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    version = V2 if bumping else V0
    return transactions.end(request.transactional_id, producer, commit=request.committed, version=version).map(response)
