"""StreamsGroupHeartbeat: joining, living and leaving in streams groups (KIP-1071).

A heartbeat takes in what is new about the member; if that, or the topics, raise the group's epoch, a new target is
computed; and it brings the member one step nearer to its target. What keeps the application from running it is told in
the answer's status. Members are threads; each of a process's members is asked by itself.
"""

from attrs import define, evolve

from coordinators.group.classic.group import GroupState
from coordinators.group.consumer.group import JOIN_EPOCH, LEAVE_EPOCH
from coordinators.group.pace import HeartbeatPace
from coordinators.group.record_formats import group_record
from coordinators.group.streams.checks import (
    check_owned,
    check_streams_epoch,
    check_streams_heartbeat,
    is_same_topology,
)
from coordinators.group.streams.configuring import ConfiguredTopology
from coordinators.group.streams.draft import StreamsDraft
from coordinators.group.streams.endpoints import endpoint_partitions
from coordinators.group.streams.group import StreamsGroup, StreamsMember, StreamsMemberState
from coordinators.group.streams.groups import StreamsGroups
from coordinators.group.streams.record_formats import StreamsMemberValue
from coordinators.group.streams.requests import (
    NO_TIMEOUT,
    EndpointPartitions,
    StreamsHeartbeatAnswer,
    StreamsHeartbeatRequest,
    StreamsStatus,
    StreamsStatusCode,
)
from coordinators.group.streams.tasks import Tasks
from coordinators.state_machine import Effects, Verdict
from engine.errors import GroupIdNotFound, InvalidRequest


