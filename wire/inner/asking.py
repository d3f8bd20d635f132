"""Asks requests for a door's caller, of whichever node has to answer, and again while leaders and coordinators move.

    with inner.guest(caller, "http") as guest:
        answer = await inner.ask(guest, DescribeConfigsRequest(...))
        answer = await inner.ask_coordinator(guest, GROUP, "billing", OffsetCommitRequest(...))

A guest is let in for as long as it asks. One that `stays` keeps what hangs on a connection (sessions of share groups)
from request to request. Whoever has used up its quota gets its answers later.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import trio
from attrs import define

from coordinators.access.callers import Caller
from coordinators.access.rights import DESCRIBE_TOPIC
from coordinators.background import Background
from coordinators.internal_topics import InternalTopics
from coordinators.replication.ports import LinkBroken
from coordinators.topic_view import Topic
from coordinators.topics import Topics
from engine.clock import Clock
from engine.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    InvalidRequest,
    NotLeader,
    RequestTimedOut,
    SaslAuthenticationFailed,
    UnknownTopicOrPartition,
)
from wire.kafka.apis import registered
from wire.kafka.apis.find_coordinator import GROUP as GROUP
from wire.kafka.apis.find_coordinator import SHARE as SHARE
from wire.kafka.apis.find_coordinator import TOPICS as COORDINATED_IN
from wire.kafka.apis.find_coordinator import TRANSACTION as TRANSACTION
from wire.kafka.calls import Calls, Guest
from wire.kafka.codec import WireError
from wire.kafka.errors import ErrorCode, broker_error, code_name
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.nodes.carrying import Carrying

ASKED_BY_NAME = {0: 12, 1: 12, 8: 9, 9: 9}
"""The last versions in which topics have names, of the requests where they have ids later: Produce, Fetch,
OffsetCommit, OffsetFetch."""
TIMEOUT_S = 30.0
ANSWER_S = 10.0
"""How long another node may take beyond what the request itself waits for."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5
COORDINATOR_MOVES = frozenset(
    (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
)
LEADER_MOVES = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    )
)
MOST_LOOKED_AT = 10_000


