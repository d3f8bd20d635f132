"""Which heartbeats of streams groups are taken at all, which member epochs, and which commits."""

from coordinators.group.consumer.group import JOIN_EPOCH, STATIC_LEAVE_EPOCH
from coordinators.group.requests import NO_MEMBER, CommitRequest
from coordinators.group.streams.configuring import ConfiguredTopology
from coordinators.group.streams.group import StreamsGroup, StreamsMember
from coordinators.group.streams.requests import NO_TIMEOUT, StreamsHeartbeatRequest
from coordinators.group.streams.tasks import Tasks, each_task
from coordinators.group.streams.topology import Topology, check_topology
from engine.errors import BrokerError, FencedMemberEpoch, InvalidRequest, StaleMemberEpoch, UnsupportedVersion


def check_streams_heartbeat(request: StreamsHeartbeatRequest) -> None:
    """Raises if the request does not make sense, whatever the group. What Kafka 4.3 does not support yet is refused in
    its words, so that clients of later versions step down alike."""
    if request.instance_id is not None:
        raise InvalidRequest("Static membership is not yet supported.")
    topology = request.topology
    if topology is not None and any(each.source_regexes for each in topology.subtopologies):
        raise InvalidRequest("Regular expressions for source topics are not supported yet.")
    named = {"MemberId": request.member_id, "GroupId": request.group_id, "RackId": request.rack_id}
    for field, value in named.items():
        if value is not None and not value.strip():
            raise InvalidRequest(f"{field} can't be empty.")
    if request.epoch == JOIN_EPOCH:
        _check_join(request)
    elif request.epoch == STATIC_LEAVE_EPOCH:
        raise InvalidRequest("InstanceId can't be null.")
    elif request.epoch < STATIC_LEAVE_EPOCH:
        raise InvalidRequest(f"MemberEpoch is {request.epoch}, but must be greater than or equal to -2.")
    elif topology is not None:
        raise InvalidRequest("Topology can only be provided when (re-)joining.")


def _check_join(request: StreamsHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == NO_TIMEOUT:
        raise InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    owned = request.owned or Tasks()
    for field, tasks in (("ActiveTasks", owned.active), ("StandbyTasks", owned.standby)):
        if tasks:
            raise InvalidRequest(f"{field} must be empty when (re-)joining.")
    if request.topology is None:
        raise InvalidRequest("Topology must be non-null when (re-)joining.")
    check_topology(request.topology)


def check_streams_epoch(member: StreamsMember, epoch: int, owned: Tasks | None) -> None:
    """A member is in its epoch; or in the one before, if the answer that raised it was lost. 0 joins again."""
    if epoch in (JOIN_EPOCH, member.epoch):
        return
    is_late = epoch < member.epoch and epoch == member.previous_epoch
    if is_late and owned is not None and owned.is_part_of(member.assigned.tasks):
        return
    than = "greater" if epoch > member.epoch else "smaller"
    raise FencedMemberEpoch(
        f"The streams group member has a {than} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin."
    )


def check_owned(owned: Tasks | None, configured: ConfiguredTopology) -> None:
    """Members have no tasks that there are not."""
    if owned is None or not configured.is_ready:
        return
    for role in (owned.active, owned.standby, owned.warmup):
        for subtopology_id, partition in each_task(role):
            count = configured.task_counts.get(subtopology_id)
            if count is None:
                raise InvalidRequest(f"Subtopology {subtopology_id} does not exist in the topology.")
            if not 0 <= partition < count:
                raise InvalidRequest(
                    f"Task {partition} for subtopology {subtopology_id} is invalid. Number of tasks for this "
                    f"subtopology: {count}"
                )


def is_same_topology(known: Topology, told: Topology) -> bool:
    """Members tell the subtopologies in an order of their own."""
    return known.epoch == told.epoch and {each.subtopology_id: each for each in known.subtopologies} == {
        each.subtopology_id: each for each in told.subtopologies
    }


def check_streams_commit(
    group: StreamsGroup, request: CommitRequest, *, transactional: bool
) -> list[BrokerError | None]:
    """Members commit in their epoch, others where there are no members; per offset what is wrong with it.

    A member that is a step behind may still commit for tasks that it was given in that epoch or before, and has not
    given back since.
    """
    fine: list[BrokerError | None] = [None] * len(request.offsets)
    if request.generation < 0 and not group.members:
        return fine
    anonymous = request.generation < 0 and request.member_id == NO_MEMBER and request.instance_id is None
    if transactional and anonymous:
        return fine
    member = group.member(request.member_id)
    if not transactional and not request.can_be_told_of_no_group:
        raise UnsupportedVersion(
            "OffsetCommit version 9 or above must be used by members using the streams group protocol"
        )
    if request.generation == member.epoch:
        return fine
    if request.generation > member.epoch:
        raise StaleMemberEpoch(
            f"Received member epoch {request.generation} is newer than current member epoch {member.epoch}."
        )
    return [_late(group, member, each.topic, each.partition, request.generation) for each in request.offsets]


def _late(group: StreamsGroup, member: StreamsMember, topic: str, partition: int, epoch: int) -> BrokerError | None:
    subtopology_id = None if group.topology is None else group.topology.readers.get(topic)
    if subtopology_id is None:
        return StaleMemberEpoch(f"Topic {topic} is not in the topology.")
    held = (member.assigned, member.revoking)
    given = [each.active[subtopology_id].get(partition) for each in held if subtopology_id in each.active]
    since = next((each for each in given if each is not None), None)
    if since is None:
        return StaleMemberEpoch(f"Task {subtopology_id}-{partition} is not assigned or pending revocation for member.")
    if epoch < since:
        return StaleMemberEpoch(
            f"Received member epoch {epoch} is older than assignment epoch {since} for task "
            f"{subtopology_id}-{partition}."
        )
    return None


def check_streams_fetch(group: StreamsGroup, member_id: str | None, epoch: int) -> None:
    """Who says which member it is asks in that member's epoch."""
    if member_id is None and epoch < 0:
        return
    member = group.member(member_id or "")
    if epoch != member.epoch:
        raise StaleMemberEpoch(
            f"The received member epoch {epoch} does not match the expected member epoch {member.epoch}."
        )
