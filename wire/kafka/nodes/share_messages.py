"""What nodes ask each other about the state of share partitions, as Kafka's messages: InitializeShareGroupState,
ReadShareGroupState, WriteShareGroupState, DeleteShareGroupState and ReadShareGroupStateSummary. Both directions of each
are here, so that they do not drift apart.

A change that is written and a state that is read go as they are kept (`record_formats.py`), in a field of our own, for
Kafka's has no room for back-off and dead letters. Where that field is there Kafka's batches are left out; where it is
not, they count.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import frozen

from coordinators.share.ports import DeliveryState, ShareChange, SharePlace, ShareState, StateBatch
from coordinators.share.questions import (
    DeleteState,
    InitializeState,
    ReadState,
    StateQuestion,
    SummarizeState,
    WriteState,
)
from coordinators.share.record_formats import (
    ShareSnapshot,
    ShareUpdate,
    decode_snapshot,
    decode_update,
    encode_snapshot,
    encode_update,
)
from engine.errors import BrokerError, InvalidRequest
from wire.kafka.errors import broker_error, error_code
from wire.kafka.messages import delete_share_group_state as delete_wire
from wire.kafka.messages import initialize_share_group_state as initialize_wire
from wire.kafka.messages import read_share_group_state as read_wire
from wire.kafka.messages import read_share_group_state_summary as summary_wire
from wire.kafka.messages import write_share_group_state as write_wire

NO_LEADER_EPOCH = -1


@frozen(eq=False)
class StateExchange:
    """One of the five: how a question becomes a partition of a request, and its answer one of a response."""

    versions: tuple[int, int]
    """Which of them nodes speak."""
    request: Callable[[str, list[Any]], Any]
    topic: Callable[[bytes, list[Any]], Any]
    asked: Callable[[Any], Any]
    question: Callable[[SharePlace, Any], StateQuestion]
    response: Callable[[list[Any]], Any]
    topic_result: Callable[[bytes, list[Any]], Any]
    result: Callable[[int, int, str | None], Any]
    fill: Callable[[Any, Any], None]
    """Puts what was answered into a result."""
    value: Callable[[Any], Any]
    """What a result says."""


# -- of single partitions


def _asked_write(question: WriteState) -> write_wire.PartitionData:
    change = question.change
    value = encode_update(ShareUpdate(0, question.leader_epoch, change))
    return write_wire.PartitionData(
        question.place.partition_index,
        question.state_epoch,
        question.leader_epoch,
        change.start_offset,
        change.complete_count,
        [],
        value,
    )


def _write_question(place: SharePlace, data: write_wire.PartitionData) -> WriteState:
    if data.tidegate_change is not None:
        change = decode_update(bytes(data.tidegate_change)).change
    else:
        change = ShareChange(data.start_offset, max(data.delivery_complete_count, 0), _batches(data.state_batches))
    return WriteState(place, data.state_epoch, data.leader_epoch, change)


def _fill_read(result: read_wire.PartitionResult, state: ShareState) -> None:
    result.state_epoch, result.start_offset = state.state_epoch, state.start_offset
    result.tidegate_state = encode_snapshot(ShareSnapshot(0, state, 0, 0))


def _read_value(result: read_wire.PartitionResult) -> ShareState:
    if result.tidegate_state is not None:
        return decode_snapshot(bytes(result.tidegate_state)).state
    return ShareState(result.state_epoch, 0, result.start_offset, 0, _batches(result.state_batches))


def _batches(batches: Sequence[write_wire.StateBatch | read_wire.StateBatch]) -> tuple[StateBatch, ...]:
    return tuple(
        StateBatch(each.first_offset, each.last_offset, DeliveryState(each.delivery_state), each.delivery_count)
        for each in batches
    )


def _fill_summary(result: summary_wire.PartitionResult, state: ShareState) -> None:
    result.state_epoch, result.leader_epoch = state.state_epoch, state.leader_epoch
    result.start_offset, result.delivery_complete_count = state.start_offset, state.complete_count


def _summary_value(result: summary_wire.PartitionResult) -> ShareState:
    count = max(result.delivery_complete_count, 0)
    return ShareState(result.state_epoch, result.leader_epoch, result.start_offset, count)


def _fill_nothing(_result: object, _value: None) -> None:
    """That it was done is all there is to say."""


EXCHANGES: dict[type[Any], StateExchange] = {
    InitializeState: StateExchange(
        (0, 0),
        initialize_wire.InitializeShareGroupStateRequest,
        initialize_wire.InitializeStateData,
        lambda asked: initialize_wire.PartitionData(asked.place.partition_index, asked.state_epoch, asked.start_offset),
        lambda place, data: InitializeState(place, data.state_epoch, data.start_offset),
        initialize_wire.InitializeShareGroupStateResponse,
        initialize_wire.InitializeStateResult,
        initialize_wire.PartitionResult,
        _fill_nothing,
        lambda _: None,
    ),
    ReadState: StateExchange(
        (0, 0),
        read_wire.ReadShareGroupStateRequest,
        read_wire.ReadStateData,
        lambda asked: read_wire.PartitionData(asked.place.partition_index, asked.leader_epoch),
        lambda place, data: ReadState(place, data.leader_epoch),
        read_wire.ReadShareGroupStateResponse,
        read_wire.ReadStateResult,
        read_wire.PartitionResult,
        _fill_read,
        _read_value,
    ),
    WriteState: StateExchange(
        (0, 1),
        write_wire.WriteShareGroupStateRequest,
        write_wire.WriteStateData,
        _asked_write,
        _write_question,
        write_wire.WriteShareGroupStateResponse,
        write_wire.WriteStateResult,
        write_wire.PartitionResult,
        _fill_nothing,
        lambda _: None,
    ),
    DeleteState: StateExchange(
        (0, 0),
        delete_wire.DeleteShareGroupStateRequest,
        delete_wire.DeleteStateData,
        lambda asked: delete_wire.PartitionData(asked.place.partition_index),
        lambda place, _: DeleteState(place),
        delete_wire.DeleteShareGroupStateResponse,
        delete_wire.DeleteStateResult,
        delete_wire.PartitionResult,
        _fill_nothing,
        lambda _: None,
    ),
    SummarizeState: StateExchange(
        (0, 1),
        summary_wire.ReadShareGroupStateSummaryRequest,
        summary_wire.ReadStateSummaryData,
        lambda asked: summary_wire.PartitionData(asked.place.partition_index, NO_LEADER_EPOCH),
        lambda place, _: SummarizeState(place),
        summary_wire.ReadShareGroupStateSummaryResponse,
        summary_wire.ReadStateSummaryResult,
        summary_wire.PartitionResult,
        _fill_summary,
        _summary_value,
    ),
}


# -- of whole messages


def state_request(exchange: StateExchange, questions: Iterable[StateQuestion]) -> Any:
    """[leader] Of one group."""
    topics: dict[bytes, list[Any]] = {}
    group_id = ""
    for question in questions:
        group_id = question.place.group_id
        topics.setdefault(question.place.topic_id, []).append(exchange.asked(question))
    return exchange.request(group_id, [exchange.topic(topic_id, asked) for topic_id, asked in topics.items()])


def read_questions(exchange: StateExchange, request: Any) -> list[tuple[SharePlace, StateQuestion | BrokerError]]:
    """[coordinator] Each with its place; a refusal where it cannot be read."""
    questions: list[tuple[SharePlace, StateQuestion | BrokerError]] = []
    for topic in request.topics:
        for data in topic.partitions:
            place = SharePlace(request.group_id, bytes(topic.topic_id), data.partition)
            questions.append((place, _read_question(exchange, place, data)))
    return questions


def _read_question(exchange: StateExchange, place: SharePlace, data: Any) -> StateQuestion | BrokerError:
    try:
        return exchange.question(place, data)
    except Exception as error:
        # Written by a node of another version: whatever is wrong with it, it is no change that could be kept.
        return InvalidRequest(f"what was asked about {place.key} cannot be read: {error}")


def state_response(exchange: StateExchange, answers: Iterable[tuple[SharePlace, Any]]) -> Any:
    """[coordinator] What was answered about each place: a value or a refusal."""
    topics: dict[bytes, list[Any]] = {}
    for place, answer in answers:
        if isinstance(answer, BrokerError):
            result = exchange.result(place.partition_index, error_code(answer), str(answer))
        else:
            result = exchange.result(place.partition_index, 0, None)
            exchange.fill(result, answer)
        topics.setdefault(place.topic_id, []).append(result)
    return exchange.response([exchange.topic_result(topic_id, results) for topic_id, results in topics.items()])


def read_answers(exchange: StateExchange, group_id: str, response: Any) -> dict[SharePlace, Any]:
    """[leader] By place, a value or the refusal."""
    answers: dict[SharePlace, Any] = {}
    for topic in response.results:
        for result in topic.partitions:
            place = SharePlace(group_id, bytes(topic.topic_id), result.partition)
            if result.error_code:
                answers[place] = broker_error(result.error_code, result.error_message or "")
            else:
                answers[place] = _read_value_of(exchange, place, result)
    return answers


def _read_value_of(exchange: StateExchange, place: SharePlace, result: Any) -> Any:
    try:
        return exchange.value(result)
    except Exception as error:
        return InvalidRequest(f"what was answered about {place.key} cannot be read: {error}")
