"""InitProducerId (22), versions 0-5: an identity for an idempotent or transactional producer.

From version 3 a producer may bring its id and epoch to have the epoch raised (KIP-360); without a transactional
id Kafka gives such a producer a new id, and so do we. With one, every call fences the instances before it; while
their transaction is being ended the answer is CONCURRENT_TRANSACTIONS. PRODUCER_FENCED from version 4 (KIP-588).
"""

from collections.abc import Coroutine
from operator import attrgetter
from typing import Any

from coordinators.access.access import AccessControl
from coordinators.cluster.controller import ClusterController
from coordinators.producer_ids import ProducerIds
from coordinators.transaction.transaction import NO_EPOCH, NO_ID, ProducerIdentity
from coordinators.transaction.transactions import Transactions
from coordinators.waiting import result_of
from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, error_code, producer_error_code
from wire.kafka.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import IDEMPOTENT_WRITE, WRITE_TOPIC, WRITE_TRANSACTION, Need, Rights, Within

KEY = 22
VERSIONS = (0, 5)
RIGHTS = Rights(
    Need(WRITE_TRANSACTION, attrgetter("transactional_id")),
    Within(IDEMPOTENT_WRITE),
    Within(WRITE_TOPIC),
    refuse=lambda _request, _version, error: _refused(error_code(error)),
)

FIRST_FENCED_VERSION = 4
Answer = InitProducerIdResponse | Deferred[InitProducerIdResponse]


def handle(
    request: InitProducerIdRequest,
    context: Context,
    transactions: Transactions,
    producer_ids: ProducerIds,
    controller: ClusterController,
    access: AccessControl,
) -> Answer | Coroutine[Any, Any, Answer]:
    """Hand out an identity; a new block of producer ids is reserved in a thread."""
    if request.transactional_id is None and not _may_be_idempotent(context, access):
        return _refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if request.transactional_id == "" or (request.producer_id == NO_ID) != (request.producer_epoch == NO_EPOCH):
        return _refused(ErrorCode.INVALID_REQUEST)
    if not producer_ids.available:
        return _after_reserving(request, context, transactions, producer_ids, controller)
    return _answer(request, context, transactions, producer_ids)


def _may_be_idempotent(context: Context, access: AccessControl) -> bool:
    """Whoever may write to some topic may be idempotent there (KIP-679)."""
    caller = context.caller
    return access.permits(caller, IDEMPOTENT_WRITE) or access.allows_any(caller, WRITE_TOPIC, "init_producer_id")


def _answer(
    request: InitProducerIdRequest, context: Context, transactions: Transactions, producer_ids: ProducerIds
) -> Answer:
    if request.transactional_id is None:
        producer_id = producer_ids.take()
        assert producer_id is not None, "ids were available"
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    expected = None
    if request.producer_id != NO_ID:
        expected = ProducerIdentity(request.producer_id, request.producer_epoch)

    def refuse(error: BrokerError) -> InitProducerIdResponse:
        return _refused(producer_error_code(error, context.version, FIRST_FENCED_VERSION))

    def response(identity: ProducerIdentity) -> InitProducerIdResponse:
        return InitProducerIdResponse(producer_id=identity.producer_id, producer_epoch=identity.epoch)

    begun = transactions.init_producer_id(request.transactional_id, request.transaction_timeout_ms, expected)
    return begun.map(response, refuse)


def _refused(code: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_epoch=-1)


async def _after_reserving(
    request: InitProducerIdRequest,
    context: Context,
    transactions: Transactions,
    producer_ids: ProducerIds,
    controller: ClusterController,
) -> InitProducerIdResponse:
    try:
        await producer_ids.replenish(controller.replicas.in_catalogue)
    except BrokerError as error:
        return _refused(error_code(error))
    answer = _answer(request, context, transactions, producer_ids)
    return await result_of(answer) if isinstance(answer, Deferred) else answer
