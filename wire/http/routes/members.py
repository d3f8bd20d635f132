"""`/groups/{group}/members`: members of groups for callers without a Kafka library, beside Kafka's own consumers."""

from typing import Annotated, Any, Literal

import msgspec

from coordinators.access.rights import READ_GROUP
from wire.http.config import StreamTimes
from wire.http.elsewhere import Doors
from wire.http.given_records import GivenRecord, Offset, Partition, TopicName, given_fields
from wire.http.messages import Call, Count
from wire.http.rights import on
from wire.http.routes.groups import Assignment, GroupPlace
from wire.http.routing import Route
from wire.inner.member import BEAT_S, DoorMember, MemberWanted, PollWanted, Reset
from wire.inner.residents import Residents

HEARD_S, JOINED_S = 5.0, 0.25
"""How long a join waits to be heard of, and then for the group to settle; that goes on without its caller."""
LONGEST_POLL_MS = 30_000

Milliseconds = Annotated[int, msgspec.Meta(ge=1_000, le=1_800_000)]


class MemberPlace(GroupPlace):
    """Which member of which group."""

    member: Annotated[str, msgspec.Meta(min_length=1, max_length=100, description="The member's id.")]


class JoinOrder(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to read. The caller polls or sends a heartbeat within every `session_ms`, or its partitions go to others.
    With `auto_commit`, what it was given is committed once it polls again, every `auto_commit_interval_ms`. `reset` is
    where it begins in a partition in which the group has no place."""

    topics: Annotated[list[TopicName], msgspec.Meta(min_length=1, max_length=1_000)]
    session_ms: Milliseconds = 30_000
    auto_commit: bool = True
    auto_commit_interval_ms: Milliseconds = 5_000
    reset: Literal["earliest", "latest", "none"] = "latest"
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed"
    client_id: Annotated[str, msgspec.Meta(max_length=200)] | None = None


class MemberShown(msgspec.Struct, kw_only=True):
    """A member. It lives on the node `node_id`, and is to be asked for at `url`. `state` is `joining` while the group
    settles, `reading`, or `handing over` while it waits for its caller to be done before others get partitions."""

    group: str
    member: str
    state: str
    generation: int
    assignment: list[Assignment]
    session_ms: Count
    heartbeat_ms: Count
    node_id: int
    url: str


class PollQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How much, and how long to wait if there is nothing."""

    wait_ms: Annotated[int, msgspec.Meta(ge=0, le=LONGEST_POLL_MS, description="How long to wait for a record.")] = 0
    max_records: Annotated[int, msgspec.Meta(ge=1, le=10_000, description="The most records.")] = 500
    max_bytes: Annotated[
        int,
        msgspec.Meta(ge=1, le=16 * 1024 * 1024, description="The most bytes; one record is given whatever its size."),
    ] = 1024 * 1024

    def limits(self, times: StreamTimes) -> PollWanted:
        """For the member."""
        return PollWanted(self.max_bytes, self.max_records, min(self.wait_ms / 1000, times.max_wait_s))


class MemberRecords(msgspec.Struct, kw_only=True):
    """What the member was given, in which generation of its group; and what it reads now."""

    generation: int
    state: str
    assignment: list[Assignment]
    records: list[GivenRecord]


class GroupOffset(msgspec.Struct, forbid_unknown_fields=True):
    """A place in a partition: the offset of the next record."""

    topic: TopicName
    partition: Partition
    offset: Offset


class CommitOrder(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to commit: these places, or all that the member was given. With the `generation` of a poll it is refused if
    the group has rebalanced since."""

    offsets: Annotated[list[GroupOffset], msgspec.Meta(max_length=1_000)] | None = None
    generation: int | None = None


class CommittedOffsets(msgspec.Struct):
    """What is committed now."""

    generation: int


class SeekOrder(msgspec.Struct, forbid_unknown_fields=True):
    """From where to read on."""

    offsets: Annotated[list[GroupOffset], msgspec.Meta(min_length=1, max_length=1_000)]


async def join_group(call: Call, residents: Residents, doors: Doors) -> MemberShown:
    """Join a group. Its members share the partitions of the topics, whichever client they use."""
    place: GroupPlace = call.place
    order: JoinOrder = call.body
    wanted = MemberWanted(
        tuple(order.topics),
        session_s=order.session_ms / 1000,
        auto_commit_s=order.auto_commit_interval_ms / 1000 if order.auto_commit else None,
        reset=Reset(order.reset),
        committed_only=order.isolation == "read_committed",
        hand_over_s=order.session_ms / 1000,
    )
    member = await residents.members.join(call.caller, "http", place.group, wanted, order.client_id)
    await member.until_heard(HEARD_S)
    await member.until_joined(JOINED_S)
    return _shown(member, call, doors)


async def show_member(call: Call, residents: Residents, doors: Doors) -> MemberShown:
    """A member, and what it reads."""
    async with doors.at_home(call):
        return _shown(_found(call, residents), call, doors)


async def poll_records(call: Call, residents: Residents, doors: Doors, times: StreamTimes) -> MemberRecords:
    """Records of the member's partitions, waited for if there are none. Those that it was given before are done."""
    query: PollQuery = call.query
    async with doors.at_home(call):
        member = _found(call, residents)
        polled = await member.poll(query.limits(times))
        records = [
            GivenRecord(**given_fields(*portion.place, record))
            for portion in polled.portions
            for record in portion.records
        ]
        return MemberRecords(
            generation=polled.generation,
            state=member.state.value,
            assignment=assignments(member.assigned()),
            records=records,
        )


async def member_heartbeat(call: Call, residents: Residents, doors: Doors) -> MemberShown:
    """Say that the caller still works, where it does not poll for a while."""
    async with doors.at_home(call):
        member = _found(call, residents)
        member.heartbeat()
        return _shown(member, call, doors)


async def commit_offsets(call: Call, residents: Residents, doors: Doors) -> CommittedOffsets:
    """Commit how far the member is; refused for partitions that are not its own any more."""
    order: CommitOrder = call.body
    async with doors.at_home(call):
        member = _found(call, residents)
        await member.commit(None if order.offsets is None else places_of(order.offsets), order.generation)
        return CommittedOffsets(member.generation)


async def seek_offsets(call: Call, residents: Residents, doors: Doors) -> MemberShown:
    """Read on from other offsets."""
    order: SeekOrder = call.body
    async with doors.at_home(call):
        member = _found(call, residents)
        member.seek(places_of(order.offsets))
        return _shown(member, call, doors)


async def leave_group(call: Call, residents: Residents, doors: Doors) -> None:
    """Leave: others get the partitions at once. With `auto_commit`, all that was given is committed."""
    async with doors.at_home(call):
        await _found(call, residents).leave()


def places_of(offsets: list[GroupOffset]) -> dict[tuple[str, int], int]:
    """By topic and partition."""
    return {(each.topic, each.partition): each.offset for each in offsets}


def assignments(places: list[tuple[str, int]]) -> list[Assignment]:
    """Partitions by their topics."""
    found: dict[str, list[int]] = {}
    for topic, index in sorted(places):
        found.setdefault(topic, []).append(index)
    return [Assignment(topic, indexes) for topic, indexes in found.items()]


def _found(call: Call, residents: Residents) -> DoorMember:
    place: MemberPlace = call.place
    return residents.members.find(call.caller, place.member, place.group)


def _shown(member: DoorMember, call: Call, doors: Doors) -> MemberShown:
    group = member.membership.group
    return MemberShown(
        group=group,
        member=member.id,
        state=member.state.value,
        generation=member.generation,
        assignment=assignments(member.assigned()),
        session_ms=int(member.wanted.session_s * 1000),
        heartbeat_ms=int(BEAT_S * 1000),
        node_id=doors.inner.topics.node_id,
        url=f"{doors.own_url(call)}/groups/{quoted(group)}/members/{member.id}",
    )


def quoted(name: str) -> str:
    """As part of a path."""
    from urllib.parse import quote

    return quote(name, safe="")


_MEMBER: dict[str, Any] = {
    "place": MemberPlace,
    "problems": (404, 409, 503),
    "for_tenants": True,
    "rights": on(READ_GROUP, "group"),
}

ROUTES = (
    Route(
        "POST",
        "/groups/{group}/members",
        join_group,
        "Join a group, beside Kafka's own consumers",
        answer=MemberShown,
        place=GroupPlace,
        body=JoinOrder,
        status=201,
        problems=(404, 409),
        for_tenants=True,
        rights=on(READ_GROUP, "group"),
    ),
    Route(
        "GET",
        "/groups/{group}/members/{member}",
        show_member,
        "A member that was joined by HTTP, and what it reads",
        answer=MemberShown,
        **_MEMBER,
    ),
    Route(
        "GET",
        "/groups/{group}/members/{member}/records",
        poll_records,
        "Poll for records, for up to 30 seconds",
        answer=MemberRecords,
        query=PollQuery,
        takes_away=True,
        **_MEMBER,
    ),
    Route(
        "POST",
        "/groups/{group}/members/{member}/heartbeat",
        member_heartbeat,
        "Say that a member's caller still works",
        answer=MemberShown,
        **_MEMBER,
    ),
    Route(
        "POST",
        "/groups/{group}/members/{member}/commit",
        commit_offsets,
        "Commit how far a member is",
        answer=CommittedOffsets,
        body=CommitOrder,
        **_MEMBER,
    ),
    Route(
        "POST",
        "/groups/{group}/members/{member}/positions",
        seek_offsets,
        "Read on from other offsets",
        answer=MemberShown,
        body=SeekOrder,
        **_MEMBER,
    ),
    Route(
        "DELETE",
        "/groups/{group}/members/{member}",
        leave_group,
        "Leave a group",
        status=204,
        **_MEMBER,
    ),
)
