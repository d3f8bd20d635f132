"""DescribeAcls, CreateAcls and DeleteAcls for a tenant: the same handlers, over its own rules (`tenants/rules.py`).

What they ask for is not the cluster's, which would be every tenant's: the right is to the tenant's own resource.
"""

from collections.abc import Callable
from typing import Any

from coordinators.access.access import AccessControl, Right
from coordinators.access.administration import AclAdministration
from coordinators.tenants.rules import TenantAcls, tenant_cluster
from coordinators.tenants.tenants import Tenants
from wire.kafka.apis import Api, create_acls, delete_acls, describe_acls
from wire.kafka.request import Context
from wire.kafka.rights import ALTER_CLUSTER, DESCRIBE_CLUSTER, Handle, Need, Rights, guarded
from wire.kafka.tenancy.view import TenantView

HANDLERS: dict[int, tuple[Right, Callable[[Any, Context, Any], Any]]] = {
    describe_acls.KEY: (DESCRIBE_CLUSTER, describe_acls.handle),
    create_acls.KEY: (ALTER_CLUSTER, create_acls.handle),
    delete_acls.KEY: (ALTER_CLUSTER, delete_acls.handle),
}


def tenant_handle(api: Api, view: TenantView, acls: AclAdministration, tenants: Tenants) -> Handle:
    """The handler of one of the three, for a tenant's callers."""
    right, handle = HANDLERS[api.key]
    own, name = TenantAcls(acls, tenants, view.tenant, view.is_rewriting), tenant_cluster(view.tenant)

    def within(request: Any, context: Context) -> Any:
        return handle(request, context, own)

    access: AccessControl = acls.access
    return guarded(api.name, Rights(Need(right, lambda _: name), refuse=api.rights.refuse), within, access)
