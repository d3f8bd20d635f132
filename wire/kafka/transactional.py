"""Codes that older clients of the transactional APIs know."""

from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, error_code


def producer_error_code(error: BrokerError, version: int, first_with_fenced: int) -> int:
    """The code of an error; clients that do not know PRODUCER_FENCED yet are told INVALID_PRODUCER_EPOCH (KIP-588)."""
    code = error_code(error)
    if code == ErrorCode.PRODUCER_FENCED and version < first_with_fenced:
        return int(ErrorCode.INVALID_PRODUCER_EPOCH)
    return code
