"""`/quotas`: what was set, and who has used how much of it on this node."""

import msgspec

from coordinators.access.quotas.entities import Filter
from coordinators.access.quotas.meters import Account, Meter
from coordinators.access.quotas.quotas import Quotas
from coordinators.access.rights import DESCRIBE_CLUSTER_CONFIGS
from wire.http.messages import Call, Count, Page, PageQuery
from wire.http.rights import on
from wire.http.routing import Route


class QuotaRow(msgspec.Struct):
    """What an entity may; a name of "<default>" stands for those that have none of their own, null for any."""

    user: str | None
    client_id: str | None
    ip: str | None
    values: dict[str, float]


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
        "GET",
        "/quotas/use",
        list_use,
        "Who uses how much of its quotas",
        answer=QuotaUsePage,
        query=PageQuery,
        rights=_SEEN_BY,
    ),
)
