"""`/cluster/reassignments`: partitions that move to other nodes: begun, looked at, cancelled.

Asked for in the caller's name, as a Kafka client would. How much a node that gets a partition still lacks tells
`/cluster/partitions/{topic}/{partition}`.
"""

from collections import defaultdict
from typing import Annotated

import msgspec

from wire.http.messages import Call, Page, PageQuery
from wire.http.rights import BY_REQUESTS
from wire.http.routes.messages import DOOR
from wire.http.routes.topics import TopicName
from wire.http.routing import Route
from wire.inner.asking import InnerClient
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from wire.kafka.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

TIMEOUT_MS = 30_000
MOST_PARTITIONS = 10_000
NodeId = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class Reassignment(msgspec.Struct):
    """A partition that moves: all that hold it now, the first of which is to lead; those that get it, and lose it."""

    topic: str
    partition: int
    replicas: list[int]
    adding: list[int]
    removing: list[int]


class ReassignmentPage(Page):
    """Partitions that move, by topic and number."""

    items: list[Reassignment]


class WantedReplicas(msgspec.Struct, forbid_unknown_fields=True):
    """Where a partition is to lie, the first of which is to lead; null: it stays where it was before it moved."""

    topic: TopicName
    partition: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    replicas: Annotated[list[NodeId], msgspec.Meta(min_length=1, max_length=1_000)] | None


class ReassignmentOrder(msgspec.Struct, forbid_unknown_fields=True):
    """What is to lie where."""

    items: Annotated[list[WantedReplicas], msgspec.Meta(min_length=1, max_length=MOST_PARTITIONS)]


class ReassignmentOutcome(msgspec.Struct):
    """What became of a partition's order; `error` names why it was refused, null if it was not."""

    topic: str
    partition: int
    error: str | None
    detail: str | None


class ReassignmentOutcomes(msgspec.Struct):
    """Of each partition that was named. That it was taken does not say that all is copied."""

    items: list[ReassignmentOutcome]


async def list_reassignments(call: Call, inner: InnerClient) -> ReassignmentPage:
    """Partitions that move."""
    query: PageQuery = call.query
    with inner.guest(call.caller, DOOR) as guest:
        answer = await inner.ask(guest, ListPartitionReassignmentsRequest(TIMEOUT_MS, None))
    if answer.error_code:
        raise broker_error(answer.error_code, answer.error_message or code_name(answer.error_code))
    found = [
        Reassignment(
            topic.name,
            each.partition_index,
            list(each.replicas),
            list(each.adding_replicas),
            list(each.removing_replicas),
        )
        for topic in answer.topics
        for each in topic.partitions
    ]
    found.sort(key=lambda each: (each.topic, each.partition))
    return ReassignmentPage(items=list(query.of(found)), total=len(found), limit=query.limit, skip=query.skip)


async def reassign(call: Call, inner: InnerClient) -> ReassignmentOutcomes:
    """Have partitions lie elsewhere, or cancel that they move; each for itself."""
    order: ReassignmentOrder = call.body
    topics: dict[str, list[ReassignablePartition]] = defaultdict(list)
    for each in order.items:
        topics[each.topic].append(ReassignablePartition(each.partition, each.replicas))
    wanted = [ReassignableTopic(name, partitions) for name, partitions in topics.items()]
    with inner.guest(call.caller, DOOR) as guest:
        answer = await inner.ask(guest, AlterPartitionReassignmentsRequest(TIMEOUT_MS, topics=wanted))
    if answer.error_code:
        raise broker_error(answer.error_code, answer.error_message or code_name(answer.error_code))
    items = []
    for topic in answer.responses:
        for each in topic.partitions:
            error = broker_error(each.error_code) if each.error_code else None
            told = (None, None) if error is None else (type(error).__name__, each.error_message or str(error))
            items.append(ReassignmentOutcome(topic.name, each.partition_index, *told))
    return ReassignmentOutcomes(items)


ROUTES = (
    Route(
        "GET",
        "/cluster/reassignments",
        list_reassignments,
        "Partitions that move",
        answer=ReassignmentPage,
        query=PageQuery,
        problems=(403,),
        rights=BY_REQUESTS,
    ),
    Route(
        "POST",
        "/cluster/reassignments",
        reassign,
        "Have partitions lie elsewhere, or cancel that they move",
        answer=ReassignmentOutcomes,
        body=ReassignmentOrder,
        problems=(403,),
        rights=BY_REQUESTS,
    ),
)