@define(eq=False)
class InnerClient:
    """See the module."""

    calls: Calls
    carrying: Carrying
    topics: Topics
    internal_topics: InternalTopics
    background: Background
    clock: Clock

    # -- guests

    @contextmanager
    def guest(self, caller: Caller, door: str, client_id: str | None = None) -> Iterator[Guest]:
        """Somebody in whose name is asked, for the length of the block."""
        guest = self.calls.welcome(caller, door, client_id)
        try:
            yield guest
        finally:
            self.calls.leave(guest)

    def staying(self, caller: Caller, door: str, client_id: str | None = None) -> Guest:
        """A guest that stays until `leave`."""
        return self.calls.welcome(caller, door, client_id, stays=True)

    def leave(self, guest: Guest) -> None:
        """A guest that stayed asks no more."""
        self.calls.leave(guest)
        for node_id in guest.nodes:
            self.background.start_soon(self.carrying.leave, node_id, guest)

    # -- asking

    async def ask(
        self,
        guest: Guest,
        message: Any,
        version: int | None = None,
        *,
        node_id: int | None = None,
        timeout_s: float = TIMEOUT_S,
        chosen: bool = False,
    ) -> Any:
        """The answer of a node, this one unless another is named; None if the request has none. Its error codes are the
        asker's to look at. `RequestTimedOut` where it is not known what became of the request, `NotReached` where it
        was not even sent. `timeout_s` is how long the request itself may wait."""
        if version is None:
            version = version_of(message.API_KEY)
        check_counts(guest)
        try:
            if node_id is None or node_id == self.topics.node_id:
                answer = await self.calls.call(guest, message, version, chosen=chosen)
            else:
                wait_s = timeout_s + ANSWER_S
                answer = await self.carrying.ask(node_id, guest, message, version, wait_s, chosen=chosen)
        except WireError as error:
            raise InvalidRequest(str(error)) from None
        wait_s = max(guest.taken_wait_s(), getattr(answer, "throttle_time_ms", 0) / 1000)
        if wait_s > 0:
            await trio.sleep(wait_s)
        return answer

    async def ask_coordinator(
        self,
        guest: Guest,
        kind: int,
        key: str,
        message: Any,
        version: int | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
    ) -> Any:
        """The answer of whoever coordinates a group or a transaction, asked again while that is nobody, or another."""
        await self._ensure(guest, kind, key)
        name = self.calls.broker_name(guest, key)

        def where() -> int:
            return self.internal_topics.coordinator_of(COORDINATED_IN[kind], name)

        async def once(node_id: int) -> Any:
            return await self.ask(guest, message, version, node_id=node_id, timeout_s=timeout_s)

        return await self.persistently(where, once, COORDINATOR_MOVES, timeout_s)

    async def ask_leader(
        self,
        guest: Guest,
        topic: str,
        partition: int,
        message: Any,
        version: int | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        wait_s: float = 0.0,
    ) -> Any:
        """The answer of the partition's leader, asked again while that is nobody, or another; for requests that may
        be asked twice. `wait_s` is how long the request itself may wait."""

        async def once(node_id: int) -> Any:
            return await self.ask(guest, message, version, node_id=node_id, timeout_s=wait_s)

        await self.known_topic(guest, topic)
        return await self.persistently(
            lambda: self.leader(guest, topic, partition), once, LEADER_MOVES, timeout_s + wait_s
        )

    async def persistently(
        self, where: Callable[[], int], once: Callable[[int], Awaitable[Any]], moves: frozenset[int], timeout_s: float
    ) -> Any:
        """Ask whoever it is now, until the answer does not say that it is another."""
        deadline, pause_s = self.clock.monotonic() + timeout_s, FIRST_PAUSE_S
        while True:
            try:
                node_id = where()
                if node_id < 0:
                    raise CoordinatorNotAvailable("nobody can be asked at the moment: another is about to take over")
                answer = await once(node_id)
                moved = first_of(moves, answer)
                if moved is None or self.clock.monotonic() + pause_s > deadline:
                    return answer
            except (LinkBroken, CoordinatorNotAvailable, NotLeader) as error:
                if self.clock.monotonic() + pause_s > deadline:
                    raise error if isinstance(error, BrokerError) else RequestTimedOut(str(error)) from None
            await trio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    # -- where things are

    def topic(self, guest: Guest, name: str) -> Topic | None:
        """A topic by the guest's name for it, if there is one. What it is told of it, others ask the rights for."""
        return self.topics.by_name.get(self.calls.broker_name(guest, name))

    async def known_topic(self, guest: Guest, name: str, *, make: bool = False) -> Topic:
        """The same; raises why there is none. With `make` it is made, where the broker makes what is asked for."""
        # First: whether there is one does not show in how it is refused.
        self._check_may_know(guest, name)
        topic = self.topic(guest, name)
        if topic is not None:
            return topic
        # Asked as a client asks: so whoever may not know is told nothing else than a client is.
        wanted = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=make)
        answer = await self.ask(guest, wanted)
        code = next((each.error_code for each in answer.topics), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        topic = self.topic(guest, name)
        if topic is None:
            raise _no_topic(name, code)
        return topic

    def leader(self, guest: Guest, topic: str, partition: int) -> int:
        """Who leads a partition; -1 if nobody does."""
        found = self.topic(guest, topic)
        if found is None:
            self._check_may_know(guest, topic)
            raise UnknownTopicOrPartition(f"there is no topic {topic!r}")
        if not 0 <= partition < found.partition_count:
            self._check_may_know(guest, topic)
            raise UnknownTopicOrPartition(f"{topic} has partitions 0 to {found.partition_count - 1}, not {partition}")
        return found.partitions[partition].leader

    def _check_may_know(self, guest: Guest, name: str) -> None:
        """Refuse who may not describe a topic, as Metadata does, before anything of it is told: that it exists, or how
        many partitions it has."""
        access = self.calls.server.tenancy.access
        meant = self.calls.broker_name(guest, name)
        if access.is_enforced and not access.allows(guest.caller, DESCRIBE_TOPIC, meant, f"the door {guest.door}"):
            # By the name that the caller knows.
            raise DESCRIBE_TOPIC.refusal(name)

    async def _ensure(self, guest: Guest, kind: int, key: str) -> None:
        """Have the topic made in which coordinators of this kind keep their state."""
        if self.internal_topics.is_missing(COORDINATED_IN[kind]):
            answer = await self.ask(guest, FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]))
            for each in answer.coordinators:
                if each.error_code and each.error_code not in COORDINATOR_MOVES:
                    # Who may not ask has nothing made, and would wait for it in vain.
                    raise broker_error(each.error_code, each.error_message or "")


def check_counts(guest: Guest) -> None:
    """Refuse whoever was deleted meanwhile, or whose token has ended: what it began goes no further."""
    if not guest.counts():
        raise SaslAuthenticationFailed(f"what {guest.caller.principal} has shown counts no longer: log in again")


def version_of(api_key: int) -> int:
    """The version in which an API is asked if none is named: the last one that names topics by their names."""
    return ASKED_BY_NAME.get(api_key, registered()[api_key].last_advertised_version)


def first_of(codes: frozenset[int], answer: Any) -> int | None:
    """The first error code in an answer that is one of these, at whatever depth; None if there is none."""
    for code in error_codes(answer):
        if code in codes:
            return code
    return None


def error_codes(answer: Any) -> Iterator[int]:
    """All that an answer says went wrong, as far as one cares to look."""
    unseen = [answer]
    looked_at = 0
    while unseen and looked_at < MOST_LOOKED_AT:
        each = unseen.pop()
        looked_at += 1
        if isinstance(each, msgspec.Struct):
            code = getattr(each, "error_code", 0)
            if code:
                yield code
            unseen += [getattr(each, name) for name in each.__struct_fields__]
        elif hasattr(each, "__iter__") and not isinstance(each, str | bytes | bytearray | memoryview):
            unseen += list(each)


def _no_topic(name: str, code: int) -> BrokerError:
    if code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        return UnknownTopicOrPartition(f"there is no topic {name!r}, or you may not know of it")
    if code == ErrorCode.LEADER_NOT_AVAILABLE:
        return NotLeader(f"{name} was just made, and has no leader yet")
    return broker_error(code, f"topic {name}: {code_name(code)}")
