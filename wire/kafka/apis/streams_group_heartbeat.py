"""StreamsGroupHeartbeat (88), version 0: join, live in and leave the group of a Streams application (KIP-1071).

Epoch 0 joins and brings the topology, -1 leaves. Fields that are null, or -1, are as they were. The answer has tasks
only if they are new; its status tells what keeps the application from running. Static members, offsets of tasks and
source topics by regular expression are refused with INVALID_REQUEST, as by Kafka 4.3.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from coordinators.access.access import AccessControl
from coordinators.access.letter_targets import require_letter_target
from coordinators.group.groups import Groups
from coordinators.group.streams.record_formats import UserEndpoint
from coordinators.group.streams.requests import EndpointPartitions, StreamsHeartbeatAnswer, StreamsHeartbeatRequest
from coordinators.group.streams.tasks import TaskIds, Tasks
from coordinators.group.streams.topology import CopartitionGroup, NeededTopic, Subtopology, Topology
from engine.errors import BrokerError, InvalidRequest
from wire.kafka.errors import error_code
from wire.kafka.messages import streams_group_heartbeat as messages
from wire.kafka.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import (
    CREATE_CLUSTER,
    CREATE_TOPIC,
    DESCRIBE_TOPIC,
    READ_GROUP,
    WRITE_TOPIC,
    Need,
    NeedEvery,
    Rights,
    Within,
)

KEY = 88
VERSIONS = (0, 0)
ASKED = "streams_group_heartbeat"
RIGHTS = Rights(
    Need(READ_GROUP, attrgetter("group_id")),
    NeedEvery(DESCRIBE_TOPIC, lambda request: _named(request)),
    Within(CREATE_TOPIC),
    Within(CREATE_CLUSTER),
    Within(WRITE_TOPIC),
    refuse=lambda _request, _version, error: _refused(error),
)


def handle(
    request: StreamsGroupHeartbeatRequest, context: Context, groups: Groups, access: AccessControl
) -> Deferred[StreamsGroupHeartbeatResponse]:
    """Answer where the member is now."""
    try:
        _check_creation(request, context, access)
        owned = _owned(request)
    except BrokerError as error:
        return Deferred[StreamsHeartbeatAnswer].refused(error).map(_answered, _refused)
    endpoint, tags = request.user_endpoint, request.client_tags
    heartbeat = StreamsHeartbeatRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        epoch=request.member_epoch,
        endpoint_epoch=request.endpoint_information_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topology=None if request.topology is None else _topology(request.topology),
        owned=owned,
        process_id=request.process_id,
        endpoint=None if endpoint is None else UserEndpoint(endpoint.host, endpoint.port),
        tags=None if tags is None else tuple((each.key, each.value) for each in tags),
        shuts_down=request.shutdown_application,
        client_id=context.client_id or "",
        client_host=f"/{context.peer.address}",
    )
    return groups.streams_heartbeat(heartbeat).map(_answered, _refused)


def _check_creation(request: StreamsGroupHeartbeatRequest, context: Context, access: AccessControl) -> None:
    """Topics that the broker makes for an application are made for its member, who must be allowed to."""
    if not access.is_enforced:
        return
    may_make_any = access.permits(context.caller, CREATE_CLUSTER)
    for each in () if request.topology is None else request.topology.subtopologies:
        for topic in (*each.repartition_source_topics, *each.state_changelog_topics):
            configs = ((config.key, config.value) for config in topic.topic_configs)
            require_letter_target(access, context.caller, topic.name, configs, ASKED)
            if not may_make_any and topic.name not in access.topics.by_name:
                access.require(context.caller, CREATE_TOPIC, topic.name, ASKED)


def _owned(request: StreamsGroupHeartbeatRequest) -> Tasks | None:
    """What the member says to have: all roles, or none."""
    if request.task_offsets is not None:
        raise InvalidRequest("TaskOffsets are not supported yet.")
    if request.task_end_offsets is not None:
        raise InvalidRequest("TaskEndOffsets are not supported yet.")
    if request.warmup_tasks:
        raise InvalidRequest("WarmupTasks are not supported yet.")
    active, standby, warmup = request.active_tasks, request.standby_tasks, request.warmup_tasks
    if active is None and standby is None and warmup is None:
        return None
    if active is None or standby is None or warmup is None:
        raise InvalidRequest("If one task-type is non-null, all must be non-null.")
    return Tasks(_tasks(active), _tasks(standby), _tasks(warmup))


def _tasks(tasks: Sequence[messages.RequestTaskIds]) -> TaskIds:
    found: dict[str, frozenset[int]] = {}
    for each in tasks:
        partitions = found.get(each.subtopology_id, frozenset()) | frozenset(each.partitions)
        if partitions:
            found[each.subtopology_id] = partitions
    return found


def _topology(topology: messages.Topology) -> Topology:
    return Topology(topology.epoch, tuple(_subtopology(each) for each in topology.subtopologies))


def _subtopology(told: messages.Subtopology) -> Subtopology:
    return Subtopology(
        told.subtopology_id,
        tuple(told.source_topics),
        tuple(told.source_topic_regex),
        tuple(_needed(each) for each in told.state_changelog_topics),
        tuple(told.repartition_sink_topics),
        tuple(_needed(each) for each in told.repartition_source_topics),
        tuple(
            CopartitionGroup(
                tuple(each.source_topics), tuple(each.source_topic_regex), tuple(each.repartition_source_topics)
            )
            for each in told.copartition_groups
        ),
    )


def _needed(topic: messages.TopicInfo) -> NeededTopic:
    configs = tuple((each.key, each.value) for each in topic.topic_configs)
    return NeededTopic(topic.name, topic.partitions, topic.replication_factor, configs)


def _refused(error: BrokerError) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(
        error_code=error_code(error),
        error_message=str(error),
        active_tasks=None,
        standby_tasks=None,
        warmup_tasks=None,
        status=None,
        partitions_by_user_endpoint=None,
    )


def _answered(answer: StreamsHeartbeatAnswer) -> StreamsGroupHeartbeatResponse:
    tasks, endpoints = answer.tasks, answer.endpoints
    return StreamsGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        status=[messages.Status(int(each.code), each.detail) for each in answer.status],
        active_tasks=None if tasks is None else _response_tasks(tasks.active),
        standby_tasks=None if tasks is None else _response_tasks(tasks.standby),
        warmup_tasks=None if tasks is None else _response_tasks(tasks.warmup),
        endpoint_information_epoch=answer.endpoint_epoch,
        partitions_by_user_endpoint=None if endpoints is None else [_endpoint(each) for each in endpoints],
    )


def _response_tasks(tasks: TaskIds) -> list[messages.ResponseTaskIds]:
    return [messages.ResponseTaskIds(name, sorted(partitions)) for name, partitions in sorted(tasks.items())]


def _endpoint(found: EndpointPartitions) -> messages.EndpointToPartitions:
    def partitions(places: Sequence[tuple[str, tuple[int, ...]]]) -> list[messages.TopicPartition]:
        return [messages.TopicPartition(topic, list(indexes)) for topic, indexes in places]

    endpoint = messages.ResponseEndpoint(found.endpoint.host, found.endpoint.port)
    return messages.EndpointToPartitions(endpoint, partitions(found.active), partitions(found.standby))


def _named(request: StreamsGroupHeartbeatRequest) -> Iterator[str]:
    """Every topic that the topology names."""
    for each in () if request.topology is None else request.topology.subtopologies:
        yield from each.source_topics
        yield from each.repartition_sink_topics
        yield from (topic.name for topic in each.repartition_source_topics)
        yield from (topic.name for topic in each.state_changelog_topics)
