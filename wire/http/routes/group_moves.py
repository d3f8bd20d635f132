"""`POST /groups/{group}/offsets`: a group is moved elsewhere, or only told where it would be.

All of it is asked for in the caller's name, as a Kafka client would. A group with members is not moved: they would
overwrite what is set.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from coordinators.group.moving import TIME_MARK, WAYS, NoSuchWay, goal, is_time
from engine.errors import (
    GroupIdNotFound,
    InvalidRequest,
    NonEmptyGroup,
    NotLeader,
    UnknownMemberId,
    UnknownTopicOrPartition,
)
from wire.http.messages import Call
from wire.http.rights import BY_REQUESTS
from wire.http.routes.groups import GroupPlace
from wire.http.routes.messages import DOOR
from wire.http.routing import Route
from wire.inner.asking import GROUP, InnerClient, error_codes
from wire.inner.assignors import Place
from wire.inner.offsets import LAST_VERSION_WITH_NAMES, by_topic
from wire.inner.reading import EARLIEST, LATEST
from wire.kafka.calls import Guest
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.list_groups import ListGroupsRequest
from wire.kafka.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

TIMEOUT_MS = 30_000
WITHOUT_MEMBERS = ("", "empty", "dead")
UNKNOWN = -1


class GroupMove(msgspec.Struct, forbid_unknown_fields=True):
    """Where a group goes, in all topics that it has offsets in, or in these: so a group that is not there is made."""

    to: Annotated[
        str,
        msgspec.Meta(
            min_length=1,
            max_length=30,
            description="earliest, latest, an offset, -N or +N from what is committed, @ and ms since 1970.",
        ),
    ]
    topics: Annotated[list[str], msgspec.Meta(max_length=1000)] = []
    partitions: Annotated[
        list[int], msgspec.Meta(max_length=10_000, description="Only partitions of these numbers; none: all.")
    ] = []
    dry_run: Annotated[bool, msgspec.Meta(description="Only tell what would be done.")] = False


class MovedOffset(msgspec.Struct):
    """Of one partition; `committed_offset` is what it was, null where nothing was committed."""

    topic: str
    partition: int
    committed_offset: int | None
    new_offset: int
    end_offset: int


class MovedGroup(msgspec.Struct):
    """By topic and partition."""

    group: str
    dry_run: bool
    moves: list[MovedOffset]


async def move_group(call: Call, inner: InnerClient) -> MovedGroup:
    """Move the offsets of a group without members, or tell where they would be."""
    group, wanted = call.place.group, call.body
    with inner.guest(call.caller, DOOR) as guest:
        moves = await _plan(inner, guest, group, wanted)
        if not wanted.dry_run:
            await _commit(inner, guest, group, {(each.topic, each.partition): each.new_offset for each in moves})
    return MovedGroup(group, wanted.dry_run, moves)


async def _plan(inner: InnerClient, guest: Guest, group: str, wanted: GroupMove) -> list[MovedOffset]:
    await _check_is_empty(inner, guest, group, may_be_new=bool(wanted.topics))
    committed = await _committed(inner, guest, group)
    places = await _chosen(inner, guest, wanted, committed)
    if not places:
        raise UnknownTopicOrPartition(f"group {group!r} has no such offsets")
    starts = await _offsets(inner, guest, places, EARLIEST)
    ends = await _offsets(inner, guest, places, LATEST)
    goals: dict[Place, int]
    if is_time(wanted.to):
        found = await _offsets(inner, guest, places, _time_ms(wanted.to))
        goals = {place: ends[place] if found[place] == UNKNOWN else found[place] for place in places}
    else:
        try:
            goals = {place: goal(wanted.to, starts[place], ends[place], committed.get(place)) for place in places}
        except NoSuchWay:
            raise InvalidRequest(f"offsets cannot go to {wanted.to!r}: {WAYS}") from None
    return [MovedOffset(*place, committed.get(place), goals[place], ends[place]) for place in places]


def _time_ms(target: str) -> int:
    text = target.removeprefix(TIME_MARK)
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(2**53))):
        raise InvalidRequest(f"{text!r} is no time: milliseconds since 1970")
    return int(text)


async def _check_is_empty(inner: InnerClient, guest: Guest, group: str, *, may_be_new: bool) -> None:
    answer = await inner.ask_coordinator(guest, GROUP, group, ListGroupsRequest())
    _check(answer, group)
    state = next((each.group_state for each in answer.groups if each.group_id == group), None)
    if state is None and not may_be_new:
        raise GroupIdNotFound(f"no group is called {group!r}, or you may not know of it")
    if state is not None and state.lower() not in WITHOUT_MEMBERS:
        raise NonEmptyGroup(f"group {group!r} is {state}: stop its members first, they would overwrite what is set")


async def _committed(inner: InnerClient, guest: Guest, group: str) -> dict[Place, int]:
    request = OffsetFetchRequest([OffsetFetchRequestGroup(group, topics=None)])
    answer = await inner.ask_coordinator(guest, GROUP, group, request, LAST_VERSION_WITH_NAMES)
    _check(answer, group)
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in answer.groups[0].topics
        for each in topic.partitions
        if each.committed_offset >= 0
    }


async def _chosen(inner: InnerClient, guest: Guest, wanted: GroupMove, committed: Iterable[Place]) -> list[Place]:
    """Those that there are: a group may have offsets of topics that are gone."""
    if wanted.topics:
        counts = {name: (await inner.known_topic(guest, name)).partition_count for name in wanted.topics}
        places = [(name, index) for name, count in counts.items() for index in range(count)]
    else:
        places = [
            place
            for place in committed
            if (topic := inner.topic(guest, place[0])) is not None and place[1] < topic.partition_count
        ]
    numbers = set(wanted.partitions)
    return sorted(place for place in places if not numbers or place[1] in numbers)


async def _offsets(inner: InnerClient, guest: Guest, places: Iterable[Place], time_ms: int) -> dict[Place, int]:
    """Which offset belongs to a time, asked of each leader once."""
    led: dict[int, dict[Place, int]] = defaultdict(dict)
    for place in places:
        led[inner.leader(guest, *place)][place] = time_ms
    found: dict[Place, int] = {}
    for node_id, times in led.items():
        if node_id < 0:
            raise NotLeader(f"nobody leads {', '.join(f'{topic}-{index}' for topic, index in list(times)[:5])} now")
        topics = [
            ListOffsetsTopic(topic, [ListOffsetsPartition(index, timestamp=time_ms) for index in indexes])
            for topic, indexes in by_topic(times)
        ]
        answer = await inner.ask(guest, ListOffsetsRequest(-1, 0, topics, TIMEOUT_MS), node_id=node_id)
        _check(answer, "its partitions")
        found |= {
            (topic.name, each.partition_index): each.offset for topic in answer.topics for each in topic.partitions
        }
    return found


async def _commit(inner: InnerClient, guest: Guest, group: str, offsets: dict[Place, int]) -> None:
    topics = [
        OffsetCommitRequestTopic(
            name=topic, partitions=[OffsetCommitRequestPartition(index, offset) for index, offset in found.items()]
        )
        for topic, found in by_topic(offsets)
    ]
    request = OffsetCommitRequest(group, topics=topics)
    _check(await inner.ask_coordinator(guest, GROUP, group, request, LAST_VERSION_WITH_NAMES), group)


def _check(answer: Any, what: str) -> None:
    for code in error_codes(answer):
        error = broker_error(code, f"{what}: {code_name(code)}")
        if isinstance(error, UnknownMemberId):
            error = NonEmptyGroup(f"group {what!r} has got members: they commit, or leave first")
        raise error


ROUTES = (
    Route(
        "POST",
        "/groups/{group}/offsets",
        move_group,
        "Move the offsets of a group without members, or tell where they would go",
        answer=MovedGroup,
        place=GroupPlace,
        body=GroupMove,
        problems=(403, 404, 409, 503),
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
)
