"""Which heartbeats of the new consumer protocol are taken at all, and which member epochs."""

from collections.abc import Collection, Mapping

from coordinators.group.consumer import regex
from coordinators.group.consumer.group import JOIN_EPOCH, STATIC_LEAVE_EPOCH, ConsumerGroup, ConsumerMember
from coordinators.group.consumer.record_formats import Assignment
from coordinators.group.consumer.requests import NO_TIMEOUT, HeartbeatRequest
from coordinators.group.requests import NO_MEMBER, CommitRequest
from engine.errors import (
    BrokerError,
    FencedMemberEpoch,
    IllegalGeneration,
    InvalidRequest,
    StaleMemberEpoch,
    UnsupportedAssignor,
    UnsupportedVersion,
)
from engine.ids import TopicId


def check_heartbeat(request: HeartbeatRequest, assignors: Collection[str]) -> None:
    """Raises if the request does not make sense, whatever the group."""
    if not request.member_id and (request.brings_member_id or request.epoch != JOIN_EPOCH):
        raise InvalidRequest("MemberId can't be empty.")
    named = {"GroupId": request.group_id, "InstanceId": request.instance_id, "RackId": request.rack_id}
    for field, value in named.items():
        if value is not None and not value.strip():
            raise InvalidRequest(f"{field} can't be empty.")
    if request.epoch == JOIN_EPOCH:
        _check_join(request)
    elif request.epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
        raise InvalidRequest("InstanceId can't be null.")
    elif request.epoch < STATIC_LEAVE_EPOCH:
        raise InvalidRequest(f"MemberEpoch is invalid: {request.epoch}.")
    if request.assignor is not None and request.assignor not in assignors:
        raise UnsupportedAssignor(
            f"ServerAssignor {request.assignor} is not supported. Supported assignors: {', '.join(assignors)}."
        )
    if request.regex:
        regex.check(request.regex)


def _check_join(request: HeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == NO_TIMEOUT:
        raise InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    if request.owned is None or request.owned:
        raise InvalidRequest("TopicPartitions must be empty when (re-)joining.")
    if request.topics is None and request.regex is None:
        raise InvalidRequest("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")


def check_epoch(member: ConsumerMember, epoch: int, owned: Assignment | None) -> None:
    """A member is in its epoch; or in the one before, if the answer that raised it was lost. 0 joins again."""
    if epoch in (JOIN_EPOCH, member.epoch):
        return
    if epoch == member.previous_epoch and epoch < member.epoch and _is_part_of(owned, member.assigned):
        return
    than = "greater" if epoch > member.epoch else "smaller"
    raise FencedMemberEpoch(
        f"The consumer group member has a {than} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin."
    )


def _is_part_of(owned: Assignment | None, assigned: Mapping[TopicId, Mapping[int, int]]) -> bool:
    if owned is None:
        return False
    return all(indexes <= assigned.get(topic_id, {}).keys() for topic_id, indexes in owned.items())


def check_commit(group: ConsumerGroup, request: CommitRequest, *, transactional: bool) -> list[BrokerError | None]:
    """Members commit in their epoch, others where there are no members; per offset what is wrong with it.

    A member that is a step behind may still commit what it was given in that epoch or before, and has not given
    back since (KIP-1251).
    """
    fine: list[BrokerError | None] = [None] * len(request.offsets)
    if request.generation < 0 and not group.members:
        return fine
    anonymous = request.generation < 0 and request.member_id == NO_MEMBER and request.instance_id is None
    if transactional and anonymous:
        return fine
    member = group.member(request.member_id)
    is_classic = member.subscription.classic is not None
    if not transactional and not is_classic and not request.can_be_told_of_no_group:
        raise UnsupportedVersion("OffsetCommit version 9 or above must be used by members of the consumer protocol.")
    if request.generation == member.epoch:
        return fine
    error = _stale(request.generation, member)
    if request.generation > member.epoch:
        raise error
    return [_late(each.topic_id, each.partition, request.generation, member, error) for each in request.offsets]


def _late(
    topic_id: TopicId, partition: int, epoch: int, member: ConsumerMember, error: BrokerError
) -> BrokerError | None:
    for held in (member.assigned, member.revoking):
        given = held.get(topic_id, {}).get(partition)
        if given is not None and given <= epoch:
            return None
    return error


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> None:
    """Who says which member it is asks in that member's epoch."""
    if member_id is None and epoch < 0:
        return
    member = group.member(member_id or "")
    if epoch != member.epoch:
        raise _stale(epoch, member)


def _stale(epoch: int, member: ConsumerMember) -> BrokerError:
    if member.subscription.classic is not None:
        return IllegalGeneration(
            f"The received generation id {epoch} does not match the expected member epoch {member.epoch}."
        )
    return StaleMemberEpoch(
        f"The received member epoch {epoch} does not match the expected member epoch {member.epoch}."
    )
