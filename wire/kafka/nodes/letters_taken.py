"""Produce of another node: dead letters, for partitions that this node leads (`letters.py` sends them).

They are written as this node's own are (`coordinators/letter_writing.py`): headers are plain data, no bound on
size or time refuses them, and one that is there already is not written twice. They are answered when they are durable.
"""

from collections.abc import Coroutine
from typing import Any

from coordinators.records.publication import Publication
from coordinators.records.publishing import Publishing
from coordinators.waiting import until_durable
from engine.errors import BrokerError, DuplicateSequence, InvalidRecord
from engine.ids import TopicId
from engine.log.types import Origin
from engine.partition.partition import Partition
from engine.records.batch import Batch, made
from engine.records.layout import HEADER_SIZE
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

Letters = list[tuple[TopicId, list[tuple[int, bytes]]]]
"""By partition, in their order, by topic."""


def take_letters(request: ProduceRequest, publishing: Publishing) -> Coroutine[Any, Any, ProduceResponse]:
    """Write them in their order. Nodes name topics by id."""
    # Copies: the buffer that they arrived in is filled anew while they wait.
    letters = [
        (topic.topic_id, [(each.index, bytes(each.records or b"")) for each in topic.partition_data])
        for topic in request.topic_data
    ]
    deadline = publishing.clock.monotonic() + max(request.timeout_ms, 0) / 1000
    return _take(letters, publishing, deadline)


async def _take(letters: Letters, publishing: Publishing, deadline: float) -> ProduceResponse:
    response = ProduceResponse()
    waiting: dict[Partition, list[PartitionProduceResponse]] = {}
    for topic_id, batches in letters:
        answered = TopicProduceResponse(topic_id)
        response.responses.append(answered)
        for index, batch in batches:
            entry = PartitionProduceResponse(index)
            answered.partition_responses.append(entry)
            try:
                topic = publishing.directory.topic(topic_id)
                partition = publishing.directory.partition(topic, index)
                await _publish(Publication(topic, partition, _letter(batch)), entry, publishing, deadline)
            except BrokerError as error:
                _refuse(entry, error, error_code(error))
            else:
                waiting.setdefault(partition, []).append(entry)
    for partition, entries in waiting.items():
        await _settle(partition, entries, deadline)
    return response


def _letter(batch: bytes) -> Batch:
    if len(batch) <= HEADER_SIZE:
        raise InvalidRecord("a letter without a record")
    return made(batch, Origin.LETTER)


async def _publish(
    letter: Publication, entry: PartitionProduceResponse, publishing: Publishing, deadline: float
) -> None:
    try:
        await publishing.deliver(letter, durable=False, deadline=deadline)
    except DuplicateSequence as error:
        # It is there, perhaps not durably: that is waited for all the same.
        _refuse(entry, error, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


async def _settle(partition: Partition, entries: list[PartitionProduceResponse], deadline: float) -> None:
    """Wherever the letters are, in the log or in lanes."""
    try:
        for log in partition.logs:
            await until_durable(log, log.log.end_offset - 1, deadline)
    except BrokerError as error:
        for entry in entries:
            _refuse(entry, error, error_code(error))


def _refuse(entry: PartitionProduceResponse, error: BrokerError, code: int) -> None:
    entry.error_code, entry.error_message, entry.base_offset = int(code), str(error), -1
