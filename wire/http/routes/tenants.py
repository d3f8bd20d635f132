"""`/tenants`: namespaces with principals and limits of their own; what each uses on this node and in the cluster."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from attrs import asdict

from coordinators.access.rights import ALTER_CLUSTER
from coordinators.tenants.administration import TenantAdministration
from coordinators.tenants.holdings import Holdings
from coordinators.tenants.rates import CONSUMED, PRODUCED, REQUESTS
from coordinators.tenants.rows import NAME_LENGTH_MAX, TenantRecord
from coordinators.tenants.tenants import Tenants
from coordinators.tenants.usage import Usages
from coordinators.waiting import Breathing
from engine.clock import Clock
from wire.http.elsewhere import Doors
from wire.http.messages import Call, Count, Page, PageQuery
from wire.http.rights import DESCRIBE_THE_CLUSTER, on
from wire.http.routing import Route

TenantName = Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_LENGTH_MAX, description="The tenant's name.")]
PrincipalName = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
Principals = Annotated[list[PrincipalName], msgspec.Meta(max_length=1_000)]
LimitValue = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Limits = dict[str, LimitValue | None]
"""By name; null is no limit."""
OF_THE_CLUSTER = ("topics", "partitions")
"""What every node counts alike."""


class TenantPlace(msgspec.Struct):
    """Which tenant."""

    tenant: TenantName


class TenantQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Whether what is used in the whole cluster is told besides."""

    cluster: bool = False


class TenantPageQuery(PageQuery):
    """Which tenants, and whether what they use in the whole cluster is told besides."""

    cluster: bool = False


class TenantDeletion(msgspec.Struct, forbid_unknown_fields=True):
    """With `force` it goes though it has topics, which stay; with `everything` they go with it, and all else that it
    has; with `release` its principals are nobody's, later too."""

    force: bool = False
    everything: bool = False
    release: bool = False


class NewTenant(msgspec.Struct, forbid_unknown_fields=True):
    """What to make. Without `principals` those belong to it who are named after it, `User:acme.*`."""

    name: TenantName
    principals: Principals | None = None
    rewrite: bool = False
    limits: Limits = {}


class TenantChange(msgspec.Struct, forbid_unknown_fields=True):
    """What to alter; what is not named stays, a limit of null is taken away."""

    principals: Principals | None = None
    rewrite: bool | None = None
    limits: Limits = {}


class TenantUse(msgspec.Struct):
    """What it uses on one node, or in sum on all. Counts are since nodes started; rates are told where they are
    limited."""

    topics: Count
    partitions: Count
    storage_bytes: int
    pending_records: Count
    connections: Count
    refused_connections: Count
    requests: Count
    produced_bytes: Count
    consumed_bytes: Count
    throttled_ms: Count
    producer_byte_rate: float | None = None
    consumer_byte_rate: float | None = None
    request_rate: float | None = None


class TenantShown(msgspec.Struct):
    """A tenant, its limits (null is none) and its use on this node; where it is asked for, that of all nodes in sum,
    and the numbers of those that did not tell."""

    name: str
    principals: list[str]
    rewrite: bool
    limits: dict[str, int | None]
    usage: TenantUse
    cluster_usage: TenantUse | None = None
    missing_nodes: list[int] = []


class TenantPage(Page):
    """Tenants by name."""

    items: list[TenantShown]


class TenantBelongings(msgspec.Struct):
    """What a tenant has besides its row: how many topics, rules, quotas, subjects and configured groups, and the users
    that only it lists. Of one that is deleted, what it has left behind."""

    topics: Count
    rules: Count
    quotas: Count
    subjects: Count
    configured_groups: Count
    users: list[str]


async def list_tenants(
    call: Call, tenants: Tenants, holdings: Holdings, usages: Usages, clock: Clock, doors: Doors
) -> TenantPage:
    """All tenants."""
    query: TenantPageQuery = call.query
    names = sorted(row.name for row in tenants)
    items, breathing = [], Breathing()
    for name in query.of(names):
        row = tenants.get(name)
        if row is not None:
            items.append(_shown(row, holdings, usages, clock))
            await breathing.did(100)
    if query.cluster:
        told, missing = await doors.ask_others(call, {"limit": query.limit, "skip": query.skip}, TenantPage)
        _add_up(items, [each for page in told for each in page.items], missing)
    return TenantPage(items=items, total=len(names), limit=query.limit, skip=query.skip)


async def show_tenant(
    call: Call, tenants: Tenants, holdings: Holdings, usages: Usages, clock: Clock, doors: Doors
) -> TenantShown:
    """One tenant."""
    shown = _shown(tenants.named(call.place.tenant), holdings, usages, clock)
    if call.query.cluster:
        _add_up([shown], *await doors.ask_others(call, {}, TenantShown))
    return shown


