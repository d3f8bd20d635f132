"""A worker without I/O: what happens on connections and what time it is go in, commands and jobs come out.

Whoever drives it (`on_trio.py`, `on_asyncio.py`) carries out its commands, tells it what came of them, wakes it at
`wake_at()`, and hands out `ready` jobs. Every call looks at everything anew and asks for what is missing: the topics'
leaders, the group's coordinator, heartbeats, a session with each leader. So a connection that is lost, a leader that
moves and a coordinator that is loading need no more than forgetting what is not true any more.
"""

import logging
from collections import deque
from collections.abc import Sequence
from enum import Enum
from functools import partial
from typing import Any

from attrs import define, field, frozen

from engine.errors import BrokerError
from tidegate.work.conversation import Conversation
from tidegate.work.credentials import Credentials
from tidegate.work.job import Job, JobLost, JobSettled, Place, Settle, Settlement, WorkError
from tidegate.work.lending import Done, Lending
from tidegate.work.membership import WorkerMember
from wire.kafka.codec import WireError
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic

Address = tuple[str, int]
RETRY_S = 0.25
LONGEST_RETRY_S = 2.0
REFRESH_S = 60.0
AT_ONCE = 0.0

_log = logging.getLogger("tidegate.work")


class Act(Enum):
    """What a driver has to do with a connection."""

    CONNECT = "connect"
    SEND = "send"
    HANG_UP = "hang up"


@frozen
class Command:
    """One of them."""

    act: Act
    address: Address
    data: bytes = b""


@define(eq=False)
class _Peer:
    """An address, and the conversation with it while there is one."""

    conversation: Conversation | None = None
    not_before: float = 0.0
    retry_s: float = RETRY_S


