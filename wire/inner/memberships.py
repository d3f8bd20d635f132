"""Being in a group by Kafka's classic protocol: join, sync, heartbeat, commit, leave, each an exchange of messages.

There is no task and no clock in here: whoever has a membership calls it, gives it a way to ask, and decides when
(`members.py`). What an error code means for a member is one table (`MOVES`), whichever message was answered with it.

The same protocol serves groups of the new one (KIP-848): the coordinator takes members of the classic protocol into
them, answers for nobody's leader, and assigns itself. So a member need not know of which kind its group is, nor mind
when that changes.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Protocol

import trio
from attrs import define, field

from coordinators.group.consumer.protocol import (
    Malformed,
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
from engine.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    RebalanceInProgress,
    RequestTimedOut,
)
from wire.inner.assignors import ASSIGNORS, Claimant, Counts, Dealt, Place
from wire.kafka.errors import ErrorCode, broker_error
from wire.kafka.messages.heartbeat import HeartbeatRequest
from wire.kafka.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from wire.kafka.messages.leave_group import LeaveGroupRequest, MemberIdentity
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

CONSUMERS = "consumer"
NO_GENERATION = -1
ASSIGNMENT_VERSION = 1
MOST_ROUNDS = 100
"""So often a join is tried anew before it is given up: every time the group or its coordinator said that it should."""
PAUSE_S = 0.2
PASSING = (CoordinatorNotAvailable, CoordinatorLoadInProgress, NotCoordinator, RequestTimedOut)
"""What is raised when nobody could be asked just now."""


class Ask(Protocol):
    """Asks a message in the name of the member's caller, and waits for the answer at least as long as that may take."""

    async def __call__(self, message: Any, version: int | None = None, *, wait_s: float = 0.0) -> Any: ...


Deal = Callable[[str, list[Claimant], Counts], Awaitable[Dealt]]
"""Deals partitions out by the assignor of this name; many of them in a thread."""
Sleep = Callable[[float], Awaitable[None]]


class Move(Enum):
    """What a member does about an error."""

    WAIT = "ask again in a moment"
    JOIN = "join the next generation"
    BEGIN_ANEW = "join as somebody new"
    TAKE_ID = "join with the id that was given"
    GIVE_UP = "tell the caller"


MOVES: Mapping[int, Move] = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Move.WAIT,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Move.WAIT,
    ErrorCode.NOT_COORDINATOR: Move.WAIT,
    ErrorCode.REQUEST_TIMED_OUT: Move.WAIT,
    ErrorCode.REBALANCE_IN_PROGRESS: Move.JOIN,
    ErrorCode.ILLEGAL_GENERATION: Move.JOIN,
    ErrorCode.UNKNOWN_MEMBER_ID: Move.BEGIN_ANEW,
    ErrorCode.MEMBER_ID_REQUIRED: Move.TAKE_ID,
}
"""By Kafka's codes; whatever is not in here is final."""


