"""OffsetCommit (8), versions 2-10: keep the place of a group in partitions.

Members commit in their generation; who only keeps offsets sends generation -1 and no member. Versions 2-4 bring
their own retention. Leader epochs from version 6 (KIP-320), static members from 7; topics by id from 10 (KIP-848).
"""

from functools import partial
from operator import attrgetter

from coordinators.group.groups import Groups
from coordinators.group.requests import CommitAnswer, CommitRequest, OffsetToCommit
from coordinators.records.directory import PartitionDirectory
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.rights import READ_GROUP, READ_TOPIC, Each, Need, Rights, by_name_or_id
from wire.kafka.slices import in_slices

KEY = 8
VERSIONS = (2, 10)
RIGHTS = Rights(
    Need(READ_GROUP, attrgetter("group_id")),
    Each(
        READ_TOPIC,
        "topics",
        by_name_or_id,
        "topics",
        lambda topic, error: _denied(topic, error),
        OffsetCommitResponse,
    ),
    refuse=lambda request, _, error: OffsetCommitResponse(topics=[_denied(each, error) for each in request.topics]),
)

FIRST_VERSION_WITH_NO_GROUP = 9
FIRST_TOPIC_ID_VERSION = 10


def handle(
    request: OffsetCommitRequest, context: Context, groups: Groups, directory: PartitionDirectory
) -> Later[OffsetCommitResponse]:
    """Commit the offsets of partitions that exist."""
    answer: Later[OffsetCommitResponse] = in_slices(request, context, partial(_commit, groups, directory))
    return answer


def _commit(
    groups: Groups, directory: PartitionDirectory, request: OffsetCommitRequest, context: Context
) -> Deferred[OffsetCommitResponse]:
    response = OffsetCommitResponse()
    offsets: list[OffsetToCommit] = []
    # The answers to fill in, in the order of `offsets`.
    entries: list[OffsetCommitResponsePartition] = []
    for topic in request.topics:
        answered = OffsetCommitResponseTopic(topic_id=topic.topic_id, name=topic.name)
        response.topics.append(answered)
        for entry, offset in _checked(topic, context.version, directory):
            answered.partitions.append(entry)
            if offset is not None:
                offsets.append(offset)
                entries.append(entry)
    commit = CommitRequest(
        request.group_id,
        request.member_id,
        request.generation_id_or_member_epoch,
        tuple(offsets),
        request.group_instance_id,
        request.retention_time_ms,
        can_be_told_of_no_group=context.version >= FIRST_VERSION_WITH_NO_GROUP,
    )

    def refuse(error: BrokerError) -> OffsetCommitResponse:
        return finish([error] * len(entries))

    def finish(errors: CommitAnswer) -> OffsetCommitResponse:
        for entry, error in zip(entries, errors, strict=True):
            entry.error_code = 0 if error is None else error_code(error)
        return response

    return groups.commit(commit).map(finish, refuse)


def _checked(
    wanted: OffsetCommitRequestTopic, version: int, directory: PartitionDirectory
) -> list[tuple[OffsetCommitResponsePartition, OffsetToCommit | None]]:
    """For each partition its answer, which holds an error if it does not exist, and else what is to be committed."""
    result: list[tuple[OffsetCommitResponsePartition, OffsetToCommit | None]] = []
    for each in wanted.partitions:
        entry = OffsetCommitResponsePartition(each.partition_index)
        offset = None
        try:
            topic = directory.topic(wanted.topic_id if version >= FIRST_TOPIC_ID_VERSION else wanted.name)
            directory.check_exists(topic, each.partition_index)
            offset = OffsetToCommit(
                topic.name,
                each.partition_index,
                each.committed_offset,
                each.committed_leader_epoch,
                each.committed_metadata or "",
                topic.topic_id,
            )
        except BrokerError as error:
            entry.error_code = error_code(error)
        result.append((entry, offset))
    return result


def _denied(topic: OffsetCommitRequestTopic, error: BrokerError) -> OffsetCommitResponseTopic:
    code = error_code(error)
    entries = [OffsetCommitResponsePartition(each.partition_index, code) for each in topic.partitions]
    return OffsetCommitResponseTopic(topic_id=topic.topic_id, name=topic.name, partitions=entries)
