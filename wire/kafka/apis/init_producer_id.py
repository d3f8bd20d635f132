"""InitProducerId (22), versions 0-5: an identity for an idempotent producer.

From version 3 a producer may bring its id and epoch to have the epoch raised (KIP-360); without a transactional
id Kafka gives such a producer a new id, and so do we. Transactional ids are not served yet, which is
answered with an error that clients take as final.
"""

from collections.abc import Coroutine
from typing import Any

from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from wire.kafka.request import Context

KEY = 22
VERSIONS = (0, 5)


def handle(
    request: InitProducerIdRequest, context: Context
) -> InitProducerIdResponse | Coroutine[Any, Any, InitProducerIdResponse]:
    """Hand out the next producer id; a new block of ids is reserved in a thread."""
    if request.transactional_id == "":
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
    if request.transactional_id is not None:
        return InitProducerIdResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, producer_epoch=-1)
    producer_id = context.node.producer_ids.take()
    if producer_id is None:
        return _after_reserving(context)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


async def _after_reserving(context: Context) -> InitProducerIdResponse:
    producer_ids = context.node.producer_ids
    try:
        while (producer_id := producer_ids.take()) is None:
            producer_ids.add(await context.node.in_thread(producer_ids.reserve))
    except BrokerError as error:
        return InitProducerIdResponse(error_code=error_code(error), producer_epoch=-1)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
