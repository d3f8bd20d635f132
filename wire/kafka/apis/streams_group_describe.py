"""StreamsGroupDescribe (89), version 0: epochs, topology, members and tasks of streams groups (KIP-1071).

A group that does not exist, or is of another protocol, is answered with GROUP_ID_NOT_FOUND.
"""

from collections.abc import Sequence

from coordinators.access.access import AccessControl
from coordinators.access.acls import ResourceKind
from coordinators.group.groups import Groups
from coordinators.group.streams.requests import DescribedStreamsGroup, DescribedStreamsMember
from coordinators.group.streams.tasks import TaskIds, Tasks
from coordinators.group.streams.topology import NeededTopic, Subtopology
from coordinators.group.streams.topology import Topology as KnownTopology
from engine.errors import BrokerError, TopicAuthorizationFailed
from wire.kafka.errors import error_code
from wire.kafka.messages import streams_group_describe as messages
from wire.kafka.messages.streams_group_describe import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, Each, Rights, Within, by_text
from wire.kafka.slices import for_each

KEY = 89
VERSIONS = (0, 0)
RIGHTS = Rights(
    Each(
        DESCRIBE_GROUP,
        "group_ids",
        by_text,
        "groups",
        lambda name, error: _refused(name, error),
        StreamsGroupDescribeResponse,
    ),
    Within(DESCRIBE_TOPIC),
)

HIDDEN = "The group has described topic(s) that the client is not authorized to describe."
"""As Kafka puts it."""


def handle(
    request: StreamsGroupDescribeRequest, context: Context, groups: Groups, access: AccessControl
) -> Later[StreamsGroupDescribeResponse]:
    """Describe each group; one named twice is described once."""
    return for_each(
        list(dict.fromkeys(request.group_ids)),
        lambda group_id: _describe(group_id, request, context, groups, access),
        lambda described: StreamsGroupDescribeResponse(groups=described),
    )


def _describe(
    group_id: str, request: StreamsGroupDescribeRequest, context: Context, groups: Groups, access: AccessControl
) -> Deferred[messages.DescribedGroup]:
    caller = context.caller

    def response(found: DescribedStreamsGroup) -> messages.DescribedGroup:
        if not all(access.permits(caller, DESCRIBE_TOPIC, topic) for topic in _told_topics(found)):
            return _refused(group_id, TopicAuthorizationFailed(HIDDEN))
        group = _group(found)
        if request.include_authorized_operations:
            group.authorized_operations = access.operations(caller, ResourceKind.GROUP, group_id)
        return group

    return groups.describe_streams(group_id).map(response, lambda error: _refused(group_id, error))


def _told_topics(found: DescribedStreamsGroup) -> set[str]:
    """Whatever the answer tells of."""
    names = {place.topic for member in found.members for place in member.assignment}
    for each in () if found.topology is None else found.topology.subtopologies:
        names.update(each.source_topics, each.repartition_sinks)
        names.update(topic.name for topic in (*each.changelog_topics, *each.repartition_sources))
    return names


def _group(found: DescribedStreamsGroup) -> messages.DescribedGroup:
    return messages.DescribedGroup(
        group_id=found.group_id,
        group_state=found.state,
        group_epoch=found.epoch,
        assignment_epoch=found.assignment_epoch,
        topology=None if found.topology is None else _topology(found.topology),
        members=[_member(member) for member in found.members],
    )


def _topology(topology: KnownTopology) -> messages.Topology:
    subtopologies = sorted(topology.subtopologies, key=lambda each: each.subtopology_id)
    return messages.Topology(topology.epoch, [_subtopology(each) for each in subtopologies])


def _subtopology(each: Subtopology) -> messages.Subtopology:
    return messages.Subtopology(
        each.subtopology_id,
        sorted(each.source_topics),
        sorted(each.repartition_sinks),
        _topics(each.changelog_topics),
        _topics(each.repartition_sources),
    )


def _topics(topics: Sequence[NeededTopic]) -> list[messages.TopicInfo]:
    return [
        messages.TopicInfo(each.name, each.partition_count, each.replication_factor, _pairs(each.configs))
        for each in sorted(topics, key=lambda topic: topic.name)
    ]


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[messages.KeyValue]:
    return [messages.KeyValue(key, value) for key, value in pairs]


def _member(found: DescribedStreamsMember) -> messages.Member:
    endpoint = found.endpoint
    return messages.Member(
        member_id=found.member_id,
        member_epoch=found.epoch,
        instance_id=found.instance_id,
        rack_id=found.rack_id,
        client_id=found.client_id,
        client_host=found.client_host,
        topology_epoch=found.topology_epoch,
        process_id=found.process_id,
        user_endpoint=None if endpoint is None else messages.Endpoint(endpoint.host, endpoint.port),
        client_tags=_pairs(found.tags),
        assignment=_assignment(found.assigned),
        target_assignment=_assignment(found.target),
    )


def _assignment(tasks: Tasks) -> messages.Assignment:
    return messages.Assignment(_tasks(tasks.active), _tasks(tasks.standby), _tasks(tasks.warmup))


def _tasks(tasks: TaskIds) -> list[messages.TaskIds]:
    return [messages.TaskIds(name, sorted(partitions)) for name, partitions in sorted(tasks.items())]


def _refused(group_id: str, error: BrokerError) -> messages.DescribedGroup:
    return messages.DescribedGroup(error_code=error_code(error), error_message=str(error), group_id=group_id)
