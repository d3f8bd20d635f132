"""`/share-groups`: work queues over topics, how far they are, who has which records in hand, and taking them back.

What is in hand is known to the leader of a partition alone: a node tells of the partitions that it leads.
"""

from operator import attrgetter
from typing import Annotated

import msgspec

from coordinators.access.access import AccessControl
from coordinators.access.rights import DESCRIBE_GROUP, READ_GROUP
from coordinators.cluster.nodes import Nodes
from coordinators.group.descriptions import SHARE
from coordinators.group.groups import Groups
from coordinators.group.share.administration import ShareGroupAdministration, SharePosition
from coordinators.group.share.requests import DescribedShareMember
from coordinators.share.dead_letters import ShareDeadLetters
from coordinators.share.runs import OffsetRun
from coordinators.share.share_partition import SharePartition
from coordinators.share.sharing import SharedPart, Sharing
from coordinators.topics import Topics
from coordinators.waiting import Breathing, result_of
from engine.clock import Clock
from wire.http.messages import Call, Count, Page, PageQuery
from wire.http.rights import DESCRIBE_THE_CLUSTER, described, each_of, on
from wire.http.routes.groups import Assignment, GroupPlace, GroupsQuery, assigned, check_has_groups
from wire.http.routing import Route
from wire.inner.namespaces import Names
from wire.inner.residents import Residents


class ShareGroupSummary(msgspec.Struct):
    """A group in a list. `in_hand` are records that members of it have of the partitions that this node leads."""

    group: str
    state: str
    in_hand: Count


class ShareGroupPage(Page):
    """Share groups by id. What is in hand is told by `node_id`, of the partitions that it leads; `other_nodes` may lead
    others, and tell of those."""

    items: list[ShareGroupSummary]
    node_id: int
    other_nodes: list[int]


class ShareMemberShown(msgspec.Struct):
    """A member, and what it was assigned."""

    member_id: str
    client_id: str
    client_host: str
    assignment: list[Assignment]


class ShareMemberPage(Page):
    """Members of a share group."""

    items: list[ShareMemberShown]


class SharePlaceShown(msgspec.Struct):
    """How far a group is in a partition. `start_offset` is the first that is not finished, null where the group has not
    begun; `lag` counts what is not finished, null where that cannot be told. `window`, `in_hand` and `backed_off` are
    offsets between the first that is not finished and the last that was handed out, those that members have (by
    priority: `in_hand_lanes`), and those that wait for another attempt; null where another node leads the partition, or
    nobody works on it."""

    topic: str
    partition: int
    start_offset: Count | None
    lag: Count | None
    window: Count | None
    in_hand: Count | None
    in_hand_lanes: dict[str, int] | None
    backed_off: Count | None


class SharePlacePage(Page):
    """A share group's places, by topic and partition."""

    items: list[SharePlaceShown]


class ShareGroupDetail(msgspec.Struct):
    """A share group with a page of its members and a page of its places."""

    group: str
    state: str
    assignor: str
    lag: Count
    members: ShareMemberPage
    offsets: SharePlacePage


class InHand(msgspec.Struct):
    """Records that a member has; `lanes` are how many of them by priority. They are taken back `lock_ms` from now
    unless it says something of them before."""

    topic: str
    partition: int
    first_offset: Count
    last_offset: Count
    member_id: str
    delivery_count: Count
    lanes: dict[str, int]
    lock_ms: Count
    first_delivered_ms: Count
    last_delivered_ms: Count


class InHandPage(Page):
    """What members of a share group have of the partitions that `node_id` leads; `other_nodes` may lead others, and
    tell of those."""

    items: list[InHand]
    node_id: int
    other_nodes: list[int]


