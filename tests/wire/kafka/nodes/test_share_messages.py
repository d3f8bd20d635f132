"""Questions about share partitions and their answers, over the wire and back."""

from typing import Any

import pytest

from coordinators.share.ports import DeliveryState, LetterProducer, ShareChange, SharePlace, ShareState, StateBatch
from coordinators.share.questions import (
    DeleteState,
    InitializeState,
    ReadState,
    StateQuestion,
    SummarizeState,
    WriteState,
)
from engine.errors import FencedStateEpoch, InvalidRequest
from wire.kafka.codec import request_decoder, request_encoder, response_decoder, response_encoder
from wire.kafka.messages import read_share_group_state as read_wire
from wire.kafka.messages import write_share_group_state as write_wire
from wire.kafka.nodes.share_messages import EXCHANGES, read_answers, read_questions, state_request, state_response

TOPICS = (b"\1" * 16, b"\2" * 16)
PLACES = [SharePlace("mail", topic_id, index) for topic_id in TOPICS for index in (0, 3)]
LETTER = StateBatch(20, 21, DeliveryState.ARCHIVING, 5, 0, 11, 12, "rejected", "member")
WAITING = StateBatch(22, 22, DeliveryState.AVAILABLE, 1, 99)
STATE = ShareState(4, 2, 20, 1, (LETTER, WAITING), LetterProducer(9, 3))
CHANGE = ShareChange(20, 1, (LETTER, WAITING), LetterProducer(9, 3))

QUESTIONS: list[tuple[Any, Any]] = [
    (lambda place: InitializeState(place, 4, -1), None),
    (lambda place: ReadState(place, 2), STATE),
    (lambda place: WriteState(place, 4, 2, CHANGE), None),
    (DeleteState, None),
    (SummarizeState, ShareState(4, 2, 20, 1)),
]


def sent(message: Any, version: int, encoder: Any, decoder: Any) -> Any:
    """The message as the other node reads it."""
    data = b"".join(encoder(message.API_KEY, version)(message))
    return decoder(message.API_KEY, version)(memoryview(data), 0)


@pytest.mark.parametrize(("make", "value"), QUESTIONS, ids=lambda each: getattr(each, "__name__", ""))
def test_what_is_asked_and_answered_arrives_as_it_was_meant(make: Any, value: Any) -> None:
    questions: list[StateQuestion] = [make(place) for place in PLACES]
    exchange = EXCHANGES[type(questions[0])]
    request = sent(state_request(exchange, questions), exchange.versions[1], request_encoder, request_decoder)
    assert read_questions(exchange, request) == list(zip(PLACES, questions, strict=True))
    answers = [(place, value) for place in PLACES[:-1]] + [(PLACES[-1], FencedStateEpoch("later"))]
    response = sent(state_response(exchange, answers), exchange.versions[1], response_encoder, response_decoder)
    found = read_answers(exchange, "mail", response)
    assert [found[place] for place in PLACES[:-1]] == [value] * 3
    assert isinstance(found[PLACES[-1]], FencedStateEpoch)
    assert str(found[PLACES[-1]]) == "later"


def test_what_kafkas_own_fields_say_counts_where_ours_are_not() -> None:
    batch = write_wire.StateBatch(5, 6, 2, 1)
    data = write_wire.PartitionData(0, 3, 1, 5, 2, [batch])
    request = write_wire.WriteShareGroupStateRequest("mail", [write_wire.WriteStateData(TOPICS[0], [data])])
    done = StateBatch(5, 6, DeliveryState.ACKNOWLEDGED, 1)
    ((_, question),) = read_questions(EXCHANGES[WriteState], request)
    assert question == WriteState(PLACES[0], 3, 1, ShareChange(5, 2, (done,)))
    result = read_wire.PartitionResult(0, 0, None, 3, 5, [read_wire.StateBatch(5, 6, 2, 1)])
    response = read_wire.ReadShareGroupStateResponse([read_wire.ReadStateResult(TOPICS[0], [result])])
    assert read_answers(EXCHANGES[ReadState], "mail", response) == {PLACES[0]: ShareState(3, 0, 5, 0, (done,))}


def test_what_cannot_be_read_is_refused_for_itself() -> None:
    data = [write_wire.PartitionData(0, tidegate_change=b"?"), write_wire.PartitionData(3)]
    request = write_wire.WriteShareGroupStateRequest("mail", [write_wire.WriteStateData(TOPICS[0], data)])
    (_, first), (_, second) = read_questions(EXCHANGES[WriteState], request)
    assert isinstance(first, InvalidRequest)
    assert isinstance(second, WriteState)
    results = [read_wire.PartitionResult(0, tidegate_state=b"?"), read_wire.PartitionResult(3)]
    response = read_wire.ReadShareGroupStateResponse([read_wire.ReadStateResult(TOPICS[0], results)])
    found = read_answers(EXCHANGES[ReadState], "mail", response)
    assert isinstance(found[PLACES[0]], InvalidRequest)
    assert isinstance(found[PLACES[1]], ShareState)
