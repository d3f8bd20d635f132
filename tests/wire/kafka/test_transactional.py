"""What the transactional APIs share."""

from engine.errors import InvalidTxnState, ProducerFenced
from wire.kafka.transactional import producer_error_code


def test_older_clients_are_told_of_fencing_in_words_they_know() -> None:
    assert producer_error_code(ProducerFenced(""), 1, 2) == 47
    assert producer_error_code(ProducerFenced(""), 2, 2) == 90
    assert producer_error_code(InvalidTxnState(""), 1, 2) == 48
