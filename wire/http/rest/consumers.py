"""Consumer instances of v2: consumers that live on this node from one request to the next.

An instance reads either as a member of its group (*subscription*), or partitions of its own choice (*assignments*), as
Kafka's consumers do. It belongs to the principal that made it, and ends when nobody has asked it for anything for
`http.rest.consumer.timeout.ms`.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

import trio
from attrs import define, field, frozen

from coordinators.access.callers import Caller, Principal
from engine.config.resolve import BrokerSettings
from engine.errors import OffsetOutOfRange
from wire.http.config import REST_CONSUMERS_MAX
from wire.http.rest.refusals import ILLEGAL_STATE, INSTANCE_EXISTS, INSTANCE_NOT_FOUND, RestRefusal
from wire.inner.asking import GROUP
from wire.inner.home_asking import coordinator_of
from wire.inner.member import DoorMember, MemberWanted, PollWanted, Reset
from wire.inner.member_reads import MemberReads
from wire.inner.offsets import GroupOffsets, by_topic
from wire.inner.places import Places
from wire.inner.reading import EARLIEST, LATEST
from wire.inner.records import ReadRecord
from wire.inner.residents import Residents
from wire.kafka.calls import Guest
from wire.kafka.errors import broker_error
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

DOOR = "http"
MOST_PARTITIONS = 1000
MOST_RECORDS = 10_000
JOIN_WAIT_S = 10.0
COMMIT_S = 5.0
NO_MEMBER, NO_GENERATION = "", -1
COMMIT_VERSION = 9
Place = tuple[str, int]
_Key = tuple[Principal, str | None, str, str]


class Edge(Enum):
    """An end of a partition, numbered as ListOffsets has it."""

    BEGINNING = EARLIEST
    END = LATEST


@frozen
class InstanceWanted:
    """What an instance is made for; `name` is None where it may have any."""

    group: str
    name: str | None
    format: str
    reset: Reset = Reset.LATEST
    auto_commit: bool = True


Found = list[tuple[Place, ReadRecord]]


@define(eq=False)
class Instance:
    """One consumer. One request at a time asks it."""

    caller: Caller
    name: str
    wanted: InstanceWanted
    residents: Residents
    guest: Guest
    timeout_s: float
    topics: tuple[str, ...] = field(default=(), init=False)
    member: DoorMember | None = field(default=None, init=False)
    positions: dict[Place, int] = field(factory=dict, init=False)
    """Where it reads on in partitions of its own choice."""
    seen: float = field(factory=trio.current_time, init=False)
    busy: trio.Lock = field(factory=trio.Lock, init=False)
    _committed: dict[Place, int] = field(factory=dict, init=False)
    _commit_at: float = field(factory=lambda: trio.current_time() + COMMIT_S, init=False)

    @property
    def is_over(self) -> bool:
        """Whether it was silent for too long, or its group has put it out."""
        is_late = not self.busy.locked() and trio.current_time() > self.seen + self.timeout_s
        return is_late or (self.member is not None and self.member.is_over)

    def renew(self, caller: Caller) -> None:
        """What its caller has shown now counts from now on."""
        self.caller = caller
        self.guest.renew(caller)
        if self.member is not None:
            self.residents.members.home.renew(self.member.id, caller)

    # -- what it reads

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Read topics as a member of the group."""
        if self.positions:
            raise RestRefusal(ILLEGAL_STATE, "this consumer has assignments: it subscribes to nothing besides")
        await self.unsubscribe()
        self.topics = tuple(dict.fromkeys(topics))
        wanted = MemberWanted(
            self.topics,
            session_s=self.timeout_s,
            auto_commit_s=COMMIT_S if self.wanted.auto_commit else None,
            reset=self.wanted.reset,
            committed_only=True,
        )
        self.member = await self.residents.members.join(self.caller, DOOR, self.wanted.group, wanted, self.name)
        await self.member.until_joined(JOIN_WAIT_S)

    async def unsubscribe(self) -> None:
        """Read nothing, and leave the group."""
        member, self.member, self.topics = self.member, None, ()
        self.positions.clear()
        if member is not None and not member.is_over:
            await member.leave()

    async def assign(self, places: Sequence[Place]) -> None:
        """Read these partitions, from where the group is in them."""
        if self.member is not None:
            raise RestRefusal(ILLEGAL_STATE, "this consumer has a subscription: partitions are assigned to it")
        found = await self._offsets.fetch(places)
        for place in places:
            if place not in self.positions and found.get(place, -1) < 0:
                found[place] = await self._edge(place, self.wanted.reset)
        self.positions = {place: self.positions.get(place, found[place]) for place in places}
        self._committed = dict(self.positions)

    def assigned(self) -> list[Place]:
        """What it reads now."""
        return sorted(self.positions) if self.member is None else self.member.assigned()

    async def _edge(self, place: Place, reset: Reset) -> int:
        if reset is Reset.NONE:
            raise OffsetOutOfRange(f"the group has no place in {place[0]}-{place[1]}, and is told not to choose one")
        return await self._end(place, Edge.BEGINNING if reset is Reset.EARLIEST else Edge.END)

    async def _end(self, place: Place, edge: Edge) -> int:
        topic, index = place
        return (await self.residents.reading.offsets(self.guest, topic, {index: edge.value}))[index]

    # -- reading

    async def read(self, max_bytes: int, wait_s: float) -> Found:
        """What has not been read, if there is something within `wait_s`."""
        limits = PollWanted(max_bytes, MOST_RECORDS, wait_s)
        if self.member is not None:
            polled = await self.member.poll(limits)
            return [(portion.place, record) for portion in polled.portions for record in portion.records]
        if not self.positions:
            raise RestRefusal(ILLEGAL_STATE, "this consumer has neither a subscription nor assignments")
        if self.wanted.auto_commit and trio.current_time() >= self._commit_at:
            await self.commit(None)
        return await self._read_own(limits)

    async def _read_own(self, limits: PollWanted) -> Found:
        reads = MemberReads(self.residents.inner, self.residents.reading, self.guest)
        found: Found = []
        for portion in await reads.read(self._in_turn(), limits, committed_only=True):
            if isinstance(portion.error, OffsetOutOfRange):
                self.positions[portion.place] = await self._edge(portion.place, self.wanted.reset)
            elif portion.error is None:
                self.positions[portion.place] = portion.next_offset
                found += [(portion.place, record) for record in portion.records]
        return found

    def _in_turn(self) -> dict[Place, int]:
        """The partitions, another one first each time, so that none waits for ever behind a busy one."""
        first, *others = self.positions.items()
        self.positions = dict([*others, first])
        return dict(self.positions)

    # -- offsets

    @property
    def _offsets(self) -> GroupOffsets:
        ask = coordinator_of(self.residents.inner, self.guest, GROUP, self.wanted.group)
        return GroupOffsets(ask, trio.sleep, self.wanted.group)

    async def commit(self, offsets: Mapping[Place, int] | None) -> None:
        """Commit these, or all that was read."""
        if self.member is not None:
            await self.member.commit(offsets)
            return
        self._commit_at = trio.current_time() + COMMIT_S
        wanted = dict(offsets) if offsets is not None else self._uncommitted()
        if wanted:
            await self._commit_alone(wanted)
            self._committed |= wanted

    def _uncommitted(self) -> dict[Place, int]:
        return {place: each for place, each in self.positions.items() if self._committed.get(place) != each}

    async def _commit_alone(self, offsets: Mapping[Place, int]) -> None:
        """As nobody's member, which a group without members takes."""
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[OffsetCommitRequestPartition(index, offset) for index, offset in found.items()],
            )
            for topic, found in by_topic(offsets)
        ]
        request = OffsetCommitRequest(self.wanted.group, NO_GENERATION, NO_MEMBER, topics=topics)
        inner = self.residents.inner
        answer = await inner.ask_coordinator(self.guest, GROUP, self.wanted.group, request, COMMIT_VERSION)
        for topic in answer.topics:
            for each in topic.partitions:
                if each.error_code:
                    raise broker_error(each.error_code, f"{topic.name}-{each.partition_index}: not committed")

    async def committed(self, places: Iterable[Place]) -> dict[Place, int]:
        """Where the group is in these partitions; those where it is nowhere are left out."""
        found = await self._offsets.fetch(places)
        return {place: offset for place, offset in found.items() if offset >= 0}

    def seek(self, offsets: Mapping[Place, int]) -> None:
        """Read on from these offsets."""
        if self.member is not None:
            self.member.seek(offsets)
            return
        for topic, index in offsets:
            if (topic, index) not in self.positions:
                raise RestRefusal(ILLEGAL_STATE, f"{topic}-{index} is not assigned to this consumer")
        self.positions |= offsets

    async def seek_edge(self, places: Iterable[Place], edge: Edge) -> None:
        """Read on from an end of these partitions."""
        self.seek({place: await self._end(place, edge) for place in places})

    async def close(self) -> None:
        """The caller is done, with all that it was given too."""
        if self.member is None and self.wanted.auto_commit and self.positions:
            await self.commit(None)
        await self.unsubscribe()


