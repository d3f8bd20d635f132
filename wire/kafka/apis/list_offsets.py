"""ListOffsets (2), versions 1-11: where a partition begins, ends, or stood at a time.

Special times: -1 latest (the high watermark, or the last stable offset under read_committed), -2 earliest,
-3 the record with the greatest timestamp (KIP-734), -4 the earliest offset on local disk (KIP-405; the same as
-2 here), -5 the latest tiered offset and -6 the earliest not yet tiered one (nothing is tiered: -1 and the
start). A time gives the first record at or after it; no match is offset -1. What is found, and what is waited for,
stands in `coordinators/records/offset_lookup.py`.
"""

from collections import Counter
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

from coordinators.records.offset_lookup import FoundOffset, OffsetLookup, Sought, Spot
from engine.errors import BrokerError, InvalidRequest, UnsupportedVersion
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_TOPIC, Each, Rights, by_name
from wire.kafka.slices import in_slices

KEY = 2
VERSIONS = (1, 11)
RIGHTS = Rights(
    Each(
        DESCRIBE_TOPIC,
        "topics",
        by_name,
        "topics",
        lambda topic, error: _denied(topic, error),
        ListOffsetsResponse,
    )
)

FIRST_NOT_AVAILABLE_VERSION = 5
"""Before it clients are told that there is no leader yet."""

SPOTS = {
    -1: (Spot.LATEST, 1),
    -2: (Spot.EARLIEST, 1),
    -3: (Spot.GREATEST_TIME, 7),
    -4: (Spot.EARLIEST, 8),
    -5: (Spot.TIERED_END, 9),
    -6: (Spot.EARLIEST, 11),
}
"""What the special times mean, and the version from which on they do."""
READ_COMMITTED = 1

Places = frozenset[tuple[str, int]]
Offsets = ListOffsetsResponse | Coroutine[Any, Any, ListOffsetsResponse]


def handle(request: ListOffsetsRequest, context: Context, lookup: OffsetLookup) -> Offsets:
    """Answer from memory where that is possible; wait for syncs and look times up in a thread where not."""
    answer: Offsets = in_slices(request, context, partial(_handle, _repeated(request), lookup))
    return answer


def _repeated(request: ListOffsetsRequest) -> Places:
    """What is asked for more than once, which is refused."""
    times = Counter([(topic.name, wanted.partition_index) for topic in request.topics for wanted in topic.partitions])
    return frozenset(place for place, count in times.items() if count > 1)


def _handle(repeated: Places, lookup: OffsetLookup, request: ListOffsetsRequest, context: Context) -> Offsets:
    asked = [
        _asked(topic.name, wanted, context.version, repeated) for topic in request.topics for wanted in topic.partitions
    ]
    sought = [each for each in asked if isinstance(each, Sought)]
    found = lookup.find(sought, committed=request.isolation_level == READ_COMMITTED)
    if isinstance(found, list):
        return _response(request, context.version, asked, found)
    return _respond_later(request, context.version, asked, found)


def _asked(name: str, wanted: ListOffsetsPartition, version: int, repeated: Places) -> Sought | FoundOffset:
    """What is to be looked up, or the answer if nothing is."""
    index, timestamp = wanted.partition_index, wanted.timestamp
    if (name, index) in repeated:
        return FoundOffset(error=InvalidRequest(f"partition {index} of {name!r} is asked for twice"))
    if timestamp >= 0:
        return Sought(name, index, timestamp, wanted.current_leader_epoch)
    spot, first_version = SPOTS.get(timestamp, (None, 0))
    if spot is None or version < first_version:
        return FoundOffset(error=UnsupportedVersion(f"time {timestamp} has no meaning in version {version}"))
    return Sought(name, index, spot, wanted.current_leader_epoch)


async def _respond_later(
    request: ListOffsetsRequest,
    version: int,
    asked: Sequence[Sought | FoundOffset],
    found: Coroutine[Any, Any, list[FoundOffset]],
) -> ListOffsetsResponse:
    return _response(request, version, asked, await found)


def _response(
    request: ListOffsetsRequest, version: int, asked: Sequence[Sought | FoundOffset], found: Sequence[FoundOffset]
) -> ListOffsetsResponse:
    sought = iter(found)
    answers = iter([next(sought) if isinstance(each, Sought) else each for each in asked])
    topics = [
        ListOffsetsTopicResponse(
            name=topic.name, partitions=[_entry(wanted, version, next(answers)) for wanted in topic.partitions]
        )
        for topic in request.topics
    ]
    return ListOffsetsResponse(topics=topics)


def _entry(wanted: ListOffsetsPartition, version: int, found: FoundOffset) -> ListOffsetsPartitionResponse:
    code = 0 if found.error is None else error_code(found.error)
    if code == ErrorCode.OFFSET_NOT_AVAILABLE and version < FIRST_NOT_AVAILABLE_VERSION:
        code = ErrorCode.LEADER_NOT_AVAILABLE
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index,
        error_code=code,
        timestamp=found.timestamp_ms,
        offset=found.offset,
        leader_epoch=found.leader_epoch,
    )


def _denied(topic: ListOffsetsTopic, error: BrokerError) -> ListOffsetsTopicResponse:
    code = error_code(error)
    entries = [ListOffsetsPartitionResponse(each.partition_index, code) for each in topic.partitions]
    return ListOffsetsTopicResponse(name=topic.name, partitions=entries)
