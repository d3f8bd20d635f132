"""`/groups` and `/groups/{group}`: who reads what, and how far behind they are.

Any node may be asked: what is about one group is carried to its coordinator, and lists are put together of what all
nodes tell.
"""

from collections.abc import Iterable
from contextlib import suppress
from operator import attrgetter, itemgetter
from typing import Annotated, Any

import msgspec

from coordinators.access.access import AccessControl
from coordinators.access.rights import DELETE_GROUP, DESCRIBE_GROUP
from coordinators.group.consumer.protocol import read_assignment
from coordinators.group.consumer.requests import DescribedConsumer, DescribedConsumerGroup
from coordinators.group.descriptions import CLASSIC, CONSUMER, SHARE, STREAMS, PartitionLag
from coordinators.group.groups import OFFSETS_TOPIC, Groups
from coordinators.group.requests import DescribedGroup, DescribedMember, ListedGroup
from coordinators.group.share.administration import ShareGroupAdministration
from coordinators.group.share.requests import DescribedShareGroup, DescribedShareMember
from coordinators.group.streams.assignor import STICKY
from coordinators.group.streams.requests import DescribedStreamsGroup, DescribedStreamsMember
from coordinators.topics import Topics
from coordinators.waiting import Breathing, result_of
from engine.errors import BrokerError, GroupIdNotFound, fresh
from wire.http.elsewhere import Doors
from wire.http.messages import Call, Count, Page, PageQuery
from wire.http.rights import described, each_of, on
from wire.http.routing import Route
from wire.inner.namespaces import Names

CONSUMER_PROTOCOL = "consumer"
AnyGroup = DescribedGroup | DescribedConsumerGroup | DescribedShareGroup | DescribedStreamsGroup


class GroupPlace(msgspec.Struct):
    """Which group."""

    group: Annotated[str, msgspec.Meta(min_length=1, description="The group's id.")]


class GroupsQuery(PageQuery, kw_only=True):
    """Which groups."""

    state: Annotated[str, msgspec.Meta(description="Only groups in this state, in any case.")] = ""


class GroupSummary(msgspec.Struct):
    """A group in a list. `type` is its protocol: classic, consumer, share or streams; `lag` is of committed offsets,
    which share groups have none of, and null while the group is being loaded."""

    group: str
    type: str
    state: str
    lag: Count | None


class GroupPage(Page):
    """Groups by id. `missing_nodes` could not be asked: the groups that they coordinate are not among them."""

    items: list[GroupSummary]
    missing_nodes: list[int] = []


class Assignment(msgspec.Struct):
    """Partitions of one topic that a member reads."""

    topic: str
    partitions: list[int]


class Member(msgspec.Struct):
    """A member. `assignment` is null where it is not known, or is of a protocol that the broker does not read."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    assignment: list[Assignment] | None


class MemberPage(Page):
    """Members of a group."""

    items: list[Member]


class Place(msgspec.Struct):
    """How far a group is in a partition."""

    topic: str
    partition: int
    committed_offset: int
    end_offset: int
    lag: Count


class PlacePage(Page):
    """A group's places, by topic and partition."""

    items: list[Place]


class GroupDetail(msgspec.Struct):
    """A group with a page of its members and a page of its places; `lag` is over all of them."""

    group: str
    type: str
    state: str
    protocol: str
    lag: Count
    members: MemberPage
    offsets: PlacePage


async def list_groups(call: Call, groups: Groups, access: AccessControl, doors: Doors) -> GroupPage:
    """Groups by id, a page of those that the caller may describe, each with its lag."""
    query: GroupsQuery = call.query
    named = [each for each in groups.list_groups() if query.state.lower() in ("", each.state.lower())]
    breathing, items = Breathing(), []
    own = await described(call, access, DESCRIBE_GROUP, named, attrgetter("group_id"), breathing)
    pages, missing = await doors.pages_of_others(call, {"state": query.state} if query.state else {}, GroupPage)
    listed: list[tuple[str, ListedGroup | GroupSummary]] = [(call.names.told(each.group_id), each) for each in own]
    listed += [(each.group, each) for page in pages for each in page.items]
    listed.sort(key=itemgetter(0))
    for name, each in query.of(listed):
        if isinstance(each, GroupSummary):
            items.append(each)
            continue
        lags = _lags(groups, each.group_id)
        lag = None if lags is None else sum(place.lag for place in lags)
        items.append(GroupSummary(name, each.type, each.state, lag))
        await breathing.did(1 + len(lags or ()))
    return GroupPage(items=items, total=len(listed), limit=query.limit, skip=query.skip, missing_nodes=missing)


async def describe_group(call: Call, groups: Groups, topics: Topics, doors: Doors) -> GroupDetail:
    """One group: its members and their partitions, its places and lag."""
    group = call.names.meant(call.place.group)
    check_has_groups(group, topics)
    async with doors.where_coordinated(call, OFFSETS_TOPIC, group):
        return _detail(call, groups, group, await _described(groups, group))


