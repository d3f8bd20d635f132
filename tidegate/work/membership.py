"""Being a member of a share group: when a heartbeat is due, what it says, and what its answer means."""

from typing import Any

from attrs import define, field

from tidegate.work.job import Place, WorkError
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

JOIN, LEAVE = 0, -1
FIRST_INTERVAL_S = 0.25
"""How soon is asked again by whom nothing is assigned yet: Kafka assigns a new topic some heartbeats later."""
EAGER_S = 15.0
RETRY_S = 0.25

COORDINATOR_ELSEWHERE = (14, 15, 16)
REJOIN = (25, 69, 110)
"""The member is not known, its group is not, or it is in another epoch."""
MEANINGS = {
    24: "the group's name is not a valid one",
    29: "it may not read one of the topics",
    30: "it may not read in this group",
    35: "the broker has no share groups",
    42: "the request is not valid",
    69: "the group is of another kind",
    81: "the group is full",
}


def refusal(code: int, said: str | None) -> WorkError:
    """What a broker's refusal for good is raised as."""
    return WorkError(
        f"the broker refuses the worker: {said or MEANINGS.get(code, 'no reason is given')} (error {code})"
    )


@define(eq=False)
class WorkerMember:
    """One member. It begins by joining."""

    group: str
    member_id: str
    topics: tuple[str, ...]
    epoch: int = field(default=JOIN, init=False)
    assigned: frozenset[Place] = field(default=frozenset(), init=False)
    due: float = field(default=0.0, init=False)
    """When the next heartbeat is."""
    has_left: bool = field(default=False, init=False)
    _eager_until: float = field(default=0.0, init=False)

    def heartbeat(self) -> ShareGroupHeartbeatRequest:
        """What to send now."""
        names = list(self.topics) if self.epoch == JOIN else None
        return ShareGroupHeartbeatRequest(self.group, self.member_id, self.epoch, None, names)

    def farewell(self) -> ShareGroupHeartbeatRequest:
        """The last one."""
        return ShareGroupHeartbeatRequest(self.group, self.member_id, LEAVE)

    def take(self, answer: Any, now: float) -> bool:
        """Take in what the coordinator says; False if it is not the coordinator any more, or not yet."""
        code = answer.error_code
        if code in COORDINATOR_ELSEWHERE:
            self.due = now + RETRY_S
            return False
        if code in REJOIN and self.epoch != JOIN:
            self.epoch, self.due = JOIN, now
            return True
        if code:
            raise refusal(code, answer.error_message)
        if self.epoch == JOIN:
            self._eager_until = now + EAGER_S
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.assigned = frozenset(
                (each.topic_id, index) for each in answer.assignment.topic_partitions for index in each.partitions
            )
        interval_s = answer.heartbeat_interval_ms / 1000
        is_eager = not self.assigned and now < self._eager_until
        self.due = now + (min(interval_s, FIRST_INTERVAL_S) if is_eager else interval_s)
        return True
