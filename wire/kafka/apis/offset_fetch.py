"""OffsetFetch (9), versions 1-10: the committed offsets of groups.

Null topics ask for all of them (version 2). `require_stable` refuses an offset that an open transaction is about to
change (version 7, KIP-447). Several groups from version 8 (KIP-709), topics by id from 10 (KIP-848). Version 1
has no error of the whole response: each partition carries it. No offset is -1 without an error.
"""

from collections.abc import Callable, Sequence
from functools import partial

import trio

from coordinators.access.access import AccessControl
from coordinators.group.groups import Groups
from coordinators.group.requests import FetchedOffset
from coordinators.topics import Topics
from coordinators.waiting import result_of
from engine.errors import BrokerError, UnknownTopicId
from wire.kafka.errors import error_code
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, Rights, Within
from wire.kafka.slices import for_each, is_large, join_topics, topic_slices

KEY = 9
VERSIONS = (1, 10)
RIGHTS = Rights(Within(DESCRIBE_GROUP), Within(DESCRIBE_TOPIC))

ASKED = "offset_fetch"
FIRST_VERSION_WITH_AN_ERROR = 2
FIRST_BATCHED_VERSION = 8
FIRST_TOPIC_ID_VERSION = 10


def handle(
    request: OffsetFetchRequest, context: Context, groups: Groups, topics: Topics, access: AccessControl
) -> Later[OffsetFetchResponse]:
    """Answer with the offsets of each group."""
    is_batched = context.version >= FIRST_BATCHED_VERSION
    by_id = context.version >= FIRST_TOPIC_ID_VERSION
    wanted = request.groups
    if not is_batched:
        wanted = [OffsetFetchRequestGroup(group_id=request.group_id, topics=_as_batched(request.topics))]

    def fetch(group: OffsetFetchRequestGroup) -> Deferred[OffsetFetchResponseGroup]:
        if not access.allows(context.caller, DESCRIBE_GROUP, group.group_id, ASKED):
            return _refused(group)
        if not access.is_enforced:
            return _fetch(group, request.require_stable, by_id, groups, topics)
        return _fetch_seen(group, request.require_stable, by_id, groups, topics, partial(_may_see, context, access))

    def response(answers: list[OffsetFetchResponseGroup]) -> OffsetFetchResponse:
        if is_batched:
            return OffsetFetchResponse(groups=answers)
        return _single(answers[0], wanted[0], context.version)

    if any(group.topics and is_large(group.topics, "partition_indexes") for group in wanted):
        return _fetch_in_slices(wanted, fetch, response)
    return for_each(wanted, fetch, response)


async def _fetch_in_slices(
    groups: list[OffsetFetchRequestGroup],
    fetch: Callable[[OffsetFetchRequestGroup], Deferred[OffsetFetchResponseGroup]],
    response: Callable[[list[OffsetFetchResponseGroup]], OffsetFetchResponse],
) -> OffsetFetchResponse:
    answers: list[OffsetFetchResponseGroup] = []
    for group in groups:
        whole: OffsetFetchResponseGroup | None = None
        for topics, goes_on in topic_slices(group.topics or (), "partition_indexes"):
            some = OffsetFetchRequestGroup(group.group_id, group.member_id, group.member_epoch, topics)
            answer = await result_of(fetch(some))
            if whole is None or answer.error_code:
                whole = answer
            else:
                join_topics(whole.topics, answer.topics, goes_on=goes_on)
            await trio.lowlevel.checkpoint()
            if answer.error_code:
                break
        if whole is None:
            whole = await result_of(fetch(group))
        answers.append(whole)
    return response(answers)


def _refused(group: OffsetFetchRequestGroup) -> Deferred[OffsetFetchResponseGroup]:
    code = error_code(DESCRIBE_GROUP.refusal(group.group_id))
    answer: Deferred[OffsetFetchResponseGroup] = Deferred()
    answer.resolve(OffsetFetchResponseGroup(group_id=group.group_id, error_code=code))
    return answer


def _may_see(context: Context, access: AccessControl, topic: str) -> bool:
    return access.permits(context.caller, DESCRIBE_TOPIC, topic)


