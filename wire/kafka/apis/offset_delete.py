"""OffsetDelete (47), version 0: forget offsets of topics that a group does not read (KIP-496)."""

from collections.abc import Coroutine
from functools import partial
from typing import Any

from coordinators.group.groups import Groups
from coordinators.records.directory import PartitionDirectory
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from wire.kafka.request import Context, Deferred
from wire.kafka.slices import in_slices

KEY = 47
VERSIONS = (0, 0)


def handle(
    request: OffsetDeleteRequest, context: Context, groups: Groups, directory: PartitionDirectory
) -> Deferred | Coroutine[Any, Any, OffsetDeleteResponse]:
    """Forget the offsets of partitions that exist."""
    answer: Deferred | Coroutine[Any, Any, OffsetDeleteResponse] = in_slices(
        request, context, partial(_forget, groups, directory)
    )
    return answer


def _forget(groups: Groups, directory: PartitionDirectory, request: OffsetDeleteRequest, _: Context) -> Deferred:
    response = OffsetDeleteResponse()
    places: list[tuple[str, int]] = []
    entries: list[OffsetDeleteResponsePartition] = []
    for topic in request.topics:
        answered = OffsetDeleteResponseTopic(name=topic.name)
        response.topics.append(answered)
        for each in topic.partitions:
            entry = OffsetDeleteResponsePartition(each.partition_index)
            answered.partitions.append(entry)
            try:
                directory.find(topic.name, each.partition_index)
            except BrokerError as error:
                entry.error_code = error_code(error)
                continue
            places.append((topic.name, each.partition_index))
            entries.append(entry)

    def finish(answer: Any) -> OffsetDeleteResponse:
        if isinstance(answer, BrokerError):
            return OffsetDeleteResponse(error_code=error_code(answer))
        for entry, error in zip(entries, answer, strict=True):
            entry.error_code = 0 if error is None else error_code(error)
        return response

    return groups.delete_offsets(request.group_id, places).map(finish)
