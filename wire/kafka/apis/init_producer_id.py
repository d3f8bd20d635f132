"""InitProducerId (22), versions 0-5: an identity for an idempotent or transactional producer.

From version 3 a producer may bring its id and epoch to have the epoch raised (KIP-360); without a transactional
id Kafka gives such a producer a new id, and so do we. With one, every call fences the instances before it; while
their transaction is being ended the answer is CONCURRENT_TRANSACTIONS. PRODUCER_FENCED from version 4 (KIP-588).
"""

from collections.abc import Coroutine
from typing import Any

from coordinators.transaction.transaction import NO_EPOCH, NO_ID, ProducerIdentity
from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from wire.kafka.node import Node
from wire.kafka.request import Context, Deferred
from wire.kafka.transactional import answer_of, producer_error_code

KEY = 22
VERSIONS = (0, 5)

FIRST_FENCED_VERSION = 4
Answer = InitProducerIdResponse | Deferred


def handle(request: InitProducerIdRequest, context: Context) -> Answer | Coroutine[Any, Any, Answer]:
    """Hand out an identity; a new block of producer ids is reserved in a thread."""
    if request.transactional_id == "" or (request.producer_id == NO_ID) != (request.producer_epoch == NO_EPOCH):
        return _refused(ErrorCode.INVALID_REQUEST)
    if not context.node.producer_ids.available:
        return _after_reserving(request, context)
    return _answer(request, context)


def _answer(request: InitProducerIdRequest, context: Context) -> Answer:
    if request.transactional_id is None:
        producer_id = context.node.producer_ids.take()
        assert producer_id is not None, "ids were available"
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    expected = None
    if request.producer_id != NO_ID:
        expected = ProducerIdentity(request.producer_id, request.producer_epoch)
    transactions = context.node.transactions

    def response(answer: Any) -> InitProducerIdResponse:
        if isinstance(answer, BrokerError):
            return _refused(producer_error_code(answer, context.version, FIRST_FENCED_VERSION))
        return InitProducerIdResponse(producer_id=answer.producer_id, producer_epoch=answer.epoch)

    return transactions.init_producer_id(request.transactional_id, request.transaction_timeout_ms, expected).map(
        response
    )


def _refused(code: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_epoch=-1)


async def _after_reserving(request: InitProducerIdRequest, context: Context) -> InitProducerIdResponse:
    try:
        await reserve_producer_ids(context.node)
    except BrokerError as error:
        return _refused(error_code(error))
    answer = _answer(request, context)
    response: InitProducerIdResponse = await answer_of(answer) if isinstance(answer, Deferred) else answer
    return response


async def reserve_producer_ids(node: Node) -> None:
    """See to it that there is a producer id to take."""
    while not node.producer_ids.available:
        node.producer_ids.add(await node.in_thread(node.producer_ids.reserve))
