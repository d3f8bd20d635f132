"""`/share-groups/{group}/members` and `/messages/...`: work queues for callers without a Kafka library.

A member polls and gets each record with a receipt, by which it is acknowledged, given back, rejected or kept longer.
"""

from typing import Annotated, Any

import msgspec

from coordinators.access.rights import READ_GROUP
from engine.errors import fresh
from wire.http.config import StreamTimes
from wire.http.elsewhere import Doors
from wire.http.given_records import GivenRecord, TopicName, given_fields
from wire.http.messages import Call, Count
from wire.http.rights import OF_ITS_OWNER, on
from wire.http.routes.groups import Assignment, GroupPlace
from wire.http.routes.members import (
    HEARD_S,
    JOINED_S,
    MemberPlace,
    Milliseconds,
    PollQuery,
    assignments,
    quoted,
)
from wire.http.routing import Route
from wire.inner.loans import Settling
from wire.inner.receipts import MAX_RECEIPT_LENGTH, read_receipt
from wire.inner.residents import Residents
from wire.inner.share_member import DoorShareMember, ShareMemberWanted

MOST_RECEIPTS = 1_000


class ShareJoinOrder(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to work on. A caller that has nothing in hand polls or sends a heartbeat within every `session_ms`, or the
    member ends."""

    topics: Annotated[list[TopicName], msgspec.Meta(min_length=1, max_length=1_000)]
    session_ms: Milliseconds = 30_000
    client_id: Annotated[str, msgspec.Meta(max_length=200)] | None = None


class ShareMemberJoined(msgspec.Struct, kw_only=True):
    """A member. It lives on the node `node_id`, and is to be asked for at `url`; so are its receipts shown there, at
    `receipts_url`."""

    group: str
    member: str
    assignment: list[Assignment]
    in_hand: Count
    session_ms: Count
    node_id: int
    url: str
    receipts_url: str


class LentRecord(GivenRecord, kw_only=True):
    """A record to work on. Nobody else gets it for `lock_ms`, unless it is given back before."""

    receipt: str
    delivery_count: Count
    lock_ms: Count


class LentRecords(msgspec.Struct):
    """What the member was given."""

    records: list[LentRecord]


Receipts = Annotated[
    list[Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_RECEIPT_LENGTH)]],
    msgspec.Meta(min_length=1, max_length=MOST_RECEIPTS),
]


class SettleOrder(msgspec.Struct, forbid_unknown_fields=True):
    """Which records."""

    receipts: Receipts


class NackOrder(msgspec.Struct, forbid_unknown_fields=True):
    """Which records, and for how long nobody is to get them: at most `share.release.backoff.max.ms` of the group, and
    as its keys say where it is left out."""

    receipts: Receipts
    delay_ms: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] | None = None


class RefusedReceipt(msgspec.Struct):
    """One that was not settled, and why."""

    receipt: str
    error: str
    detail: str


class Settled(msgspec.Struct):
    """How many were, and which were not."""

    settled: Count
    refused: list[RefusedReceipt]


async def join_share_group(call: Call, residents: Residents, doors: Doors) -> ShareMemberJoined:
    """Join a share group. Its members get records one by one, whichever client they use."""
    place: GroupPlace = call.place
    order: ShareJoinOrder = call.body
    wanted = ShareMemberWanted(tuple(order.topics), session_s=order.session_ms / 1000)
    member = await residents.share_members.join(call.caller, "http", place.group, wanted, order.client_id)
    await member.until_heard(HEARD_S)
    await member.until_joined(JOINED_S)
    return _shown(member, call, doors)


async def poll_share_records(call: Call, residents: Residents, doors: Doors, times: StreamTimes) -> LentRecords:
    """Records to work on, each with its receipt, waited for if there are none."""
    query: PollQuery = call.query
    async with doors.at_home(call):
        delivered = await _found(call, residents).poll(query.limits(times))
    return LentRecords(
        [
            LentRecord(
                **given_fields(each.receipt.topic, each.receipt.partition, each.record),
                receipt=str(each.receipt),
                delivery_count=each.receipt.delivery_count,
                lock_ms=int(each.lock_s * 1000),
            )
            for each in delivered
        ]
    )


async def share_member_heartbeat(call: Call, residents: Residents, doors: Doors) -> ShareMemberJoined:
    """Say that the caller lives, where it neither polls nor has anything in hand."""
    async with doors.at_home(call):
        member = _found(call, residents)
        member.heartbeat()
        return _shown(member, call, doors)


async def leave_share_group(call: Call, residents: Residents, doors: Doors) -> None:
    """Leave: what the member has in hand is for others at once."""
    async with doors.at_home(call):
        await _found(call, residents).leave()


async def acknowledge_messages(call: Call, residents: Residents, doors: Doors) -> Settled:
    """The records are done."""
    return await _settle(call, residents, doors, Settling.ACK)


async def release_messages(call: Call, residents: Residents, doors: Doors) -> Settled:
    """Others are to try, after a while; a record that was tried too often goes to the dead letters."""
    order: NackOrder = call.body
    return await _settle(call, residents, doors, Settling.NACK, order.delay_ms)


async def reject_messages(call: Call, residents: Residents, doors: Doors) -> Settled:
    """Nobody can do them: they go to the dead letters."""
    return await _settle(call, residents, doors, Settling.REJECT)


async def extend_messages(call: Call, residents: Residents, doors: Doors) -> Settled:
    """The locks of the records begin anew: they take longer."""
    return await _settle(call, residents, doors, Settling.EXTEND)


async def _settle(
    call: Call, residents: Residents, doors: Doors, settlement: Settling, delay_ms: int | None = None
) -> Settled:
    receipts = [read_receipt(text) for text in call.body.receipts]
    async with doors.at_home(call):
        outcomes = await residents.share_members.settle(call.caller, receipts, settlement, delay_ms)
    refused = [
        RefusedReceipt(str(receipt), type(error).__name__, str(error))
        for receipt, error in outcomes.items()
        if error is not None
    ]
    errors = [error for error in outcomes.values() if error is not None]
    if len(errors) == len(outcomes):
        raise fresh(errors[0])
    return Settled(len(outcomes) - len(errors), refused)


def _found(call: Call, residents: Residents) -> DoorShareMember:
    place: MemberPlace = call.place
    return residents.share_members.find(call.caller, place.member, place.group)


def _shown(member: DoorShareMember, call: Call, doors: Doors) -> ShareMemberJoined:
    names, group, url = member.membership.names, member.membership.group, doors.own_url(call)
    return ShareMemberJoined(
        group=group,
        member=member.id,
        assignment=assignments([(names.get(topic, ""), index) for topic, index in member.membership.assigned]),
        in_hand=member.loans.in_hand,
        session_ms=int(member.wanted.session_s * 1000),
        node_id=doors.inner.topics.node_id,
        url=f"{url}/share-groups/{quoted(group)}/members/{member.id}",
        receipts_url=f"{url}/messages",
    )


_MEMBER: dict[str, Any] = {
    "place": MemberPlace,
    "problems": (404, 409, 503),
    "for_tenants": True,
    "rights": on(READ_GROUP, "group"),
}
_SETTLE: dict[str, Any] = {"answer": Settled, "problems": (404, 409, 503), "rights": OF_ITS_OWNER, "for_tenants": True}

ROUTES = (
    Route(
        "POST",
        "/share-groups/{group}/members",
        join_share_group,
        "Join a share group, beside Kafka's own share consumers",
        answer=ShareMemberJoined,
        place=GroupPlace,
        body=ShareJoinOrder,
        status=201,
        problems=(404, 409),
        for_tenants=True,
        rights=on(READ_GROUP, "group"),
    ),
    Route(
        "GET",
        "/share-groups/{group}/members/{member}/records",
        poll_share_records,
        "Poll for records to work on, for up to 30 seconds",
        answer=LentRecords,
        query=PollQuery,
        takes_away=True,
        **_MEMBER,
    ),
    Route(
        "POST",
        "/share-groups/{group}/members/{member}/heartbeat",
        share_member_heartbeat,
        "Say that the caller of a member of a share group lives",
        answer=ShareMemberJoined,
        **_MEMBER,
    ),
    Route(
        "DELETE",
        "/share-groups/{group}/members/{member}",
        leave_share_group,
        "Leave a share group",
        status=204,
        **_MEMBER,
    ),
    Route("POST", "/messages/ack", acknowledge_messages, "Records are done", body=SettleOrder, **_SETTLE),
    Route("POST", "/messages/nack", release_messages, "Give records back, after a delay", body=NackOrder, **_SETTLE),
    Route("POST", "/messages/reject", reject_messages, "Send records to the dead letters", body=SettleOrder, **_SETTLE),
    Route("POST", "/messages/visibility", extend_messages, "Keep records for longer", body=SettleOrder, **_SETTLE),
)
