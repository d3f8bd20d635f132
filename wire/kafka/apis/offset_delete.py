"""OffsetDelete (47), version 0: forget offsets of topics that a group does not read (KIP-496)."""

from functools import partial
from operator import attrgetter

from coordinators.group.groups import Groups
from coordinators.group.requests import CommitAnswer
from coordinators.records.directory import PartitionDirectory
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.rights import DELETE_GROUP, READ_TOPIC, Each, Need, Rights, by_name
from wire.kafka.slices import in_slices

KEY = 47
VERSIONS = (0, 0)
RIGHTS = Rights(
    Need(DELETE_GROUP, attrgetter("group_id")),
    Each(READ_TOPIC, "topics", by_name, "topics", lambda topic, error: _denied(topic, error), OffsetDeleteResponse),
    refuse=lambda _request, _version, error: OffsetDeleteResponse(error_code=error_code(error)),
)


def handle(
    request: OffsetDeleteRequest, context: Context, groups: Groups, directory: PartitionDirectory
) -> Later[OffsetDeleteResponse]:
    """Forget the offsets of partitions that exist."""
    answer: Later[OffsetDeleteResponse] = in_slices(request, context, partial(_forget, groups, directory))
    return answer


def _forget(
    groups: Groups, directory: PartitionDirectory, request: OffsetDeleteRequest, _: Context
) -> Deferred[OffsetDeleteResponse]:
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
                directory.check_exists(directory.topic(topic.name), each.partition_index)
            except BrokerError as error:
                entry.error_code = error_code(error)
                continue
            places.append((topic.name, each.partition_index))
            entries.append(entry)

    def refuse(error: BrokerError) -> OffsetDeleteResponse:
        return OffsetDeleteResponse(error_code=error_code(error))

    def finish(errors: CommitAnswer) -> OffsetDeleteResponse:
        for entry, error in zip(entries, errors, strict=True):
            entry.error_code = 0 if error is None else error_code(error)
        return response

    return groups.delete_offsets(request.group_id, places).map(finish, refuse)


def _denied(topic: OffsetDeleteRequestTopic, error: BrokerError) -> OffsetDeleteResponseTopic:
    code = error_code(error)
    entries = [OffsetDeleteResponsePartition(each.partition_index, code) for each in topic.partitions]
    return OffsetDeleteResponseTopic(name=topic.name, partitions=entries)