@define(eq=False)
class WorkCore:
    """See the module."""

    bootstrap: Sequence[Address]
    membership: WorkerMember
    settle: Settle
    max_in_flight: int
    software_version: str
    credentials: Credentials | None = None
    ready: deque[Job] = field(factory=deque, init=False)
    failure: WorkError | None = field(default=None, init=False)
    has_ended: bool = field(default=False, init=False)
    is_stopping: bool = field(default=False, init=False)
    _commands: list[Command] = field(factory=list, init=False)
    _peers: dict[Address, _Peer] = field(factory=dict, init=False)
    _lendings: dict[Address, Lending] = field(factory=dict, init=False)
    _names: dict[bytes, str] = field(factory=dict, init=False)
    _leaders: dict[Place, Address] = field(factory=dict, init=False)
    _coordinator: Address | None = field(default=None, init=False)
    _tried: int = field(default=0, init=False)
    _metadata_due: float = field(default=AT_ONCE, init=False)
    _coordinator_due: float = field(default=AT_ONCE, init=False)
    _asking: set[str] = field(factory=set, init=False)
    """What was asked and is not answered yet, of what is asked once at a time."""
    _turn: int = field(default=0, init=False)
    _now: float = field(default=0.0, init=False)

    # -- what a driver tells

    def connected(self, address: Address, now: float) -> None:
        """A connection is there."""
        conversation = self._peers[address].conversation
        if conversation is not None:
            conversation.open(now)
        self.tick(now)

    def received(self, address: Address, data: bytes, now: float) -> None:
        """Bytes have come; none means that the other end has closed."""
        conversation = self._peers[address].conversation
        if conversation is None:
            return
        if not data:
            self.lost(address, "the broker has closed the connection", now)
            return
        try:
            conversation.receive(data, now)
        except (WireError, BrokerError) as error:
            self._commands.append(Command(Act.HANG_UP, address))
            self.lost(address, f"the broker says what is not understood: {error}", now)
            return
        except WorkError as error:
            self.fail(error)
        self._peers[address].retry_s = RETRY_S
        self.tick(now)

    def lost(self, address: Address, reason: str, now: float) -> None:
        """A connection is gone, or did not come about."""
        peer = self._peers[address]
        _log.log(logging.DEBUG if self.is_stopping else logging.WARNING, "%s:%d: %s", *address, reason)
        peer.conversation = None
        peer.not_before, peer.retry_s = now + peer.retry_s, min(peer.retry_s * 2, LONGEST_RETRY_S)
        self._tried += 1
        if (lending := self._lendings.pop(address, None)) is not None:
            lending.lose(reason)
            self.ready = deque(job for job in self.ready if not job.is_lost)
        self._asking = {each for each in self._asking if not each.endswith(_suffix(address))}
        self._metadata_due = min(self._metadata_due, now)
        if self._coordinator == address:
            self._coordinator = None
        self.tick(now)

    def fail(self, error: WorkError) -> None:
        """It cannot go on."""
        self.failure = self.failure or error
        self._bye()

    # -- what a worker wants

    def note(self, job: Job, settlement: Settlement, done: Done | None, now: float) -> None:
        """Settle a job; `done` is told how that ended."""
        if job.settled is not None:
            raise JobSettled(f"it was settled as {job.settled.name.lower()}")
        lending = next((each for each in self._lendings.values() if each.has(job)), None)
        if lending is None or self.has_ended:
            job.is_lost = True
            raise JobLost("the broker that had lent it is gone")
        job.settled = settlement
        lending.note(job, settlement, done)
        self.tick(now)

    def stop(self, now: float) -> None:
        """Fetch no more, release what nobody has been given, and end once the rest is settled."""
        if self.is_stopping:
            return
        self.is_stopping = True
        for job in self.ready:
            if not job.is_lost:
                self.note(job, Settlement.RELEASE, None, now)
        self.ready.clear()
        self.tick(now)

    def release_rest(self, now: float) -> None:
        """Release what was given out and is not settled."""
        for lending in list(self._lendings.values()):
            for job in lending.unsettled():
                self.note(job, Settlement.RELEASE, None, now)

    @property
    def in_hand(self) -> int:
        """How many jobs were given out and are not settled."""
        return sum(len(lending.unsettled()) for lending in self._lendings.values()) - len(self.ready)

    # -- time

    def take_commands(self) -> list[Command]:
        """What is to be done now, once."""
        for address, peer in self._peers.items():
            if peer.conversation is not None and (data := peer.conversation.to_send()):
                self._commands.append(Command(Act.SEND, address, data))
        commands, self._commands = self._commands, []
        return commands

    def wake_at(self) -> float:
        """When `tick` has to be called if nothing happens before."""
        times = [self._metadata_due, self.membership.due, self._coordinator_due]
        times += [peer.not_before for peer in self._peers.values() if peer.conversation is None]
        times += [
            deadline
            for peer in self._peers.values()
            if peer.conversation is not None and (deadline := peer.conversation.deadline) is not None
        ]
        times += [
            renew_at
            for peer in self._peers.values()
            if peer.conversation is not None and (renew_at := peer.conversation.renew_at) is not None
        ]
        for lending in self._lendings.values():
            times += [lending.not_before]
            if (renewal := lending.wake_at()) is not None:
                times.append(renewal)
        later = [time for time in times if time > self._now]
        return min(later, default=self._now + REFRESH_S)

    def tick(self, now: float) -> None:
        """Look at everything and ask for what is missing."""
        self._now = now
        if self.has_ended:
            return
        try:
            self._expire(now)
            self._renew(now)
            self._look_around(now)
            self._beat(now)
            self._align()
            self._lend(now)
            self._end(now)
        except WorkError as error:
            self.fail(error)

    def _expire(self, now: float) -> None:
        for address, peer in list(self._peers.items()):
            conversation = peer.conversation
            if conversation is not None and conversation.deadline is not None and now >= conversation.deadline:
                self._commands.append(Command(Act.HANG_UP, address))
                self.lost(address, "the broker does not answer", now)

    def _renew(self, now: float) -> None:
        for peer in self._peers.values():
            conversation = peer.conversation
            if conversation is not None and conversation.renew_at is not None and now >= conversation.renew_at:
                conversation.show(now)

    def _conversation(self, address: Address, now: float) -> Conversation | None:
        """The one with this address, if it can be used now; else it is begun."""
        peer = self._peers.setdefault(address, _Peer())
        if peer.conversation is not None:
            return peer.conversation if peer.conversation.is_ready else None
        if now >= peer.not_before:
            peer.conversation = Conversation(self.software_version, self.credentials)
            self._commands.append(Command(Act.CONNECT, address))
        return None

    def _anybody(self, now: float) -> tuple[Address, Conversation] | None:
        for address, peer in self._peers.items():
            if peer.conversation is not None and peer.conversation.is_ready:
                return address, peer.conversation
        known = list(dict.fromkeys([*self.bootstrap, *self._leaders.values()]))
        self._conversation(known[self._tried % len(known)], now)
        return None

    def _ask_once(self, what: str, address: Address, message: Any, take: Any, now: float) -> None:
        """Ask something unless it is being asked already."""
        conversation = self._peers[address].conversation
        if conversation is None or any(each.startswith(what) for each in self._asking):
            return
        name = what + _suffix(address)
        self._asking.add(name)

        def answered(answer: Any, then: float) -> None:
            self._asking.discard(name)
            take(answer, then)

        conversation.ask(message, answered, now)

    # -- leaders and the coordinator

    def _look_around(self, now: float) -> None:
        wants_metadata = now >= self._metadata_due
        wants_coordinator = self._coordinator is None and now >= self._coordinator_due
        if not (wants_metadata or wants_coordinator) or (found := self._anybody(now)) is None:
            return
        address, _ = found
        if wants_metadata:
            topics = [MetadataRequestTopic(name=name) for name in self.membership.topics]
            self._ask_once(
                "metadata",
                address,
                MetadataRequest(topics=topics, allow_auto_topic_creation=False),
                self._take_metadata,
                now,
            )
        if wants_coordinator:
            group = self.membership.group
            request = FindCoordinatorRequest(key=group, key_type=0, coordinator_keys=[group])
            self._ask_once("coordinator", address, request, self._take_coordinator, now)

    def _take_metadata(self, answer: Any, now: float) -> None:
        nodes = {each.node_id: (each.host, each.port) for each in answer.brokers}
        self._leaders = {}
        for topic in answer.topics:
            self._names[topic.topic_id] = topic.name or ""
            for each in topic.partitions:
                if each.leader_id in nodes:
                    self._leaders[topic.topic_id, each.partition_index] = nodes[each.leader_id]
        missing = self.membership.assigned - self._leaders.keys()
        self._metadata_due = now + (RETRY_S if missing else REFRESH_S)

    def _take_coordinator(self, answer: Any, now: float) -> None:
        found = answer.coordinators[0] if answer.coordinators else answer
        if found.error_code == 0:
            self._coordinator = (found.host, found.port)
        self._coordinator_due = now + RETRY_S

    def _beat(self, now: float) -> None:
        if self.is_stopping or self._coordinator is None or now < self.membership.due:
            return
        if self._conversation(self._coordinator, now) is not None:
            self._ask_once("beat", self._coordinator, self.membership.heartbeat(), self._take_beat, now)

    def _take_beat(self, answer: Any, now: float) -> None:
        if not self.membership.take(answer, now):
            self._coordinator = None
        if self.membership.assigned - self._leaders.keys():
            self._metadata_due = min(self._metadata_due, now)

    # -- sessions

    def _align(self) -> None:
        """Let every leader be asked for what it leads of what is assigned."""
        wanted: dict[Address, set[Place]] = {}
        if not self.is_stopping:
            for place in self.membership.assigned:
                if (leader := self._leaders.get(place)) is not None:
                    wanted.setdefault(leader, set()).add(place)
        for address in wanted.keys() - self._lendings.keys():
            member = self.membership
            self._lendings[address] = Lending(member.group, member.member_id, self.settle, self._names)
        for address, lending in self._lendings.items():
            lending.wanted = frozenset(wanted.get(address, ()))
            lending.is_closing = self.is_stopping or lending.is_idle
        self._lendings = {address: each for address, each in self._lendings.items() if not each.is_closed}

    def _lend(self, now: float) -> None:
        addresses = list(self._lendings)
        self._turn += 1
        for index in range(len(addresses)):
            address = addresses[(index + self._turn) % len(addresses)]
            lending = self._lendings[address]
            conversation = self._conversation(address, now)
            if conversation is None:
                continue
            lent = sum(each.held + each.reserved for each in self._lendings.values())
            room = self.max_in_flight - lent
            if self.ready and room < self.max_in_flight / 2:
                # There is enough to do: to fetch by ones and twos would keep settlements waiting.
                room = 0
            asked = lending.request(now, room)
            if asked is not None:
                message, waits_s = asked
                conversation.ask(message, partial(self._answered, lending, now), now, waits_s)

    def _answered(self, lending: Lending, began: float, answer: Any, now: float) -> None:
        lending.answered(answer, now, began)
        for job in lending.fresh:
            self.ready.append(job)
        lending.fresh.clear()
        if lending.has_moved:
            lending.has_moved = False
            self._metadata_due = min(self._metadata_due, now + RETRY_S)
        if self.is_stopping:
            while self.ready:
                self.note(self.ready.popleft(), Settlement.RELEASE, None, now)

    def _end(self, now: float) -> None:
        """Leave the group when all sessions are closed, and end when that is answered."""
        if not self.is_stopping or self._lendings:
            return
        conversation = None if self._coordinator is None else self._conversation(self._coordinator, now)
        if self._coordinator is None or self.membership.epoch == 0:
            self._bye()
        elif conversation is not None:
            self._ask_once("leave", self._coordinator, self.membership.farewell(), self._left, now)

    def _left(self, _answer: Any, _now: float) -> None:
        self._bye()

    def _bye(self) -> None:
        self.has_ended = True
        for lending in self._lendings.values():
            lending.lose("the worker has ended")
        self._commands += [Command(Act.HANG_UP, address) for address, peer in self._peers.items() if peer.conversation]


def _suffix(address: Address) -> str:
    return f" {address[0]}:{address[1]}"
