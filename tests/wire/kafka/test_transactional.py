"""What the transactional APIs share."""

from trio.testing import trio_test

from coordinators.deferred import Deferred
from engine.errors import InvalidTxnState, ProducerFenced
from wire.kafka.transactional import answer_of, producer_error_code


@trio_test
async def test_an_answer_is_waited_for() -> None:
    answer = Deferred()
    answer.resolve("said")
    assert await answer_of(answer) == "said"


def test_older_clients_are_told_of_fencing_in_words_they_know() -> None:
    assert producer_error_code(ProducerFenced(""), 1, 2) == 47
    assert producer_error_code(ProducerFenced(""), 2, 2) == 90
    assert producer_error_code(InvalidTxnState(""), 1, 2) == 48
