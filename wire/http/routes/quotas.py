"""`/quotas`: what was set, and sets it; and who has used how much of it on this node."""

from typing import Annotated

import msgspec

from coordinators.access.quotas.entities import Filter
from coordinators.access.quotas.meters import Account, Meter
from coordinators.access.quotas.quotas import Quotas
from coordinators.access.rights import DESCRIBE_CLUSTER_CONFIGS
from wire.http.messages import Call, Count, Page, PageQuery
from wire.http.rights import BY_REQUESTS, on
from wire.http.routes.messages import DOOR
from wire.http.routing import Route
from wire.inner.asking import InnerClient
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)

QuotaName = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)] | None


class QuotaRow(msgspec.Struct):
    """What an entity may; a name of "<default>" stands for those that have none of their own, null for any."""

    user: str | None
    client_id: str | None
    ip: str | None
    values: dict[str, float]


class QuotaChange(msgspec.Struct, forbid_unknown_fields=True):
    """What an entity may from now on: a value of null is no bound. Null names nobody, "<default>" those that have none
    of their own."""

    values: Annotated[dict[str, float | None], msgspec.Meta(min_length=1, max_length=20)]
    user: QuotaName = None
    client_id: QuotaName = None
    ip: QuotaName = None
    dry_run: Annotated[bool, msgspec.Meta(description="Only check it.")] = False


class QuotaPage(Page):
    """Quotas by entity."""

    items: list[QuotaRow]


class QuotaUse(msgspec.Struct):
    """What somebody uses under a quota. `name` is a client id, or an address; it and `user` are empty where the quota
    does not tell them apart. `rate` is of the last seconds, null for what is no rate."""

    quota: str
    user: str
    name: str
    bound: float
    rate: float | None
    throttled: Count
    throttled_ms: Count


class QuotaUsePage(Page):
    """Those who were told to wait longest come first."""

    items: list[QuotaUse]


NO_FILTER = Filter((), strict=False)
DEFAULT_NAME = "<default>"


async def list_quotas(call: Call, quotas: Quotas) -> QuotaPage:
    """Quotas by entity, the same on every node."""
    query: PageQuery = call.query
    found = list(quotas.describe(NO_FILTER))
    items = []
    for entity, values in query.of(found):
        names = {kind: DEFAULT_NAME if name is None else name for kind, name in entity.parts}
        items.append(QuotaRow(names.get("user"), names.get("client-id"), names.get("ip"), dict(values)))
    return QuotaPage(items=items, total=len(found), limit=query.limit, skip=query.skip)


async def change_quota(call: Call, inner: InnerClient) -> None:
    """Set quotas of one entity, and take away those that are null; in force on this node when the answer comes."""
    wanted: QuotaChange = call.body
    named = (("user", wanted.user), ("client-id", wanted.client_id), ("ip", wanted.ip))
    entity = [RequestEntityData(kind, None if name == DEFAULT_NAME else name) for kind, name in named if name]
    changes = [OpData(key, 0.0 if value is None else value, value is None) for key, value in wanted.values.items()]
    request = AlterClientQuotasRequest([RequestEntryData(entity, changes)], wanted.dry_run)
    with inner.guest(call.caller, DOOR) as guest:
        answer = await inner.ask(guest, request)
    for each in answer.entries:
        if each.error_code:
            raise broker_error(each.error_code, each.error_message or code_name(each.error_code))


async def list_use(call: Call, quotas: Quotas) -> QuotaUsePage:
    """Who has used how much of late, on this node."""
    query: PageQuery = call.query
    accounts = [(key, meter, account) for key, meter in quotas.meters.items() for account in meter.accounts()]
    accounts.sort(key=lambda each: (-each[2].throttled_s, each[0], each[2].name))
    items = [_use(*each) for each in query.of(accounts)]
    return QuotaUsePage(items=items, total=len(accounts), limit=query.limit, skip=query.skip)


def _use(key: str, meter: Meter, account: Account) -> QuotaUse:
    throttled_ms = round(account.throttled_s * 1000)
    return QuotaUse(key, *account.name, account.bound, meter.rate_of(account), account.throttled, throttled_ms)


_SEEN_BY = on(DESCRIBE_CLUSTER_CONFIGS)
ROUTES = (
    Route("GET", "/quotas", list_quotas, "Quotas", answer=QuotaPage, query=PageQuery, rights=_SEEN_BY),
    Route(
        "PATCH",
        "/quotas",
        change_quota,
        "Set quotas of a user, a client id, both, or an address, or take them away",
        body=QuotaChange,
        status=204,
        problems=(403, 422),
        rights=BY_REQUESTS,
    ),
    Route(
        "GET",
        "/quotas/use",
        list_use,
        "Who uses how much of its quotas",
        answer=QuotaUsePage,
        query=PageQuery,
        rights=_SEEN_BY,
    ),
)
