"""`POST /cluster/leader-election`: let the first replicas lead, or whoever is left where nobody may."""

from typing import Annotated, Literal

import msgspec

from coordinators.access.rights import ALTER_CLUSTER
from coordinators.cluster.leader_elections import LeaderElections
from wire.http.messages import Call
from wire.http.rights import on
from wire.http.routes.topics import TopicName
from wire.http.routing import Route

MOST_PARTITIONS = 10_000


class ElectionPlace(msgspec.Struct, forbid_unknown_fields=True):
    """A partition."""

    topic: TopicName
    partition: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class LeaderElectionOrder(msgspec.Struct, forbid_unknown_fields=True):
    """What to elect. `preferred`: the first replica, if it is in sync. `unclean`: where nobody leads, whoever is left;
    what only others have may be lost. Without `partitions` all that need it are meant."""

    kind: Literal["preferred", "unclean"] = "preferred"
    partitions: Annotated[list[ElectionPlace], msgspec.Meta(min_length=1, max_length=MOST_PARTITIONS)] | None = None


class LeaderElectionOutcome(msgspec.Struct):
    """What became of a partition. `error` names why it has no other leader now, null if it has."""

    topic: str
    partition: int
    leader: int
    error: str | None
    detail: str | None


class LeaderElectionOutcomes(msgspec.Struct):
    """Of each partition that was named; of all, only those that needed an election."""

    items: list[LeaderElectionOutcome]


async def elect_leaders(call: Call, elections: LeaderElections) -> LeaderElectionOutcomes:
    """Elect, and tell of each partition what became of it."""
    order: LeaderElectionOrder = call.body
    wanted = None
    if order.partitions is not None:
        wanted = list(dict.fromkeys((each.topic, each.partition) for each in order.partitions))
    outcomes = await elections.elect(wanted, unclean=order.kind == "unclean")
    known = elections.replicas.topics.by_name
    items = []
    for (name, index), error in outcomes.items():
        topic = known.get(name)
        leader = topic.partitions[index].leader if topic is not None and index < topic.partition_count else -1
        told = (None, None) if error is None else (type(error).__name__, str(error))
        items.append(LeaderElectionOutcome(name, index, leader, *told))
    return LeaderElectionOutcomes(items)


ROUTES = (
    Route(
        "POST",
        "/cluster/leader-election",
        elect_leaders,
        "Let first replicas lead, or whoever is left",
        answer=LeaderElectionOutcomes,
        body=LeaderElectionOrder,
        rights=on(ALTER_CLUSTER),
    ),
)
