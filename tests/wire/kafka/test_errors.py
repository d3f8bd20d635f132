"""Every refusal of the broker has a Kafka error code of its own, by Kafka's number."""

import inspect

import kio.schema.errors
import pytest

from engine import errors
from engine.errors import BrokerError, InvalidTxnState, ProducerFenced
from wire.kafka.codec import EncodeError, WireError
from wire.kafka.errors import ErrorCode, error_code, producer_error_code

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, BrokerError)]
ABSTRACT = {BrokerError, errors.RefusedRecords}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ABSTRACT], ids=lambda kind: kind.__name__)
def test_every_refusal_has_a_code(kind: type[BrokerError]) -> None:
    assert error_code(kind.__new__(kind)) != ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_refusal_without_a_code_is_an_unknown_error() -> None:
    class Unheard(BrokerError):
        pass

    assert error_code(Unheard("why")) == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_finer_refusal_has_the_code_of_the_coarser() -> None:
    class Finer(errors.StorageError):
        pass

    assert error_code(Finer("why")) == ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("code", ErrorCode, ids=lambda code: code.name)
def test_the_names_and_numbers_are_kafkas(code: ErrorCode) -> None:
    assert kio.schema.errors.ErrorCode(int(code)).name.upper() == code.name


def test_malformed_bytes_and_our_own_mistakes_are_told_apart() -> None:
    assert not issubclass(WireError, EncodeError)
    assert not issubclass(EncodeError, WireError)
    assert not issubclass(WireError, BrokerError)


def test_older_clients_are_told_of_fencing_in_words_they_know() -> None:
    assert producer_error_code(ProducerFenced(""), 1, 2) == 47
    assert producer_error_code(ProducerFenced(""), 2, 2) == 90
    assert producer_error_code(InvalidTxnState(""), 1, 2) == 48
