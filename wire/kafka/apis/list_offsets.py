"""ListOffsets (2), versions 1-11: where a partition begins, ends, or stood at a time.

Special times: -1 latest (the high watermark, or the last stable offset under read_committed), -2 earliest,
-3 the record with the greatest timestamp (KIP-734), -4 the earliest offset on local disk (KIP-405; the same as
-2 here), -5 the latest tiered offset and -6 the earliest not yet tiered one (nothing is tiered: -1 and the
start). A time gives the first record at or after it: the record, not its batch; no match is offset -1.
In a prioritised partition the latest offset counts the records that are ready and not yet in the log; a time that only
such a record answers gives the least offset that it can get, whatever the order will be (engine/stage/unread.py).
A producer with acks=1 finds what it wrote: records that are written and not yet durable are waited for.
"""

from collections import Counter
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any

from attrs import frozen

from coordinators.records.directory import PartitionDirectory
from coordinators.waiting import in_worker, until_settled
from engine.clock import Clock
from engine.errors import BrokerError, InvalidRequest, UnknownTopicOrPartition, UnsupportedVersion
from engine.log.types import LogPosition, TimedOffset
from engine.partition.partition import Partition
from engine.stage.unread import Unread, UnreadTime
from engine.workers import Workers
from wire.kafka.errors import error_code
from wire.kafka.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from wire.kafka.request import Context
from wire.kafka.slices import in_slices

KEY = 2
VERSIONS = (1, 11)

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
_FIRST_VERSION_OF = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
FROM_THE_START = (EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD)
READ_COMMITTED = 1
NO_EPOCH = -1

Places = frozenset[tuple[str, int]]


@frozen
class _View:
    """A partition as the loop sees it: a thread that searches it looks at one instant, whatever moves meanwhile."""

    upto: LogPosition
    """Where readers of this isolation level end, in the log."""
    end: int
    """The end that they are told."""
    end_epoch: int
    unread: Unread | None
    """What is promised between the two, if times are asked for."""


@frozen
class _Question:
    """What is the same for all partitions of a request."""

    version: int
    repeated: Places
    directory: PartitionDirectory
    clock: Clock
    workers: Workers


def handle(
    request: ListOffsetsRequest, context: Context, directory: PartitionDirectory, clock: Clock, workers: Workers
) -> ListOffsetsResponse | Coroutine[Any, Any, ListOffsetsResponse]:
    """Answer from memory where that is possible; wait for syncs and look times up in a thread where not."""
    answer: ListOffsetsResponse | Coroutine[Any, Any, ListOffsetsResponse]
    question = _Question(context.version, _repeated(request), directory, clock, workers)
    answer = in_slices(request, context, partial(_handle, question))
    return answer


def _repeated(request: ListOffsetsRequest) -> Places:
    """What is asked for more than once, which is refused."""
    times = Counter([(topic.name, wanted.partition_index) for topic in request.topics for wanted in topic.partitions])
    return frozenset(place for place, count in times.items() if count > 1)


def _handle(
    question: _Question, request: ListOffsetsRequest, _: Context
) -> ListOffsetsResponse | Coroutine[Any, Any, ListOffsetsResponse]:
    if any(map(_needs_search, request.topics)) or _unsynced(request, question.directory):
        return _search(question, request)
    topics = [_topic(topic, question, _views(topic, request, question.directory)) for topic in request.topics]
    return ListOffsetsResponse(topics=topics)


def _views(topic: ListOffsetsTopic, request: ListOffsetsRequest, directory: PartitionDirectory) -> dict[int, _View]:
    known = directory.topics.by_name.get(topic.name)
    partitions = directory.partitions.of_topic(known.topic_id) if known is not None else []
    timed = {wanted.partition_index for wanted in topic.partitions if _is_time(wanted)}
    indexes = {wanted.partition_index for wanted in topic.partitions if 0 <= wanted.partition_index < len(partitions)}
    committed = request.isolation_level == READ_COMMITTED
    return {index: _view(partitions[index], committed, with_unread=index in timed) for index in indexes}


def _view(partition: Partition, committed: bool, *, with_unread: bool) -> _View:
    upto = partition.stable_end if committed else partition.high_watermark
    is_stable = upto.offset == partition.high_watermark.offset
    end, log_end = partition.reported_end if is_stable else upto.offset, partition.log.end_offset
    unread = None
    if with_unread and is_stable and partition.staged is not None:
        unread = partition.staged.stage.unread(log_end)
    # What is promised beyond the log's end has no epoch yet: clients that compare would see a truncation.
    return _View(upto, end, partition.leader_epoch if end <= log_end else NO_EPOCH, unread)