def _fetch_seen(
    wanted: OffsetFetchRequestGroup,
    require_stable: bool,
    by_id: bool,
    groups: Groups,
    known: Topics,
    is_seen: Callable[[str], bool],
) -> Deferred[OffsetFetchResponseGroup]:
    """Of topics that the caller may describe. Of all topics the others are left out; named ones are refused."""
    if wanted.topics is None:

        def keep(group: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
            group.topics = [topic for topic in group.topics if is_seen(topic.name)]
            return group

        return _fetch(wanted, require_stable, by_id, groups, known).map(keep)
    names = [_name(topic, by_id, known) for topic in wanted.topics]
    hidden = {place for place, name in enumerate(names) if name is not None and not is_seen(name)}
    if not hidden:
        return _fetch(wanted, require_stable, by_id, groups, known)
    code = error_code(DESCRIBE_TOPIC.refusal(""))
    denied = [_unanswered(topic, code) for place, topic in enumerate(wanted.topics) if place in hidden]
    permitted = [topic for place, topic in enumerate(wanted.topics) if place not in hidden]
    seen = OffsetFetchRequestGroup(wanted.group_id, wanted.member_id, wanted.member_epoch, permitted)

    def add(group: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
        if not group.error_code:
            group.topics = [*group.topics, *denied]
        return group

    return _fetch(seen, require_stable, by_id, groups, known).map(add)


def _as_batched(topics: Sequence[OffsetFetchRequestTopic] | None) -> list[OffsetFetchRequestTopics] | None:
    if topics is None:
        return None
    return [OffsetFetchRequestTopics(partition_indexes=topic.partition_indexes, name=topic.name) for topic in topics]


def _fetch(
    wanted: OffsetFetchRequestGroup, require_stable: bool, by_id: bool, groups: Groups, known: Topics
) -> Deferred[OffsetFetchResponseGroup]:
    places: list[tuple[str, int]] | None = None
    if wanted.topics is not None:
        names = [_name(topic, by_id, known) for topic in wanted.topics]
        places = [
            (name, index)
            for name, topic in zip(names, wanted.topics, strict=True)
            if name is not None
            for index in topic.partition_indexes
        ]

    def refuse(error: BrokerError) -> OffsetFetchResponseGroup:
        return OffsetFetchResponseGroup(group_id=wanted.group_id, error_code=error_code(error))

    def response(offsets: list[FetchedOffset]) -> OffsetFetchResponseGroup:
        group = OffsetFetchResponseGroup(group_id=wanted.group_id)
        topics: dict[str, OffsetFetchResponseTopics] = {}
        for offset in offsets:
            topic = topics.get(offset.topic)
            if topic is None:
                found = known.by_name.get(offset.topic) if by_id else None
                topic_id = ZERO_UUID if found is None else found.topic_id
                topic = topics[offset.topic] = OffsetFetchResponseTopics(topic_id=topic_id, name=offset.topic)
            topic.partitions.append(_partition(offset))
        # By id, a topic that has none any more cannot be named.
        group.topics = [topic for topic in topics.values() if not by_id or topic.topic_id != ZERO_UUID]
        if by_id and wanted.topics is not None:
            group.topics += [_unknown(topic) for topic in wanted.topics if topic.topic_id not in known.by_id]
        return group

    return groups.fetch_offsets(
        wanted.group_id,
        places,
        require_stable=require_stable,
        member_id=wanted.member_id,
        member_epoch=wanted.member_epoch,
    ).map(response, refuse)


def _name(topic: OffsetFetchRequestTopics, by_id: bool, known: Topics) -> str | None:
    if not by_id:
        return topic.name
    found = known.by_id.get(topic.topic_id)
    return None if found is None else found.name


def _partition(offset: FetchedOffset) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=offset.partition,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
        error_code=0 if offset.error is None else error_code(offset.error),
    )


def _unknown(topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    return _unanswered(topic, error_code(UnknownTopicId(topic.topic_id.hex())))


def _unanswered(topic: OffsetFetchRequestTopics, code: int) -> OffsetFetchResponseTopics:
    entries = [OffsetFetchResponsePartitions(index, -1, -1, "", code) for index in topic.partition_indexes]
    return OffsetFetchResponseTopics(topic_id=topic.topic_id, name=topic.name, partitions=entries)


def _single(group: OffsetFetchResponseGroup, wanted: OffsetFetchRequestGroup, version: int) -> OffsetFetchResponse:
    """The answer about one group in the form that it had before version 8."""
    if group.error_code and version < FIRST_VERSION_WITH_AN_ERROR:
        group.topics = [
            OffsetFetchResponseTopics(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartitions(index, -1, -1, "", group.error_code)
                    for index in topic.partition_indexes
                ],
            )
            for topic in wanted.topics or ()
        ]
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        each.partition_index,
                        each.committed_offset,
                        each.committed_leader_epoch,
                        each.metadata,
                        each.error_code,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )
