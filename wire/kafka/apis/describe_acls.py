"""DescribeAcls (29), versions 1-3: the rules that a filter means, gathered by their resources (KIP-140, KIP-290)."""

from coordinators.access.acls import AclFilter
from coordinators.access.administration import AclAdministration
from engine.catalogue.records import AclRecord
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_CLUSTER, Need, Rights

KEY = 29
VERSIONS = (1, 3)
RIGHTS = Rights(Need(DESCRIBE_CLUSTER), refuse=lambda _request, _version, error: _refused(error))


def handle(request: DescribeAclsRequest, _: Context, acls: AclAdministration) -> DescribeAclsResponse:
    """Find them."""
    wanted = AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    try:
        found = acls.find(wanted)
    except BrokerError as error:
        return _refused(error)
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for acl in found:
        place = acl.resource_type, acl.name, acl.pattern
        resource = resources.get(place)
        if resource is None:
            resource = resources[place] = DescribeAclsResource(*place)
        resource.acls.append(_described(acl))
    return DescribeAclsResponse(resources=list(resources.values()))


def _described(acl: AclRecord) -> AclDescription:
    return AclDescription(acl.principal, acl.host, acl.operation, acl.permission)


def _refused(error: BrokerError) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=error_code(error), error_message=str(error))