def _is_time(wanted: ListOffsetsPartition) -> bool:
    return wanted.timestamp >= 0 or wanted.timestamp == MAX_TIMESTAMP


def _needs_search(topic: ListOffsetsTopic) -> bool:
    return any(map(_is_time, topic.partitions))


def _unsynced(request: ListOffsetsRequest, directory: PartitionDirectory) -> list[Partition]:
    """Partitions with records that were acknowledged (acks=0 or 1) and are not durable yet."""
    found = []
    for topic in request.topics:
        known = directory.topics.by_name.get(topic.name)
        for wanted in topic.partitions if known is not None else ():
            assert known is not None
            partition = directory.partitions.get(known.topic_id, wanted.partition_index)
            if partition is None or wanted.timestamp in FROM_THE_START:
                continue
            stores = [partition] if partition.staged is None else [partition, partition.staged.store]
            found += [store for store in stores if store.has_unsynced]
    return found


async def _search(question: _Question, request: ListOffsetsRequest) -> ListOffsetsResponse:
    for partition in _unsynced(request, question.directory):
        await until_settled(partition, question.clock)
    response = ListOffsetsResponse()
    for topic in request.topics:
        views = _views(topic, request, question.directory)
        if _needs_search(topic):
            response.topics.append(await in_worker(question.workers, _topic, topic, question, views))
        else:
            response.topics.append(_topic(topic, question, views))
    return response


def _topic(topic: ListOffsetsTopic, question: _Question, views: Mapping[int, _View]) -> ListOffsetsTopicResponse:
    entries = [_answer(topic.name, wanted, question, views) for wanted in topic.partitions]
    return ListOffsetsTopicResponse(name=topic.name, partitions=entries)


def _answer(
    name: str, wanted: ListOffsetsPartition, question: _Question, views: Mapping[int, _View]
) -> ListOffsetsPartitionResponse:
    entry = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
    try:
        if (name, wanted.partition_index) in question.repeated:
            raise InvalidRequest(f"partition {wanted.partition_index} of {name!r} is asked for twice")
        directory = question.directory
        partition = directory.find(name, wanted.partition_index)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        if question.version < _FIRST_VERSION_OF.get(wanted.timestamp, 0):
            raise UnsupportedVersion(f"time {wanted.timestamp} is not known in version {question.version}")
        view = views.get(wanted.partition_index)
        if view is None:
            raise UnknownTopicOrPartition(f"partition {wanted.partition_index} of {name!r} has just been made")
        _look_up(partition, view, wanted.timestamp, question.clock.now_ms(), entry)
    except BrokerError as error:
        entry.error_code = error_code(error)
    return entry


def _look_up(
    partition: Partition, view: _View, timestamp: int, now_ms: int, entry: ListOffsetsPartitionResponse
) -> None:
    log = partition.log
    if timestamp == LATEST:
        entry.offset, entry.leader_epoch = view.end, view.end_epoch
    elif timestamp in (EARLIEST, EARLIEST_LOCAL, EARLIEST_PENDING_UPLOAD):
        entry.offset = log.start_offset
        entry.leader_epoch = log.epoch_at(log.start_offset)
    elif timestamp == MAX_TIMESTAMP or timestamp >= 0:
        found = log.find_max_timestamp(view.upto) if timestamp < 0 else log.find_by_time(timestamp, view.upto)
        unread = _find_unread(partition, view.unread, timestamp, found, now_ms) if view.unread is not None else None
        if unread is not None and unread.offset < view.end:
            entry.offset, entry.timestamp = unread
        elif found is not None:
            entry.offset, entry.timestamp = found.offset, found.timestamp_ms
            entry.leader_epoch = found.leader_epoch
    elif timestamp != LATEST_TIERED:
        raise UnsupportedVersion(f"time {timestamp} has no meaning")


def _find_unread(
    partition: Partition, unread: Unread, timestamp: int, found: TimedOffset | None, now_ms: int
) -> UnreadTime | None:
    """[thread] What answers the question instead of the log: for a time only if the log has none, for the greatest
    timestamp if the log's is less."""
    if found is not None and timestamp >= 0:
        return None
    if partition.log.config.timestamp_type == "LogAppendTime":
        # They get their times when they are read, from now on.
        return UnreadTime(unread.first_offset(), now_ms) if timestamp <= now_ms else None
    if timestamp >= 0:
        return unread.find(timestamp)
    greatest_ms = unread.greatest_ms()
    if greatest_ms is None or (found is not None and greatest_ms <= found.timestamp_ms):
        return None
    return unread.find(greatest_ms)