def _add_up(shown: Sequence[TenantShown], elsewhere: Sequence[TenantShown], missing: list[int]) -> None:
    """What is used in sum. Topics are the cluster's on every node."""
    for tenant in shown:
        uses = [tenant.usage, *(each.usage for each in elsewhere if each.name == tenant.name)]
        sums = {name: _sum([getattr(use, name) for use in uses]) for name in TenantUse.__struct_fields__}
        tenant.cluster_usage = TenantUse(**sums | {name: getattr(tenant.usage, name) for name in OF_THE_CLUSTER})
        tenant.missing_nodes = missing


def _sum(values: Sequence[float | None]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


async def show_belongings(call: Call, administration: TenantAdministration) -> TenantBelongings:
    """What a tenant has, or has left behind."""
    found = await administration.belongings(call.place.tenant)
    return TenantBelongings(
        topics=len(found.topics),
        rules=len(found.rules),
        quotas=len(found.quotas),
        subjects=len(found.subjects),
        configured_groups=len(found.groups),
        users=list(found.users),
    )


async def create_tenant(
    call: Call, administration: TenantAdministration, holdings: Holdings, usages: Usages, clock: Clock
) -> TenantShown:
    """Make a tenant."""
    new: NewTenant = call.body
    row = await administration.create(new.name, new.principals, rewrite=new.rewrite, limits=new.limits)
    return _shown(row, holdings, usages, clock)


async def alter_tenant(
    call: Call, administration: TenantAdministration, holdings: Holdings, usages: Usages, clock: Clock
) -> TenantShown:
    """Alter a tenant; it is in force at once, for connections that there are, too."""
    change: TenantChange = call.body
    row = await administration.alter(
        call.place.tenant, change.limits, principals=change.principals, rewrite=change.rewrite
    )
    return _shown(row, holdings, usages, clock)


async def delete_tenant(call: Call, administration: TenantAdministration) -> None:
    """Delete a tenant; its connections are closed at their next request."""
    query: TenantDeletion = call.query
    await administration.delete(
        call.place.tenant, force=query.force, release=query.release, everything=query.everything
    )


def _shown(row: TenantRecord, holdings: Holdings, usages: Usages, clock: Clock) -> TenantShown:
    usage, rates, now = usages.of(row.name), usages.rates(row.name), clock.monotonic()
    topics, partitions = holdings.topic_counts(row)
    use = TenantUse(
        topics=topics,
        partitions=partitions,
        storage_bytes=holdings.stored_bytes(row),
        pending_records=holdings.pending_records(row),
        connections=usage.connections,
        refused_connections=usage.refused_connections,
        requests=usage.requests,
        produced_bytes=usage.produced_bytes,
        consumed_bytes=usage.consumed_bytes,
        throttled_ms=usage.throttled_ms,
        producer_byte_rate=rates.now(PRODUCED, now),
        consumer_byte_rate=rates.now(CONSUMED, now),
        request_rate=rates.now(REQUESTS, now),
    )
    return TenantShown(row.name, list(row.principals), row.rewrite, asdict(row.limits), use)


ROUTES = (
    Route(
        "GET",
        "/tenants",
        list_tenants,
        "Tenants by name, with their use",
        answer=TenantPage,
        query=TenantPageQuery,
        rights=DESCRIBE_THE_CLUSTER,
    ),
    Route(
        "POST",
        "/tenants",
        create_tenant,
        "Make a tenant",
        answer=TenantShown,
        body=NewTenant,
        status=201,
        problems=(409, 422),
        rights=on(ALTER_CLUSTER),
    ),
    Route(
        "GET",
        "/tenants/{tenant}",
        show_tenant,
        "A tenant, its limits and its use",
        answer=TenantShown,
        place=TenantPlace,
        query=TenantQuery,
        problems=(404,),
        rights=DESCRIBE_THE_CLUSTER,
    ),
    Route(
        "GET",
        "/tenants/{tenant}/belongings",
        show_belongings,
        "What a tenant has besides its row, or has left behind",
        answer=TenantBelongings,
        place=TenantPlace,
        problems=(404, 409),
        rights=DESCRIBE_THE_CLUSTER,
    ),
    Route(
        "PATCH",
        "/tenants/{tenant}",
        alter_tenant,
        "Alter a tenant's limits, principals or manner",
        answer=TenantShown,
        place=TenantPlace,
        body=TenantChange,
        problems=(404, 422),
        rights=on(ALTER_CLUSTER),
    ),
    Route(
        "DELETE",
        "/tenants/{tenant}",
        delete_tenant,
        "Delete a tenant",
        place=TenantPlace,
        query=TenantDeletion,
        status=204,
        problems=(404, 409),
        rights=on(ALTER_CLUSTER),
    ),
)