def _detail(call: Call, groups: Groups, group: str, found: AnyGroup) -> GroupDetail:
    query: PageQuery = call.query
    names = call.names
    lags = [each for each in groups.lag(group) if names.is_mine(each.topic)]
    return GroupDetail(
        group=call.place.group,
        type=_type(found),
        state=found.state,
        protocol=_protocol(found),
        lag=sum(each.lag for each in lags),
        members=_members(found, query, names),
        offsets=PlacePage(
            items=[
                Place(names.told(each.topic), each.partition, each.committed_offset, each.end_offset, each.lag)
                for each in query.of(lags)
            ],
            total=len(lags),
            limit=query.limit,
            skip=query.skip,
        ),
    )


async def delete_group(call: Call, shares: ShareGroupAdministration, topics: Topics, doors: Doors) -> None:
    """Delete a group that has no members, with its committed offsets, or where it is as a share group."""
    group = call.names.meant(call.place.group)
    check_has_groups(group, topics)
    async with doors.where_coordinated(call, OFFSETS_TOPIC, group):
        (refusal,) = await shares.delete_groups([group])
    if refusal is not None:
        raise fresh(refusal)


def _protocol(found: AnyGroup) -> str:
    """How tasks and partitions are assigned."""
    if isinstance(found, DescribedStreamsGroup):
        return STICKY
    return found.protocol if isinstance(found, DescribedGroup) else found.assignor


def _type(found: AnyGroup) -> str:
    if isinstance(found, DescribedStreamsGroup):
        return STREAMS
    if isinstance(found, DescribedShareGroup):
        return SHARE
    return CONSUMER if isinstance(found, DescribedConsumerGroup) else CLASSIC


async def _described(groups: Groups, group_id: str) -> AnyGroup:
    with suppress(GroupIdNotFound):
        return await result_of(groups.describe(group_id))
    with suppress(GroupIdNotFound):
        return await result_of(groups.describe_consumers(group_id))
    with suppress(GroupIdNotFound):
        return await result_of(groups.describe_shares(group_id))
    with suppress(GroupIdNotFound):
        return await result_of(groups.describe_streams(group_id))
    raise GroupIdNotFound(f"no group is called {group_id!r}")


def check_has_groups(group_id: str, topics: Topics) -> None:
    """As long as groups have no topic there is no group."""
    if OFFSETS_TOPIC not in topics.by_name:
        raise GroupIdNotFound(f"no group is called {group_id!r}")


def _lags(groups: Groups, group_id: str) -> list[PartitionLag] | None:
    try:
        return groups.lag(group_id)
    except BrokerError:
        return None


def _members(found: AnyGroup, query: PageQuery, names: Names) -> MemberPage:
    shown: Any = query.of(found.members)
    is_readable = isinstance(found, DescribedGroup) and found.protocol_type == CONSUMER_PROTOCOL
    items = [
        _classic(each, names, is_readable=is_readable) if isinstance(each, DescribedMember) else _consumer(each, names)
        for each in shown
    ]
    return MemberPage(items=items, total=len(found.members), limit=query.limit, skip=query.skip)


def _classic(member: DescribedMember, names: Names, *, is_readable: bool) -> Member:
    assignment = None
    if is_readable and member.assignment:
        try:
            places, _ = read_assignment(member.assignment)
            assignment = assigned(places.items(), names)
        except ValueError:
            pass  # a client's own idea of an assignment
    return Member(member.member_id, member.instance_id, member.client_id, member.client_host, assignment)


def _consumer(member: DescribedConsumer | DescribedShareMember | DescribedStreamsMember, names: Names) -> Member:
    assignment = assigned(((each.topic, each.partitions) for each in member.assignment), names)
    instance_id = None if isinstance(member, DescribedShareMember) else member.instance_id
    return Member(member.member_id, instance_id, member.client_id, member.client_host, assignment)


def assigned(places: Iterable[tuple[str, Iterable[int]]], names: Names) -> list[Assignment]:
    """What a member reads, as far as the caller may hear of it."""
    mine = sorted((names.told(topic), sorted(found)) for topic, found in places if names.is_mine(topic))
    return [Assignment(*each) for each in mine]


ROUTES = (
    Route(
        "GET",
        "/groups",
        list_groups,
        "Groups by id, with their lag",
        answer=GroupPage,
        query=GroupsQuery,
        for_tenants=True,
        rights=each_of(DESCRIBE_GROUP),
    ),
    Route(
        "GET",
        "/groups/{group}",
        describe_group,
        "One group: members, committed offsets, lag",
        answer=GroupDetail,
        place=GroupPlace,
        query=PageQuery,
        problems=(404,),
        for_tenants=True,
        rights=on(DESCRIBE_GROUP, "group"),
    ),
    Route(
        "DELETE",
        "/groups/{group}",
        delete_group,
        "Delete a group without members, with its committed offsets",
        place=GroupPlace,
        status=204,
        problems=(404, 409),
        for_tenants=True,
        rights=on(DELETE_GROUP, "group"),
    ),
)
