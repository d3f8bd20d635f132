"""`/settings`: all that is set, for whichever subjects and contexts. Ours alone: whoever exports a registry needs it,
since a name that only has settings, as an alias, is in no other list."""

import msgspec

from coordinators.access.access import AccessControl
from coordinators.access.rights import DESCRIBE_CLUSTER_CONFIGS, DESCRIBE_SUBJECT_CONFIGS
from coordinators.schemas.names import DEFAULT_CONTEXT, GLOBAL, Subject
from coordinators.schemas.registry import Registry
from wire.http.routing import Route
from wire.registry.answers import UNSET, Omitted
from wire.registry.calls import Paged, RegistryCall
from wire.registry.rights import FILTERED
from wire.registry.routes.config import ConfigShown, shown_config, whole


class ScopeShown(msgspec.Struct):
    """What a subject, a context (`:.ctx:`) or, without a subject, the whole registry has of its own."""

    subject: str | Omitted = UNSET
    config: ConfigShown | Omitted = UNSET
    mode: str | Omitted = UNSET


async def list_settings(call: RegistryCall, registry: Registry, access: AccessControl) -> list[ScopeShown]:
    """Those of scopes that have any, by context and name; where a path names a context, those of that."""
    rows = sorted(registry.settings.items(), key=lambda item: (item[0] != GLOBAL, item[0].context, item[0].name))
    found = [
        ScopeShown(
            UNSET if scope == whole(call) else call.told(scope),
            UNSET if row.config is None else shown_config(call, row.config),
            UNSET if row.mode is None else row.mode,
        )
        for scope, row in rows
        if call.context in (DEFAULT_CONTEXT, scope.context) and not row.is_empty and _may_see(call, access, scope)
    ]
    return call.query.of(found)  # type: ignore[no-any-return]


def _may_see(call: RegistryCall, access: AccessControl, scope: Subject) -> bool:
    if scope == GLOBAL:
        return access.permits(call.caller, DESCRIBE_CLUSTER_CONFIGS)
    return access.permits(call.caller, DESCRIBE_SUBJECT_CONFIGS, str(scope))


ROUTES = (
    Route(
        "GET",
        "/settings",
        list_settings,
        "All that is set, for whom",
        list[ScopeShown],
        query=Paged,
        rights=FILTERED,
    ),
)
