"""What the transactional APIs share: waiting for a coordinator's answer, and codes that older clients know."""

from typing import Any

import trio

from coordinators.deferred import Deferred
from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, error_code


async def answer_of(deferred: Deferred) -> Any:
    """Wait for an answer; a BrokerError is returned, not raised."""
    settled = trio.Event()
    answers: list[Any] = []

    def resolved(message: Any) -> None:
        answers.append(message)
        settled.set()

    deferred.on_resolved(resolved)
    await settled.wait()
    return answers[0]


def producer_error_code(error: BrokerError, version: int, first_with_fenced: int) -> int:
    """The code of an error; clients that do not know PRODUCER_FENCED yet are told INVALID_PRODUCER_EPOCH (KIP-588)."""
    code = error_code(error)
    if code == ErrorCode.PRODUCER_FENCED and version < first_with_fenced:
        return int(ErrorCode.INVALID_PRODUCER_EPOCH)
    return code