@define(eq=False)
class StreamsHeartbeats:
    """Answers the members of one shard's streams groups."""

    streams: StreamsGroups
    pace: HeartbeatPace

    def heartbeat(self, request: StreamsHeartbeatRequest) -> Verdict[StreamsHeartbeatAnswer]:
        """A StreamsHeartbeatAnswer."""
        check_streams_heartbeat(request)
        if request.epoch == LEAVE_EPOCH:
            return self._leave(request)
        effects = Effects()
        group = self._group(request, effects)
        if request.epoch == JOIN_EPOCH:
            self.streams.check_room(group, request.member_id)
            known = group.members.get(request.member_id) or StreamsMember(request.member_id)
        else:
            known = group.member(request.member_id)
        check_streams_epoch(known, request.epoch, request.owned)
        return self._update(self.streams.draft(group), known, request, effects)

    def _group(self, request: StreamsHeartbeatRequest, effects: Effects) -> StreamsGroup:
        """The group; a new one, or an empty one of the classic protocol that makes way, if the member joins."""
        group = self.streams.groups.get(request.group_id)
        if group is not None:
            return group
        classic = self.streams.classic.get(request.group_id)
        if classic is not None and (request.epoch != JOIN_EPOCH or classic.state is not GroupState.EMPTY):
            raise GroupIdNotFound(f"Group {request.group_id} is not a streams group.")
        if request.epoch != JOIN_EPOCH:
            raise GroupIdNotFound(f"Streams group {request.group_id} not found.")
        if classic is not None:
            # Its offsets stay.
            effects.records.append(group_record(request.group_id, None))
        return StreamsGroup(request.group_id)

    def _update(
        self, draft: StreamsDraft, before: StreamsMember, request: StreamsHeartbeatRequest, effects: Effects
    ) -> Verdict[StreamsHeartbeatAnswer]:
        member = evolve(before, said=_said(before.said, request))
        changed = draft.introduce(member)
        status = self._take_topology(draft, member, request)
        configured = self.streams.take_in(draft, changed=changed)
        check_owned(request.owned, configured)
        delayed = self.streams.update_target(draft, configured)
        target = draft.targets.get(member.member_id, Tasks())
        after = draft.reconcile(member, target, request.owned)
        self.streams.follow_up(draft.group_id, after)
        if after.state is StreamsMemberState.UNREVOKED_TASKS and after.current != before.current:
            self.streams.expect_revocation(draft.group_id, after)
        if request.shuts_down:
            draft.group.stopped_by = draft.group.stopped_by or request.member_id
        status += [delayed] if delayed is not None else []
        status += [configured.problem] if configured.problem is not None else []
        status += _stopping(draft.group)
        effects.records += draft.records
        effects.reload_if_refused = bool(draft.records)
        return effects.verdict(self._answer(request, before, after, configured, draft, tuple(status)))

    def _take_topology(
        self, draft: StreamsDraft, member: StreamsMember, request: StreamsHeartbeatRequest
    ) -> list[StreamsStatus]:
        """The first topology is the group's. One of an earlier epoch is taken with a warning, any other is refused."""
        told = request.topology
        if draft.topology is None:
            if told is None:
                raise InvalidRequest("The group has no topology yet: a member has to join with one.")
            draft.begin(told)
            return []
        known = draft.topology
        if told is not None and told.epoch >= known.epoch and not is_same_topology(known, told):
            raise InvalidRequest("Topology updates are not supported yet.")
        if member.said.topology_epoch >= known.epoch:
            return []
        detail = (
            f"The member's topology epoch {member.said.topology_epoch} is behind the group's topology epoch "
            f"{known.epoch}."
        )
        return [StreamsStatus(StreamsStatusCode.STALE_TOPOLOGY, detail)]

    def _answer(
        self,
        request: StreamsHeartbeatRequest,
        before: StreamsMember,
        after: StreamsMember,
        configured: ConfiguredTopology,
        draft: StreamsDraft,
        status: tuple[StreamsStatus, ...],
    ) -> StreamsHeartbeatAnswer:
        group, is_news = draft.group, request.epoch == JOIN_EPOCH or before.assigned != after.assigned
        moved = is_news and after.said.endpoint is not None
        is_known = group.group_id in self.streams.groups
        if moved and is_known:
            group.endpoint_epoch += 1
        endpoints = None
        if request.endpoint_epoch != group.endpoint_epoch or (moved and not is_known):
            endpoints = self._endpoints(draft, configured)
        waits = after.state is StreamsMemberState.UNRELEASED_TASKS or bool(configured.missing)
        interval_ms = self.streams.configs.chosen(group.group_id, "streams.heartbeat.interval.ms")
        if interval_ms is None:
            most_ms = self.streams.configs.streams_settings(group.group_id).heartbeat_interval_ms
            interval_ms = self.pace.interval_ms(most_ms, waits=waits)
        return StreamsHeartbeatAnswer(
            after.member_id,
            after.epoch,
            interval_ms,
            status,
            after.assigned.tasks if is_news else None,
            group.endpoint_epoch,
            endpoints,
            configured.missing,
        )

    def _endpoints(self, draft: StreamsDraft, configured: ConfiguredTopology) -> tuple[EndpointPartitions, ...]:
        """All members are told the same until one that has an endpoint has other tasks."""
        group = draft.group
        told = group.told_endpoints
        if told is None or told[0] != group.endpoint_epoch:
            found = endpoint_partitions(draft.members.values(), configured, self.streams.topics)
            told = group.told_endpoints = group.endpoint_epoch, found
        return told[1]

    def _leave(self, request: StreamsHeartbeatRequest) -> Verdict[StreamsHeartbeatAnswer]:
        group = self.streams.groups.get(request.group_id)
        if group is None:
            raise GroupIdNotFound(f"Group {request.group_id} not found.")
        member = group.member(request.member_id)
        if request.shuts_down:
            group.stopped_by = group.stopped_by or request.member_id
        return self.streams.remove(group, member, StreamsHeartbeatAnswer(request.member_id, request.epoch))


def _said(before: StreamsMemberValue, request: StreamsHeartbeatRequest) -> StreamsMemberValue:
    """Who the member is now: what it did not say is as before."""
    timeout_ms, topology = request.rebalance_timeout_ms, request.topology
    return before._replace(
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == NO_TIMEOUT else timeout_ms,
        topology_epoch=before.topology_epoch if topology is None else topology.epoch,
        process_id=before.process_id if request.process_id is None else request.process_id,
        endpoint=before.endpoint if request.endpoint is None else request.endpoint,
        tags=before.tags if request.tags is None else tuple(sorted(dict(request.tags).items())),
    )


def _stopping(group: StreamsGroup) -> list[StreamsStatus]:
    if group.stopped_by is None:
        return []
    detail = (
        f"Streams group member {group.stopped_by} encountered a fatal error and requested a shutdown for the entire "
        "application."
    )
    return [StreamsStatus(StreamsStatusCode.SHUTDOWN_APPLICATION, detail)]