class ReleaseOrder(msgspec.Struct, forbid_unknown_fields=True):
    """Which records to take back: of a member, else of all; of a topic, else of all; of one of its partitions; from one
    offset of that to another, which is the same one unless it is given. `delay_ms` is for how long nobody gets them, at
    most `share.release.backoff.max.ms` of the group."""

    member: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)] | None = None
    topic: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)] | None = None
    partition: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] | None = None
    first_offset: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    last_offset: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    delay_ms: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0


class ReleasedRecords(msgspec.Struct):
    """How many offsets were taken back, and are there for others; `delay_ms` from now on, as the group allows it."""

    released: Count
    delay_ms: Count


class ReliabilityStatistics(msgspec.Struct):
    """What share groups have done on this node since it started, by name; and what is under way."""

    counts: dict[str, int]


async def list_share_groups(
    call: Call, groups: Groups, sharing: Sharing, nodes: Nodes, access: AccessControl
) -> ShareGroupPage:
    """Share groups by id, a page of those that the caller may describe."""
    query: GroupsQuery = call.query
    wanted = query.state.lower()
    named = [each for each in groups.list_groups() if each.type == SHARE and wanted in ("", each.state.lower())]
    breathing, items = Breathing(), []
    listed = await described(call, access, DESCRIBE_GROUP, named, attrgetter("group_id"), breathing)
    listed.sort(key=attrgetter("group_id"))
    for each in query.of(listed):
        shares = sharing.find(each.group_id)
        in_hand = sum(_figure(share, "acquired") for share in shares)
        items.append(ShareGroupSummary(call.names.told(each.group_id), each.state, in_hand))
        await breathing.did(1 + len(shares))
    node_id, others = _tellers(sharing, nodes)
    return ShareGroupPage(
        items=items, total=len(listed), limit=query.limit, skip=query.skip, node_id=node_id, other_nodes=others
    )


async def describe_share_group(
    call: Call, groups: Groups, administration: ShareGroupAdministration, sharing: Sharing, topics: Topics
) -> ShareGroupDetail:
    """One share group: its members and what they work on, its places and lag."""
    place: GroupPlace = call.place
    query: PageQuery = call.query
    names, group = call.names, call.names.meant(place.group)
    check_has_groups(group, topics)
    found = await result_of(groups.describe_shares(group))
    here = {(share.topic, share.place.partition_index): share for share in sharing.find(group)}
    places = [
        _place(names.told(each.name), position, here.get((each.name, position.index)))
        for each in await administration.positions(group, None)
        if names.is_mine(each.name)
        for position in each.partitions
    ]
    return ShareGroupDetail(
        group=place.group,
        state=found.state,
        assignor=found.assignor,
        lag=sum(each.lag or 0 for each in places),
        members=ShareMemberPage(
            items=[_member(each, names) for each in query.of(found.members)],
            total=len(found.members),
            limit=query.limit,
            skip=query.skip,
        ),
        offsets=SharePlacePage(items=list(query.of(places)), total=len(places), limit=query.limit, skip=query.skip),
    )


async def list_in_hand(call: Call, sharing: Sharing, clock: Clock, nodes: Nodes) -> InHandPage:
    """What members of a share group have, by topic, partition and offset."""
    place: GroupPlace = call.place
    query: PageQuery = call.query
    now, breathing = clock.monotonic(), Breathing()
    items: list[InHand] = []
    names = call.names
    shares = [each for each in sharing.find(names.meant(place.group)) if names.is_mine(each.topic)]
    for share in sorted(shares, key=lambda each: (each.topic, each.place.partition_index)):
        runs = share.in_flight()
        items += [_in_hand(share, run, now, names) for run in runs]
        await breathing.did(1 + len(runs))
    node_id, others = _tellers(sharing, nodes)
    return InHandPage(
        items=list(query.of(items)),
        total=len(items),
        limit=query.limit,
        skip=query.skip,
        node_id=node_id,
        other_nodes=others,
    )