@define(eq=False)
class Instances:
    """All consumers of this node, by principal, group and name."""

    residents: Residents
    places: Places
    timeout_s: float
    _all: dict[_Key, Instance] = field(factory=dict, init=False)

    @classmethod
    def of(cls, residents: Residents, settings: BrokerSettings) -> "Instances":
        """As the broker's settings bound them."""
        timeout_s = settings.integer("http.rest.consumer.timeout.ms") / 1000
        return cls(residents, Places.of("consumer", REST_CONSUMERS_MAX, settings), timeout_s)

    def make(self, caller: Caller, wanted: InstanceWanted) -> Instance:
        """A new one; 40902 if there is one of that name."""
        self._forget_silent()
        name = wanted.name or f"rest-{self.residents.random_bytes(8).hex()}"
        key = _key(caller, wanted.group, name)
        if key in self._all:
            raise RestRefusal(INSTANCE_EXISTS, f"group {wanted.group} has a consumer {name} already")
        self.places.take(caller)
        guest = self.residents.inner.staying(caller, DOOR, name)
        instance = self._all[key] = Instance(caller, name, wanted, self.residents, guest, self.timeout_s)
        return instance

    def find(self, caller: Caller, group: str, name: str) -> Instance:
        """A caller's own; 40403 if there is none."""
        self._forget_silent()
        found = self._all.get(_key(caller, group, name))
        if found is None:
            raise RestRefusal(INSTANCE_NOT_FOUND, f"group {group} has no consumer {name} here, or not any more")
        found.seen = trio.current_time()
        found.renew(caller)
        return found

    async def end(self, instance: Instance) -> None:
        """Its caller is done."""
        try:
            await instance.close()
        finally:
            self._remove(instance)

    def _remove(self, instance: Instance) -> None:
        if self._all.pop(_key(instance.caller, instance.wanted.group, instance.name), None) is not None:
            self.places.give_back(instance.caller)
            self.residents.inner.leave(instance.guest)

    def _forget_silent(self) -> None:
        for instance in [each for each in self._all.values() if each.is_over]:
            self._remove(instance)


def _key(caller: Caller, group: str, name: str) -> _Key:
    return caller.principal, caller.tenant, group, name