@define(eq=False)
class DoorMembership:
    """See the module."""

    ask: Ask
    """The group's coordinator."""
    ask_any: Ask
    """Any node."""
    deal: Deal
    sleep: Sleep
    group: str
    topics: tuple[str, ...]
    session_ms: int
    rebalance_ms: int
    member_id: str = field(default="", init=False)
    generation: int = field(default=NO_GENERATION, init=False)
    protocol: str | None = field(default=None, init=False)
    assigned: frozenset[Place] = field(default=frozenset(), init=False)
    counts: Counts = field(factory=dict, init=False)
    """Of the leader: how many partitions the group's topics had when they were dealt out."""
    wanted: frozenset[str] = field(default=frozenset(), init=False)
    """Of the leader: the topics of all members, whether or not there are such."""
    heard: trio.Event = field(factory=trio.Event, init=False)
    """Set when the coordinator has heard of the member, and has not refused it at once."""

    async def _asked(self, ask: Ask, message: Any, *, wait_s: float = 0.0) -> Any:
        """The answer, however long its coordinator cannot be found: a group outlives its node."""
        for _ in range(MOST_ROUNDS):
            try:
                return await ask(message, wait_s=wait_s)
            except PASSING:
                await self.sleep(PAUSE_S)
        raise CoordinatorNotAvailable(f"nobody answers for group {self.group!r}")

    @property
    def leads(self) -> bool:
        """Whether it deals out."""
        return bool(self.wanted)

    # -- joining

    async def join(self) -> frozenset[Place]:
        """Become a member of the next generation; what it is to read."""
        self.assigned, self.wanted, self.counts = frozenset(), frozenset(), {}
        for _ in range(MOST_ROUNDS):
            if await self._round():
                return self.assigned
        raise RebalanceInProgress(f"group {self.group!r} did not settle in {MOST_ROUNDS} rounds")

    async def _round(self) -> bool:
        joined = await self._asked(self.ask, self._join_request(), wait_s=self.rebalance_ms / 1000)
        if joined.error_code:
            if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = joined.member_id
                self.heard.set()
            await self._move(joined.error_code)
            return False
        self.member_id, self.generation = joined.member_id, joined.generation_id
        self.protocol = joined.protocol_name
        synced = await self._asked(self.ask, await self._sync_request(joined), wait_s=self.rebalance_ms / 1000)
        if synced.error_code:
            await self._move(synced.error_code)
            return False
        self.assigned = _places(synced.assignment)
        self.heard.set()
        return True

    def _join_request(self) -> JoinGroupRequest:
        subscription = write_subscription(self.topics)
        return JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.rebalance_ms,
            member_id=self.member_id,
            protocol_type=CONSUMERS,
            protocols=[JoinGroupRequestProtocol(name, subscription) for name in ASSIGNORS],
        )

    async def _sync_request(self, joined: JoinGroupResponse) -> SyncGroupRequest:
        dealt: Dealt = {}
        if joined.leader == self.member_id and not joined.skip_assignment:
            dealt = await self._dealt(joined)
        assignments = [
            SyncGroupRequestAssignment(member_id, write_assignment(_by_topic(places), ASSIGNMENT_VERSION))
            for member_id, places in dealt.items()
        ]
        return SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type=joined.protocol_type or CONSUMERS,
            protocol_name=joined.protocol_name,
            assignments=assignments,
        )

    async def _dealt(self, joined: JoinGroupResponse) -> Dealt:
        claimants = [_claimant(each) for each in joined.members]
        self.wanted = frozenset(topic for each in claimants for topic in each.topics)
        self.counts = await self.partition_counts(self.wanted)
        return await self.deal(joined.protocol_name or "", claimants, self.counts)

    async def partition_counts(self, topics: Iterable[str]) -> Counts:
        """How many partitions those of the topics have that there are."""
        names = [MetadataRequestTopic(name=topic) for topic in sorted(topics)]
        answer = await self._asked(self.ask_any, MetadataRequest(topics=names, allow_auto_topic_creation=False))
        return {each.name: len(each.partitions) for each in answer.topics if not each.error_code}

    async def _move(self, code: int) -> None:
        """Be ready for the next attempt; raises if there is none."""
        move = MOVES.get(code, Move.GIVE_UP)
        if move is Move.GIVE_UP:
            raise broker_error(code, f"group {self.group!r} refuses the member: {_name(code)}")
        if move is Move.BEGIN_ANEW:
            self.member_id = ""
        if move in (Move.BEGIN_ANEW, Move.JOIN):
            self.generation = NO_GENERATION
        if move is Move.WAIT:
            await self.sleep(PAUSE_S)

    # -- living

    async def beat(self) -> bool:
        """Tell the coordinator of the member; False if it has to join again."""
        try:
            answer = await self.ask(HeartbeatRequest(self.group, self.generation, self.member_id))
        except PASSING:
            return True
        return answer.error_code == 0 or not self.heeds(answer.error_code)

    def heeds(self, code: int) -> bool:
        """Whether an error says that the member has to join again; raises if it says that there is no sense in it."""
        move = MOVES.get(code, Move.GIVE_UP)
        if move is Move.GIVE_UP:
            raise broker_error(code, f"group {self.group!r} refuses the member: {_name(code)}")
        if move is Move.BEGIN_ANEW:
            self.member_id, self.generation = "", NO_GENERATION
        return move is not Move.WAIT

    async def leave(self, reason: str) -> None:
        """Give the partitions to others at once; whether or not that succeeds, it is over."""
        member_id, self.member_id = self.member_id, ""
        self.assigned, self.generation = frozenset(), NO_GENERATION
        if member_id:
            await self.ask(LeaveGroupRequest(self.group, [MemberIdentity(member_id, reason=reason)]))


def _claimant(member: Any) -> Claimant:
    """As it says of itself; one that says what is not understood wants nothing."""
    try:
        said = read_subscription(bytes(member.metadata))
    except Malformed:
        return Claimant(member.member_id, frozenset(), instance_id=member.group_instance_id)
    owned = frozenset((topic, index) for topic, indexes in said.owned.items() for index in indexes)
    return Claimant(member.member_id, frozenset(said.topics), owned, said.generation, member.group_instance_id)


def _places(assignment: bytes) -> frozenset[Place]:
    try:
        places, _ = read_assignment(bytes(assignment))
    except Malformed as error:
        raise BrokerError(f"the group's leader has assigned what is not understood: {error}") from None
    return frozenset((topic, index) for topic, indexes in places.items() for index in indexes)


def _by_topic(places: Iterable[Place]) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for topic, index in places:
        found.setdefault(topic, set()).add(index)
    return {topic: frozenset(indexes) for topic, indexes in found.items()}


def _name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