async def release_in_hand(call: Call, sharing: Sharing) -> ReleasedRecords:
    """Take back what a member of a share group has, or all of them; others get it."""
    place: GroupPlace = call.place
    order: ReleaseOrder = call.body
    group, topic = call.names.meant(place.group), None if order.topic is None else call.names.meant(order.topic)
    held = SharedPart.of(topic, order.partition, order.first_offset, order.last_offset)
    delay_ms = sharing.allowed_backoff_ms(group, order.delay_ms)
    return ReleasedRecords(sharing.release(group, order.member, delay_ms, held), delay_ms)


async def reliability_statistics(
    _call: Call, sharing: Sharing, letters: ShareDeadLetters, residents: Residents
) -> ReliabilityStatistics:
    """Deliveries, acknowledgements, locks that ran out, retries and dead letters of share groups; members by HTTP and
    gRPC, with their receipts."""
    counts = {**sharing.statistics(), **letters.statistics()}
    return ReliabilityStatistics({**counts, **residents.share_members.statistics()})


def _tellers(sharing: Sharing, nodes: Nodes) -> tuple[int, list[int]]:
    """This node, and those that know of the rest."""
    node_id = sharing.reading.directory.topics.node_id
    return node_id, sorted(each for each in nodes.by_id if each != node_id)


def _figure(share: SharePartition, name: str) -> int:
    return share.statistics().get(name, 0)


def _member(member: DescribedShareMember, names: Names) -> ShareMemberShown:
    assignment = assigned(((each.topic, each.partitions) for each in member.assignment), names)
    return ShareMemberShown(member.member_id, member.client_id, member.client_host, assignment)


def _place(topic: str, position: SharePosition, share: SharePartition | None) -> SharePlaceShown:
    figures = {} if share is None else share.statistics()
    window = figures["end_offset"] - figures["start_offset"] if figures.get("loaded") else None
    return SharePlaceShown(
        topic,
        position.index,
        position.start_offset if position.start_offset >= 0 else None,
        position.lag if position.lag >= 0 else None,
        window,
        figures.get("acquired"),
        None if share is None or window is None else share.lanes_in_flight(),
        figures.get("backed_off"),
    )


def _in_hand(share: SharePartition, run: OffsetRun, now: float, names: Names) -> InHand:
    return InHand(
        names.told(share.topic),
        share.place.partition_index,
        run.first,
        run.last,
        run.owner,
        run.count,
        share.lanes_in_flight([run]),
        max(0, int((run.lock_until - now) * 1000)),
        run.first_delivered_ms,
        run.last_delivered_ms,
    )


ROUTES = (
    Route(
        "GET",
        "/share-groups",
        list_share_groups,
        "Share groups by id, with what they have in hand",
        answer=ShareGroupPage,
        query=GroupsQuery,
        for_tenants=True,
        rights=each_of(DESCRIBE_GROUP),
    ),
    Route(
        "GET",
        "/share-groups/{group}",
        describe_share_group,
        "One share group: members, places, lag, windows",
        answer=ShareGroupDetail,
        place=GroupPlace,
        query=PageQuery,
        problems=(404,),
        for_tenants=True,
        rights=on(DESCRIBE_GROUP, "group"),
    ),
    Route(
        "GET",
        "/share-groups/{group}/in-flight",
        list_in_hand,
        "Records that members of a share group have",
        answer=InHandPage,
        place=GroupPlace,
        query=PageQuery,
        for_tenants=True,
        rights=on(DESCRIBE_GROUP, "group"),
    ),
    Route(
        "POST",
        "/share-groups/{group}/release",
        release_in_hand,
        "Take back what members of a share group have",
        answer=ReleasedRecords,
        place=GroupPlace,
        body=ReleaseOrder,
        problems=(422,),
        for_tenants=True,
        rights=on(READ_GROUP, "group"),
    ),
    Route(
        "GET",
        "/reliability/stats",
        reliability_statistics,
        "What share groups have done on this node",
        answer=ReliabilityStatistics,
        rights=DESCRIBE_THE_CLUSTER,
    ),
)
